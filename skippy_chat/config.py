"""Settings, and where each comes from.

Precedence: flags > ``-c key=value`` > ``SKIPPY_*`` > session > trusted project file > user file > defaults. Every layer
is checked, also where a higher one wins, so that a mistake shows where it was made.

Invariant: a project file never loosens what holds a model back, and nothing that came with a session runs code or lets
everything pass: sessions may come from elsewhere.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from skippy_chat.errors import ConfigError
from skippy_chat.setting_checks import (
    Check,
    context,
    one_of,
    or_nothing,
    real,
    size,
    switch,
    text,
    whole,
    words,
)

# By name: a type checker that looks at one Python version would miss the other's module.
_toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

Approve: TypeAlias = Literal["ask", "auto-read", "all", "deny"]
FlashAttention: TypeAlias = Literal["auto", "on", "off"]
KvType: TypeAlias = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
ToolChoice: TypeAlias = Literal["auto", "required", "none"]

_ENV = "SKIPPY_"
# What a session brings back when it is resumed.
_OF_A_SESSION = (
    "model", "ctx", "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "reasoning", "system", "kv_type",
    "tools", "parallel_tools", "sandbox",
)  # fmt: skip
# Of what holds tools back, least first; a project file may only go up.
_STRICTER = ("all", "auto-read", "ask", "deny")
_OF_A_PROJECT = (
    "model", "ctx", "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "reasoning", "system",
)  # fmt: skip
_SAID = ("--", "-c ", "session ")  # how the source of a value begins that was said for a session
# What only a person says anew: code to run, variables to give away, everything to be allowed.
_NEVER_OF_A_SESSION = frozenset({"tool_files", "pass_variables"})
_RULES = "rule"  # beside the keys in a project file; approvals read them


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of ``config show``."""

    key: str
    value: object
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run; ``sources`` tells for each key where its value comes from.

    ``project_file`` is the workspace's that was read, since it is trusted: rules of approval are in there, too.
    ``ignored_file`` is the workspace's that is not trusted, for faces to mention.
    """

    model: str | None = None  # a path or a name; None is the default model
    ctx: int = 8192  # tokens, at most what the model was trained for; 0 is exactly that
    threads: int | None = None  # None leaves it to the engine
    temperature: float = 0.7
    top_p: float = 0.95
    top_k: int = 40  # 0 is off
    min_p: float = 0.05
    seed: int | None = None  # None draws one
    max_tokens: int = 1024  # of an answer; 0 goes on until the context is full
    reasoning: bool = True
    system: str | None = None
    cache: bool = True
    replay: bool = False
    disk_budget: int | None = None  # bytes; None is the smaller of 10 GiB and a tenth of what is free
    tools: tuple[str, ...] | None = None  # names, default or all; None is what tool_files make, () is none
    tool_files: tuple[str, ...] = ()  # Python files with @tool functions
    tool_choice: ToolChoice = "auto"  # of the first step of a turn
    parallel_tools: bool = False  # several calls in one answer
    approve: Approve = "ask"
    sandbox: bool = False  # commands run under bubblewrap, or not at all
    pass_variables: tuple[str, ...] = ()  # that commands get although they look like secrets
    max_steps: int = 25  # times the model is asked in one turn
    max_turn_tokens: int = 0  # generated in one turn; 0 is no limit
    flash_attention: FlashAttention = "auto"
    kv_type: KvType = "f16"
    gpu_layers: int | None = None  # None is as many as fit
    patience: float = (
        1.0  # how many times longer than usual a silent worker may take before it counts as hung
    )
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    project_file: Path | None = field(default=None, compare=False, repr=False)
    ignored_file: Path | None = field(default=None, compare=False, repr=False)

    def describe(self) -> list[Setting]:
        """Return every key with its value and source, in order."""
        return [Setting(key, getattr(self, key), self.sources.get(key, "default")) for key in KEYS]

    def for_session(self) -> dict[str, Any]:
        """Return what a session keeps, so that resuming brings it back; as ``load_settings(session=…)`` takes it."""
        values = {key: getattr(self, key) for key in _OF_A_SESSION}
        # What the files say they say again; stricter ones of later must count. "All" was said for one run, and must not
        # come back unsaid.
        if self.approve != "all" and self.sources.get("approve", "").startswith(_SAID):
            values["approve"] = self.approve
        if not self.sandbox:
            del values["sandbox"]
        plain = {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        return {key: value for key, value in plain.items() if value is not None}


KEYS: tuple[str, ...] = tuple(each.name for each in fields(Settings) if each.compare)
_DEFAULTS = Settings()


@dataclass(frozen=True, slots=True)
class _Layer:
    """Values of one source; ``where`` names the place of a key for errors and ``describe``."""

    values: Mapping[str, object]
    where: Callable[[str], str]
    tightens: bool = False


def load_settings(
    *,
    flags: Mapping[str, object],
    assignments: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    session: Mapping[str, object] | None = None,
    user_file: Path | None = None,
    project_file: Path | None = None,
    ignored_file: Path | None = None,
    defaults: Mapping[str, object] | None = None,
) -> Settings:
    """Put the settings together.

    ``flags`` holds the options typed; None means not typed. ``assignments`` are the texts of ``-c``. ``session`` is
    what ``Settings.for_session`` gave; keys it does not know are ignored, a newer version may have written them. A
    ``user_file`` or ``project_file`` that is missing counts as empty; give the latter only if it is trusted, else
    as ``ignored_file``, which is not read. ``defaults`` are a command's own.

    Raises:
        ConfigError: an unreadable file, an unknown key, or a value of the wrong type or range; it names the place.
    """
    layers = [
        _read_file(user_file),
        _read_project(project_file),
        _read_session(session or {}),
        _read_env(env or {}),
        _read_assignments(assignments),
        _Layer({key: value for key, value in flags.items() if value is not None}, _flag),
    ]
    values: dict[str, Any] = dict(defaults or {})
    sources: dict[str, str] = {}
    for layer in layers:
        for key, given in layer.values.items():
            place = layer.where(key)
            _refuse_unknown(key, place)
            value = _check(key, given, place)
            if layer.tightens and _loosens(key, value, values.get(key, getattr(_DEFAULTS, key))):
                continue
            values[key] = value
            sources[key] = place
    return Settings(**values, sources=sources, project_file=project_file, ignored_file=ignored_file)


def _read_file(path: Path | None) -> _Layer:
    if path is None:
        return _Layer({}, str)
    try:
        content = path.read_bytes().decode("utf-8-sig")
        values = _toml.loads(content)
    except FileNotFoundError:
        return _Layer({}, str)
    except OSError as error:
        raise ConfigError(
            f"Cannot read {path}: {error.strerror or error}.", "Mend its rights or remove it."
        ) from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(f"{path}, line {line}: not UTF-8.", "Save the file as UTF-8.") from error
    except _toml.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else content.rstrip().count("\n") + 1
        raise ConfigError(
            f"{path}, line {line}: not valid TOML: {error}.",
            'Lines look like: temperature = 0.7 or system = "Be brief."',
        ) from error
    if isinstance(files := values.get("tool_files"), list):
        # From where the file lies, since it is read in every working folder.
        values["tool_files"] = [
            str(path.parent / Path(each).expanduser()) if isinstance(each, str) else each for each in files
        ]
    return _Layer(values, lambda key: f"{path}{_line(content, key)}, key {key}")


def _read_project(path: Path | None) -> _Layer:
    layer = _read_file(path)
    for key in layer.values:
        if key in KEYS and key not in (*_OF_A_PROJECT, *_TIGHTER):
            hint = f"Move it to your own file. A project may set: {', '.join((*_OF_A_PROJECT, *_TIGHTER))}."
            raise ConfigError(f"{layer.where(key)}: a project file may not set this.", hint)
    values = {key: value for key, value in layer.values.items() if key != _RULES}
    return _Layer(values, layer.where, tightens=True)


def _read_session(kept: Mapping[str, object]) -> _Layer:
    values = {key: value for key, value in kept.items() if key in KEYS and key not in _NEVER_OF_A_SESSION}
    if values.get("approve") == "all":
        del values["approve"]
    return _Layer(values, lambda key: f"session setting {key}")


def _loosens(key: str, value: object, now: object) -> bool:
    """Tell whether a project's value would hold a model back less than what counts without it."""
    looser = _TIGHTER.get(key)
    return looser is not None and looser(value, now)


def _line(content: str, key: str) -> str:
    """Find the line that sets a top-level key: the first that looks so and does not lie in a multi-line value."""
    lines = content.splitlines()
    for number, line in enumerate(lines, 1):
        name = line.lstrip(" \t[").partition("=")[0].rstrip(" \t]").strip("\"'")
        if name == key or name.startswith(f"{key}."):
            try:
                _toml.loads("\n".join(lines[: number - 1]))
            except _toml.TOMLDecodeError:
                continue
            return f", line {number}"
    return ""


def _read_env(env: Mapping[str, str]) -> _Layer:
    values = {}
    for name, value in env.items():
        if not name.startswith(_ENV):
            continue
        key = name[len(_ENV) :].lower()
        if key in KEYS:
            values[key] = value
        elif close := difflib.get_close_matches(key, KEYS, n=1, cutoff=0.85):
            # Others may use the prefix; what looks like a slip of the pen is told.
            raise ConfigError(f"{name}: unknown setting.", f"Did you mean {_ENV}{close[0].upper()}?")
    return _Layer(values, lambda key: f"{_ENV}{key.upper()}")


def _read_assignments(assignments: Sequence[str]) -> _Layer:
    values = {}
    for assignment in assignments:
        key, equals, value = assignment.partition("=")
        if not equals:
            raise ConfigError(f"-c {assignment}: no value.", "Write -c key=value.")
        values[key.strip().replace("-", "_")] = value
    return _Layer(values, lambda key: f"-c {key}")


def _flag(key: str) -> str:
    named = {"cache": "no-cache", "tool_files": "tool-file"}
    return f"--{named.get(key, key.replace('_', '-'))}"


def _refuse_unknown(key: str, place: str) -> None:
    if key not in KEYS:
        close = difflib.get_close_matches(key, KEYS, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Settings are: {', '.join(KEYS)}."
        raise ConfigError(f"{place}: unknown setting.", hint)


_NAMES = words(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", "names")
_CHECKS: dict[str, Check] = {
    "model": text,
    "ctx": context,
    "threads": or_nothing(whole(1, 1024)),
    "temperature": real(0, 5),
    "top_p": real(0, 1),
    "top_k": whole(0, 1 << 20),
    "min_p": real(0, 1),
    "seed": or_nothing(whole(0, (1 << 32) - 1)),
    "max_tokens": whole(0, 1 << 24),
    "reasoning": switch,
    "system": text,
    "cache": switch,
    "replay": switch,
    "disk_budget": or_nothing(size),
    "tools": _NAMES,
    "tool_files": words(r".+\.py", "Python files"),
    "tool_choice": one_of(*get_args(ToolChoice)),
    "parallel_tools": switch,
    "approve": one_of(*get_args(Approve)),
    "sandbox": switch,
    "pass_variables": _NAMES,
    "max_steps": whole(1, 10_000),
    "max_turn_tokens": whole(0, 1 << 24),
    "flash_attention": one_of(*get_args(FlashAttention)),
    "kv_type": one_of(*get_args(KvType)),
    "gpu_layers": or_nothing(whole(0, 1 << 16)),
    "patience": real(0.1, 1000),
}
# Whether the first value of such a key holds a model back less than the second.
_TIGHTER: dict[str, Callable[[Any, Any], bool]] = {
    "approve": lambda value, now: _STRICTER.index(value) < _STRICTER.index(now),
    "sandbox": lambda value, now: now and not value,
    "parallel_tools": lambda value, now: value and not now,
    "max_steps": lambda value, now: value > now,
    "max_turn_tokens": lambda value, now: now > 0 and not 0 < value <= now,
}


def _check(key: str, value: object, place: str) -> object:
    try:
        return _CHECKS[key](value)
    except ValueError as error:
        told, hint = (*error.args, "Mend it, or leave it out.")[:2]
        raise ConfigError(f"{place}: {value!r} does not fit: {told}.", hint) from error
