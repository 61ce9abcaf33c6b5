"""Settings, and where each comes from.

Precedence: flags > ``-c key=value`` > ``SKIPPY_*`` > session > user file > defaults. Every layer is checked, also where
a higher one wins, so that a mistake shows where it was made.
"""

from __future__ import annotations

import difflib
import importlib
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from skippy_chat.errors import ConfigError
from skippy_chat.text.sizes import parse_size

# By name: a type checker that looks at one Python version would miss the other's module.
_toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")

Approve: TypeAlias = Literal["ask", "auto-read", "all", "deny"]
FlashAttention: TypeAlias = Literal["auto", "on", "off"]
KvType: TypeAlias = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]

_ON = frozenset({"true", "on", "yes", "1"})
_OFF = frozenset({"false", "off", "no", "0"})
_NOTHING = frozenset({"none", "auto"})
_ENV = "SKIPPY_"
# What a session brings back when it is resumed.
_OF_A_SESSION = (
    "model", "ctx", "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "reasoning", "system", "kv_type",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of ``config show``."""

    key: str
    value: object
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run; ``sources`` tells for each key where its value comes from."""

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
    approve: Approve = "ask"
    flash_attention: FlashAttention = "auto"
    kv_type: KvType = "f16"
    gpu_layers: int | None = None  # None is as many as fit
    patience: float = (
        1.0  # how many times longer than usual a silent worker may take before it counts as hung
    )
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)

    def describe(self) -> list[Setting]:
        """Return every key with its value and source, in order."""
        return [Setting(key, getattr(self, key), self.sources.get(key, "default")) for key in KEYS]

    def for_session(self) -> dict[str, Any]:
        """Return what a session keeps, so that resuming brings it back; as ``load_settings(session=…)`` takes it."""
        values = {key: getattr(self, key) for key in _OF_A_SESSION}
        return {key: value for key, value in values.items() if value is not None}


KEYS: tuple[str, ...] = tuple(each.name for each in fields(Settings) if each.name != "sources")


@dataclass(frozen=True, slots=True)
class _Layer:
    """Values of one source; ``where`` names the place of a key for errors and ``describe``."""

    values: Mapping[str, object]
    where: Callable[[str], str]


def load_settings(
    *,
    flags: Mapping[str, object],
    assignments: Sequence[str] = (),
    env: Mapping[str, str] | None = None,
    session: Mapping[str, object] | None = None,
    user_file: Path | None = None,
) -> Settings:
    """Put the settings together.

    ``flags`` holds the options typed; None means not typed. ``assignments`` are the texts of ``-c``. ``session`` is
    what ``Settings.for_session`` gave; keys it does not know are ignored, a newer version may have written them. A
    ``user_file`` that is missing counts as empty.

    Raises:
        ConfigError: an unreadable file, an unknown key, or a value of the wrong type or range; it names the place.
    """
    layers = [
        _read_file(user_file),
        _Layer(
            {key: value for key, value in (session or {}).items() if key in KEYS},
            lambda key: f"session setting {key}",
        ),
        _read_env(env or {}),
        _read_assignments(assignments),
        _Layer({key: value for key, value in flags.items() if value is not None}, _flag),
    ]
    values: dict[str, Any] = {}
    sources: dict[str, str] = {}
    for layer in layers:
        for key, value in layer.values.items():
            place = layer.where(key)
            _refuse_unknown(key, place)
            values[key] = _check(key, value, place)
            sources[key] = place
    return Settings(**values, sources=sources)


def _read_file(path: Path | None) -> _Layer:
    if path is None:
        return _Layer({}, str)
    try:
        text = path.read_bytes().decode("utf-8-sig")
        values = _toml.loads(text)
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
        line = int(found[1]) if found else text.rstrip().count("\n") + 1
        raise ConfigError(
            f"{path}, line {line}: not valid TOML: {error}.",
            'Lines look like: temperature = 0.7 or system = "Be brief."',
        ) from error
    return _Layer(values, lambda key: f"{path}{_line(text, key)}, key {key}")


def _line(text: str, key: str) -> str:
    """Find the line that sets a top-level key: the first that looks so and does not lie in a multi-line value."""
    lines = text.splitlines()
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
    return "--no-cache" if key == "cache" else f"--{key.replace('_', '-')}"


def _refuse_unknown(key: str, place: str) -> None:
    if key not in KEYS:
        close = difflib.get_close_matches(key, KEYS, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Settings are: {', '.join(KEYS)}."
        raise ConfigError(f"{place}: unknown setting.", hint)


# Checking: each takes a value as TOML gives it, or its text, and returns it as the field has it, or raises ValueError.

_Check: TypeAlias = Callable[[object], object]


def _text(value: object) -> object:
    if not isinstance(value, str):
        raise ValueError("text is wanted")
    return value or None


def _switch(value: object) -> object:
    word = str(value).strip().lower()
    if not isinstance(value, (bool, str)) or word not in _ON | _OFF:
        raise ValueError("on or off is wanted")
    return word in _ON


def _one_of(*choices: str) -> _Check:
    def check(value: object) -> object:
        word = str(value).strip().lower()
        # TOML has true and false where a person may mean on and off.
        if isinstance(value, bool) and "on" in choices:
            word = "on" if value else "off"
        if word not in choices:
            close = difflib.get_close_matches(word, choices, n=1)
            raise ValueError(
                f"{', '.join(choices)} are possible", *(f"Did you mean {each}?" for each in close)
            )
        return word

    return check


def _whole(least: int, most: int | None = None) -> _Check:
    bounds = f"at least {least}" if most is None else f"from {least} to {most}"

    def check(value: object) -> object:
        number: object = value
        if isinstance(value, str):
            try:
                number = int(value)
            except ValueError:
                number = None
        if not isinstance(number, int) or isinstance(number, bool):
            raise ValueError("a whole number is wanted")
        if number < least or (most is not None and number > most):
            raise ValueError(f"it must be {bounds}")
        return number

    return check


def _real(least: float, most: float) -> _Check:
    def check(value: object) -> object:
        try:
            number = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        if math.isnan(number):
            raise ValueError("a number is wanted")
        if not least <= number <= most:
            raise ValueError(f"it must be from {least:g} to {most:g}")
        return number

    return check


def _bytes(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str):
        try:
            return parse_size(value)
        except ValueError:
            pass
    raise ValueError('a size such as "2GiB" is wanted')


def _or_nothing(check: _Check) -> _Check:
    def optional(value: object) -> object:
        return None if isinstance(value, str) and value.strip().lower() in _NOTHING else check(value)

    return optional


def _context(value: object) -> object:
    number = _whole(0, 1 << 24)(value)
    if isinstance(number, int) and 0 < number < 256:
        raise ValueError("it must be 256 or more, or 0 for all the model was trained for")
    return number


_CHECKS: dict[str, _Check] = {
    "model": _text,
    "ctx": _context,
    "threads": _or_nothing(_whole(1, 1024)),
    "temperature": _real(0, 5),
    "top_p": _real(0, 1),
    "top_k": _whole(0, 1 << 20),
    "min_p": _real(0, 1),
    "seed": _or_nothing(_whole(0, (1 << 32) - 1)),
    "max_tokens": _whole(0, 1 << 24),
    "reasoning": _switch,
    "system": _text,
    "cache": _switch,
    "replay": _switch,
    "disk_budget": _or_nothing(_bytes),
    "approve": _one_of(*get_args(Approve)),
    "flash_attention": _one_of(*get_args(FlashAttention)),
    "kv_type": _one_of(*get_args(KvType)),
    "gpu_layers": _or_nothing(_whole(0, 1 << 16)),
    "patience": _real(0.1, 1000),
}


def _check(key: str, value: object, place: str) -> object:
    try:
        return _CHECKS[key](value)
    except ValueError as error:
        told, hint = (*error.args, "Mend it, or leave it out.")[:2]
        raise ConfigError(f"{place}: {value!r} does not fit: {told}.", hint) from error
