"""From settings to a toolbox: which tools a model is offered, who may call them, and where they run.

Invariant: whatever is wrong with the settings is told before anything is opened or made. Keeping old output and old
before-images within bounds is optional work, which never stops a session.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from skippy_chat.agent.approvals.policy import Policy
from skippy_chat.agent.approvals.rules_file import load_project_rules, load_rules
from skippy_chat.agent.approvals.values import Rule
from skippy_chat.agent.toolbox import LoopLimits, Toolbox
from skippy_chat.agent.tools.built_in import DEFAULT_NAMES, NAMES, built_in_tools
from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.journal import Journal
from skippy_chat.agent.tools.loader import load_tools
from skippy_chat.agent.tools.protocol import Tool, ToolContext
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.agent.tools.sandbox import find_bubblewrap
from skippy_chat.config import Settings
from skippy_chat.errors import ConfigError
from skippy_chat.paths import Paths, refuse_writable

MOST_UNDO_BYTES = 256 << 20
MOST_OUTPUT_BYTES = 256 << 20
_GROUPS: Mapping[str, Sequence[str]] = {"default": DEFAULT_NAMES, "all": NAMES}


@dataclass(frozen=True, slots=True)
class ToolPlan:
    """Tools that were chosen and checked, for a session that is still to be opened."""

    registry: Registry
    policy: Policy
    settings: Settings
    paths: Paths
    gate_root: Path
    environment: Mapping[str, str]
    now: Callable[[], datetime]
    can_ask: bool
    bubblewrap: Path | None

    @property
    def reaches_files(self) -> bool:
        """Whether it matters which folder the tools work in."""
        needs = [each.needs for each in self.registry]
        return any(each.reads or each.writes or each.command for each in needs)

    @property
    def misspelt_rules(self) -> dict[str, str]:
        """The tools that rules name and that there are not, though one has nearly that name; that one by each.

        A name that is like none may be that of a function which is not loaded now.
        """
        known = {"*", *NAMES, *(each.name for each in self.registry)}
        strange = {rule.tool for rule in self.policy.rules} - known
        close = {
            name: difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.75) for name in sorted(strange)
        }
        return {name: found[0] for name, found in close.items() if found}

    def toolbox(self, session: str) -> Toolbox:
        """Return the toolbox of a session (an id), after clearing away what older ones left above the bounds."""
        journal = Journal(self.paths.undo_dir)
        with contextlib.suppress(OSError):
            journal.prune(MOST_UNDO_BYTES)
        prune_output(self.paths.tool_output_dir, MOST_OUTPUT_BYTES)
        output = self.paths.tool_output_dir / session
        settings = self.settings
        context = ToolContext(
            gate=PathGate(self.gate_root, readable=(output,)),
            output_folder=output,
            environment=self.environment,
            now=self.now,
            bubblewrap=self.bubblewrap,
            sandbox=settings.sandbox,
            pass_variables=frozenset(settings.pass_variables),
        )
        return Toolbox(
            self.registry,
            self.policy,
            context,
            journal=journal,
            can_ask=self.can_ask,
            parallel=settings.parallel_tools,
            tool_choice=settings.tool_choice,
            limits=LoopLimits(settings.max_steps, settings.max_turn_tokens),
        )


def plan_tools(
    settings: Settings,
    paths: Paths,
    workspace: Path,
    *,
    functions: Sequence[Tool] = (),
    can_ask: bool,
    environment: Mapping[str, str],
    now: Callable[[], datetime],
) -> ToolPlan | None:
    """Choose the tools of a session; None when it has none.

    ``functions`` are offered beside those that the settings name. ``environment`` is what commands may get of the
    person's own; ``can_ask``: somebody is there to answer approvals.

    Raises:
        ConfigError: an unknown tool, a tools file or rules file that cannot be used, settings or rules that others can
            write, a sandbox that is not there.
        PathRefused: the workspace cannot be used.
    """
    refuse_writable(paths.config_dir, paths.user_config, paths.approvals_file)
    registry = Registry([*chosen_tools(settings), *functions])
    if not len(registry):
        if settings.tool_choice == "required":
            place = settings.sources.get("tool_choice", "tool_choice")
            raise ConfigError(
                f"{place}: a call is required, and no tool is offered.", "Name some with --tools."
            )
        return None
    bubblewrap = find_bubblewrap(environment)
    if settings.sandbox and bubblewrap is None and registry.get("run_command") is not None:
        raise ConfigError(
            f"{settings.sources.get('sandbox', 'sandbox')}: bubblewrap (bwrap) is not installed.",
            "Install it (Linux only), leave the sandbox out, or do not offer run_command.",
        )
    return ToolPlan(
        registry,
        policy_for(settings, paths),
        settings,
        paths,
        PathGate(workspace).root,
        environment,
        now,
        can_ask,
        bubblewrap,
    )


def policy_for(settings: Settings, paths: Paths) -> Policy:
    """Return the mode and the rules: the person's own, and those of a trusted project.

    Raises:
        ConfigError: a rules file that cannot be used.
    """
    rules: list[Rule] = load_rules(paths.approvals_file, "user")
    if settings.project_file is not None:
        rules += load_project_rules(settings.project_file)
    return Policy(settings.approve, rules, paths.approvals_file)


def chosen_tools(settings: Settings) -> list[Tool]:
    """Return the tools that the settings name: built-in ones, and the functions of their tool files.

    Raises:
        ConfigError: an unknown name, or a tools file that cannot be used.
    """
    if settings.tools == ():
        return []
    made = file_tools(settings.tool_files)
    functions = {each.name for each in made}
    names: list[str] = []
    for word in settings.tools or ():
        names += _GROUPS.get(word, (word,))
    for name in names:
        if name not in NAMES and name not in functions:
            raise _unknown(name, [*NAMES, *sorted(functions), *_GROUPS], settings)
    return [*built_in_tools(name for name in names if name in NAMES), *made]


def all_tools(settings: Settings) -> list[Tool]:
    """Return every tool that could be chosen, by name.

    Raises:
        ConfigError: a tools file that cannot be used, or two tools of one name.
    """
    return list(Registry([*built_in_tools(NAMES), *file_tools(settings.tool_files)]))


def file_tools(files: Sequence[str]) -> list[Tool]:
    """Return the functions that these files make tools.

    Raises:
        ConfigError: a file that cannot be used.
    """
    return [each for file in files for each in load_tools(Path(file))]


def prune_output(folder: Path, most_bytes: int) -> int:
    """Remove the oldest files below ``folder`` above ``most_bytes``, and folders left empty; returns how many files."""
    found: list[tuple[float, int, Path]] = []
    for path in folder.glob("*/*"):
        with contextlib.suppress(OSError):
            info = path.lstat()
            found.append((info.st_mtime, info.st_size, path))
    total = removed = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > most_bytes:
            with contextlib.suppress(OSError):
                path.unlink()
                removed += 1
    for path in folder.glob("*") if removed else ():
        with contextlib.suppress(OSError):  # most are not empty
            path.rmdir()
    return removed


def _unknown(name: str, known: Sequence[str], settings: Settings) -> ConfigError:
    place = settings.sources.get("tools", "tools")
    close = difflib.get_close_matches(name, known, n=1)
    if place.startswith("session "):
        hint = "It came from a tool file: give --tool-file again, or choose anew with --tools."
    elif close:
        hint = f"Did you mean {close[0]}?"
    else:
        hint = f"There are: {', '.join(known)}, none."
    return ConfigError(f"{place}: there is no tool {name}.", hint)
