"""Changing one key of the person's config file, and beginning the file; for the command line and the settings screen.

Invariant: a file is replaced whole or not at all, its comments and order stay, and what is written was read back and
checked first: a change leaves every other key as it was.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import filelock
import tomlkit
from tomlkit.exceptions import TOMLKitError

from skippy_chat.config import Settings, parse_settings
from skippy_chat.errors import ConfigError
from skippy_chat.paths import make_private
from skippy_chat.setting_table import TABLE, checked, refuse_unknown
from skippy_chat.toml_file import parse_toml, read_text

_LOCK_SECONDS = 10.0
_HEAD = """\
# Settings of skippy-chat. A line begins with # until you want something else than the default, which it shows.
# What is said with an option, -c key=value, SKIPPY_KEY or by a session goes before what is said here.
# `skippy-chat config show` tells what counts and why, `skippy-chat config set KEY VALUE` changes a line here.
"""


def get_key(path: Path, key: str) -> object:
    """Return what the file says for ``key``, as TOML has it; None when it says nothing.

    Raises:
        ConfigError: the file cannot be read, or there is no such key.
    """
    refuse_unknown(key, f"key {key}")
    return parse_toml(read_text(path) or "", path).values.get(key)


def set_key(path: Path, key: str, value: object) -> object:
    """Let the file say ``value`` for ``key``, given as TOML has it or as text; return it as it is written.

    The file is made (0600) if it is missing.

    Raises:
        ConfigError: no such key, a value that does not fit, a mistake elsewhere in the file, or it cannot be written.
    """
    refuse_unknown(key, f"key {key}")
    written = as_toml(key, value)

    def change(content: str) -> str:
        document = _parse(content, path)
        if isinstance(written, dict):
            _put_table(document, key, written)
            return tomlkit.dumps(document)
        if key in document:
            document[key] = written
            return tomlkit.dumps(document)
        line = f"{key} = {tomlkit.item(written).as_string()}"
        for changed in _beside_its_comment(content, key, line):
            if _same_but(content, changed, key, path):
                return changed
        document[key] = written
        return tomlkit.dumps(document)

    _change(path, key, change)
    return written


def unset_key(path: Path, key: str) -> bool:
    """Take ``key`` out of the file; tells whether it was there. A key that does not exist can be taken out, too.

    Raises:
        ConfigError: the file is no TOML, or cannot be written; or it has no such key and there is none.
    """
    if key not in parse_toml(read_text(path) or "", path).values:
        refuse_unknown(key, f"key {key}")
        return False

    def change(content: str) -> str:
        document = _parse(content, path)
        document.pop(key, None)
        return tomlkit.dumps(document)

    _change(path, key, change, check=False)
    return True


def begin_file(path: Path) -> None:
    """Write a file in which every key stands as a comment, with its default and meaning.

    Raises:
        ConfigError: there is a file, or it cannot be written.
    """
    make_private(path.parent)
    try:
        with _locked(path):
            if os.path.lexists(path):
                raise ConfigError(
                    f"{path} exists.", "It is left as it is; change it with: skippy-chat config set"
                )
            _replace(path, starter())
    except (OSError, filelock.Timeout) as error:
        raise _unwritable(path, error) from error


def starter() -> str:
    """Return the text of a new file."""
    defaults = Settings()
    parts = [_HEAD]
    for key, about in TABLE.items():
        default = getattr(defaults, key)
        lines = [f"# {about.meaning}", f"# Value: {about.kind.told}."]
        if default is None:
            lines[-1] += f" Default: {about.unset}."
            example = tomlkit.item(_EXAMPLES[key]).as_string()
        else:
            example = _example(default)
        parts.append("\n".join([*lines, f"# {key} = {example}", ""]))
    return "\n".join(parts)


def _example(default: object) -> str:
    if isinstance(default, dict):
        return "{}"
    return tomlkit.item(list(default) if isinstance(default, tuple) else default).as_string()


# What stands in a new file for keys whose default is nothing.
_EXAMPLES: dict[str, object] = {
    "model": "default",
    "persona": "reviewer",
    "system": "Be brief.",
    "seed": 7,
    "tools": ["default"],
    "disk_budget": "20GiB",
    "threads": 4,
    "gpu_layers": 0,
}


def as_toml(key: str, value: object) -> object:
    """Return a value as it is written into TOML: typed where TOML has the type, else as it was given.

    Raises:
        ConfigError: it does not fit the key.
    """
    found = checked(key, value, f"key {key}")
    if isinstance(found, tuple):
        return list(found)
    if isinstance(found, dict):
        return {name: keys[0] if len(keys) == 1 else list(keys) for name, keys in found.items()}
    # None has no form in TOML, and "2GiB" reads better than its bytes.
    return value if found is None or (key == "disk_budget" and isinstance(value, str)) else found


def _put_table(document: tomlkit.TOMLDocument, key: str, written: dict[str, object]) -> None:
    """Let a table say just that, its comments kept."""
    table = document.setdefault(key, tomlkit.table())
    for name in [each for each in table if each not in written]:
        del table[name]
    for name, value in written.items():
        if name not in table or table[name] != value:
            table[name] = value


def _beside_its_comment(content: str, key: str, line: str) -> Iterator[str]:
    """Yield texts with ``line`` put behind a comment that shows the key's default."""
    for found in re.finditer(rf"^#[ \t]*{key}[ \t]*=.*$", content, re.MULTILINE):
        yield f"{content[: found.end()]}\n{line}{content[found.end() :]}"


def _same_but(old: str, new: str, key: str, path: Path) -> bool:
    """Tell whether two texts say the same but for ``key``, which only the new one says."""
    try:
        after = dict(parse_toml(new, path).values)
    except ConfigError:
        return False
    return after.pop(key, None) is not None and after == parse_toml(old, path).values


def _change(path: Path, key: str, change: Callable[[str], str], *, check: bool = True) -> None:
    make_private(path.parent)
    try:
        with _locked(path):
            old = read_text(path) or ""
            new = change(old)
            if check:
                parse_settings(new, path)
            before, after = (dict(parse_toml(each, path).values) for each in (old, new))
            before.pop(key, None)
            after.pop(key, None)
            if before != after:
                raise ConfigError(f"{path} cannot be changed without loss.", "Change it in an editor.")
            _replace(path, new)
    except (OSError, filelock.Timeout) as error:
        raise _unwritable(path, error) from error


def _parse(content: str, path: Path) -> tomlkit.TOMLDocument:
    parse_toml(content, path)  # its errors name the line
    try:
        return tomlkit.parse(content)
    except TOMLKitError as error:
        raise ConfigError(f"{path}: not valid TOML: {error}.", "Mend it in an editor.") from error


def _locked(path: Path) -> Any:
    return filelock.FileLock(f"{path}.lock", timeout=_LOCK_SECONDS)


def _replace(path: Path, text: str) -> None:
    target = path.resolve()  # a link to a file kept elsewhere stays a link
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
    finally:
        with contextlib.suppress(FileNotFoundError):
            temporary.unlink()


def _unwritable(path: Path, error: Exception) -> ConfigError:
    # Waiting in vain is an OSError, too, and has nothing to say of its own.
    waited = isinstance(error, filelock.Timeout)
    why = "another program is changing it" if waited else getattr(error, "strerror", None) or str(error)
    return ConfigError(f"{path} cannot be written: {why}.", "Mend its rights, or try again.")
