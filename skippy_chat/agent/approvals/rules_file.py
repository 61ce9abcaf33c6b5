"""The files that rules are kept in: the person's own, which "always" writes, and a project's, which may only tighten.

    [[rule]]
    tool = "run_command"
    pattern = "git log *"
    action = "allow"

Invariant: comments and order survive a write; a file that cannot be read stops the session rather than allow anything.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import filelock
import tomlkit
from tomlkit.exceptions import TOMLKitError

from skippy_chat.agent.approvals.values import Action, Rule, Source
from skippy_chat.errors import ConfigError

_KEYS = {"tool", "pattern", "action"}
_LOCK_SECONDS = 10.0


def load_rules(path: Path, source: Source) -> list[Rule]:
    """Read the rules of a file; one that is missing has none.

    Raises:
        ConfigError: it cannot be read, is no TOML, or a rule in it is wrong; or a project's rule allows something.
    """
    return _rules(_read(path), path, source)


def load_project_rules(path: Path) -> list[Rule]:
    """Read the rules among a project's settings; its other keys are none of ours.

    Raises:
        ConfigError: as ``load_rules``.
    """
    document = _read(path)
    for key in [each for each in document if each != "rule"]:
        del document[key]
    return _rules(document, path, "project")


def add_rules(path: Path, rules: Sequence[Rule]) -> None:
    """Append rules to the person's own file, which is made (0600) if it is missing; those in it already are skipped.

    Raises:
        ConfigError: as ``load_rules``; or it cannot be written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with filelock.FileLock(f"{path}.lock", timeout=_LOCK_SECONDS):
            document = _read(path)
            known = {(each.tool, each.pattern, each.action) for each in _rules(document, path, "user")}
            new = [each for each in rules if (each.tool, each.pattern, each.action) not in known]
            if new:
                _append(document, new)
                _write(path, tomlkit.dumps(document))
    except (OSError, filelock.Timeout) as error:
        raise ConfigError(
            f"{path} cannot be written: {error}.", "The answer counts for this session."
        ) from error


def _read(path: Path) -> tomlkit.TOMLDocument:
    try:
        return tomlkit.parse(path.read_text("utf-8"))
    except FileNotFoundError:
        return tomlkit.document()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", "Mend its rights, or move it away.") from error
    except TOMLKitError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}.", "Mend it, or move it away.") from error


def _rules(document: tomlkit.TOMLDocument, path: Path, source: Source) -> list[Rule]:
    values: dict[str, Any] = document.unwrap()
    if unknown := set(values) - {"rule"}:
        raise ConfigError(f"{path}: unknown key {min(unknown)}.", "Rules are written as [[rule]].")
    entries = values.get("rule", [])
    if not isinstance(entries, list):
        raise ConfigError(f"{path}: rule is not a list.", "Rules are written as [[rule]].")
    return [_rule(each, f"{path}, rule {number}", source) for number, each in enumerate(entries, 1)]


def _rule(entry: Any, place: str, source: Source) -> Rule:
    if not isinstance(entry, dict):
        raise ConfigError(f"{place}: not a table.", "Rules are written as [[rule]].")
    if unknown := set(entry) - _KEYS:
        raise ConfigError(f"{place}: unknown key {min(unknown)}.", "A rule has tool, pattern and action.")
    tool, pattern = entry.get("tool"), entry.get("pattern", "")
    action: Any = entry.get("action")
    if not isinstance(tool, str) or not tool:
        raise ConfigError(f"{place}: no tool.", 'Write tool = "run_command", or "*" for all.')
    if not isinstance(pattern, str):
        raise ConfigError(f"{place}: the pattern is not a text.", 'Write pattern = "git log *".')
    if action not in get_args(Action):
        raise ConfigError(f"{place}: action is {action!r}.", "It is allow, ask or deny.")
    if source == "project" and action == "allow":
        raise ConfigError(
            f"{place}: a project file may not allow anything.",
            "Move the rule to your own file, or make it ask or deny.",
        )
    return Rule(tool, pattern, action, source)


def _append(document: tomlkit.TOMLDocument, rules: Sequence[Rule]) -> None:
    entries = document.get("rule")
    if not isinstance(entries, tomlkit.items.AoT):
        old = document.pop("rule").unwrap() if entries is not None else []
        entries = tomlkit.aot()
        for each in old:
            entries.append(tomlkit.item(each))
        document["rule"] = entries
    for rule in rules:
        table = tomlkit.table()
        table.update({"tool": rule.tool, "pattern": rule.pattern, "action": rule.action})
        entries.append(table)


def _write(path: Path, text: str) -> None:
    target = path.resolve()  # a link to a file kept elsewhere stays a link
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()
