"""What a face asks while a person types and when they send: one object for a workspace.

    aids = TypingAids(paths, workspace, typed)
    aids.offers(text, cursor, commands)   # completion; may look at the disk
    aids.outgoing(text, taken=names)      # a prompt's text put in, files attached; may look at the disk
    aids.typed.add(text)                  # after it was sent: for searching it again

A message is what ``outgoing`` returns: it is what is sent, stored and shown. Neither method changes anything.

Invariant: a command of the program goes before a prompt of its name, and a workspace's prompts count only when it is
trusted.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from skippy_chat.completions.attaching import attach
from skippy_chat.completions.files import WorkspaceFiles
from skippy_chat.completions.mentions import mentions
from skippy_chat.completions.source import Offered, Offers, offers
from skippy_chat.errors import ConfigError
from skippy_chat.paths import Paths
from skippy_chat.prompts import Prompt, expand, find_prompts
from skippy_chat.setting_table import PERSONA_NAME
from skippy_chat.trust import prompts_of
from skippy_chat.typed_history import TypedHistory

_PROMPT = re.compile(rf"/({PERSONA_NAME})(?:\s+(.*))?", re.DOTALL)
_ABOUT = "your prompt"


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A message as it is sent: ``files`` were attached, ``prompt`` was used; ``notes`` are for the person."""

    text: str
    files: tuple[str, ...] = ()
    prompt: str = ""
    notes: tuple[str, ...] = ()


@final
class TypingAids:
    """Completion, prompts and files of a workspace, and what was typed; safe to use from several threads."""

    def __init__(self, paths: Paths, workspace: Path, typed: TypedHistory) -> None:
        self._paths = paths
        self._workspace = workspace
        self._files = WorkspaceFiles(workspace)
        self.typed = typed

    def prompts(self) -> tuple[dict[str, Prompt], list[ConfigError]]:
        """Return the person's prompts by name, as their files are now, and what is wrong with the others.

        Raises:
            ConfigError: the list of trusted workspaces cannot be read.
        """
        return find_prompts(prompts_of(self._paths, self._workspace))

    def offered(self, taken: Collection[str] = ()) -> list[Offered]:
        """Return the prompts as commands to offer and to list, but those whose names are ``taken``.

        None where they cannot be read: typing goes on without them.
        """
        try:
            found, _ = self.prompts()
        except ConfigError:
            return []
        return [
            Offered(name, each.description or _ABOUT, "TEXT" if each.wants else "")
            for name, each in found.items()
            if name not in taken
        ]

    def prompts_told(self, taken: Collection[str] = ()) -> str:
        """Return the prompts as a list to read, with what is wrong with any, and where new ones are to be put.

        Raises:
            ConfigError: as ``prompts``.
        """
        found, wrong = self.prompts()
        lines = [
            f"/{each.name}  {each.description or each.text.splitlines()[0]}"
            + (" (the workspace's)" if each.of_project else "")
            + (" (not used: a command has this name)" if each.name in taken else "")
            for each in found.values()
        ]
        lines += [f"Not usable: {error}" for error in wrong]
        where = f"A file NAME.md in {self._paths.prompts_dir} is used by /NAME; $ARGUMENTS is what is typed behind it."
        return "\n".join([*lines, "", where] if lines else [where])

    def offers(self, text: str, cursor: int, commands: Sequence[Offered]) -> Offers | None:
        """Return what fits at ``cursor``, an offset in ``text``: of ``commands``, the prompts, and the files."""
        known = [*commands]
        if text.startswith("/"):
            known += self.offered({each.name for each in commands})
        return offers(text, cursor, known, self._files.offered)

    def takes_time(self, text: str, taken: Collection[str]) -> bool:
        """Tell, without looking at anything, whether ``outgoing`` would look at the disk for this text."""
        return _prompt_typed(text, taken) is not None or next(mentions(text), None) is not None

    def outgoing(self, text: str, taken: Collection[str]) -> Outgoing | None:
        """Return the message that a typed text is; ``taken`` are the names of the face's own commands.

        None: a word behind a slash that is no prompt, which the face reads as it would without prompts. Of two slashes
        at the start one is taken away.

        Raises:
            AttachmentRefused: a named file cannot go along; nothing is to be sent.
            ConfigError: the prompt's file is not usable.
        """
        name = ""
        typed = _prompt_typed(text, taken)
        if typed is not None:
            prompt = self._prompt(typed[0])
            if prompt is None:
                return None
            name, text = prompt.name, expand(prompt, typed[1])
        return self._attached(text[1:] if text.startswith("//") else text, name)

    def edited(self, text: str, before: str = "") -> Outgoing:
        """Return the message that an edited text is: files go along, and nothing else is read in it.

        ``before`` is the message that is edited: names that stand in it already are left as they are.

        Raises:
            AttachmentRefused: as ``outgoing``.
        """
        return self._attached(text, "", before)

    def _attached(self, text: str, prompt: str, before: str = "") -> Outgoing:
        attached = attach(text, self._workspace, before)
        return Outgoing(attached.text, attached.files, prompt, attached.notes)

    def _prompt(self, name: str) -> Prompt | None:
        found, wrong = self.prompts()
        if name not in found:
            for error in wrong:
                if f"{name}.md" in error.message:
                    raise error
        return found.get(name)


def _prompt_typed(text: str, taken: Collection[str]) -> tuple[str, str] | None:
    """Return name and arguments where a text may be a prompt of that name."""
    found = _PROMPT.fullmatch(text.rstrip())
    return None if found is None or found[1] in taken else (found[1], found[2] or "")
