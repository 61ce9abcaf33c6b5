"""Settings, and where each comes from.

Precedence: flags > ``-c key=value`` > ``SKIPPY_*`` > the persona these name > session > the persona a file names >
trusted project file > user file > defaults. Every layer is checked, also where a higher one wins, so that a mistake
shows where it was made.

Invariant: a project file never loosens what holds a model back, and nothing that came with a session runs code or lets
everything pass: sessions may come from elsewhere.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from skippy_chat.errors import ConfigError
from skippy_chat.personas import NamedFolder, find_persona
from skippy_chat.setting_table import (
    TABLE,
    AgentsFile,
    Approve,
    FlashAttention,
    KvType,
    Notify,
    Theme,
    ToolChoice,
    checked,
    loosens,
    project_keys,
    refuse_unknown,
)
from skippy_chat.toml_file import parse_toml, read_text

__all__ = ["KEYS", "SAID_BY_PERSONA", "Approve", "Setting", "Settings", "load_settings", "parse_settings"]

_ENV = "SKIPPY_"
_SAID = ("--", "-c ", "session ")  # how the source of a value begins that was said for a session
# What only a person says anew: code to run, variables to give away, what is written into logs.
_NEVER_OF_A_SESSION = frozenset({"tool_files", "pass_variables", "debug_text", "typed_history"})
SAID_BY_PERSONA = "persona"  # how the source of a system prompt begins that a persona brings
_RULES = "rule"  # beside the keys in a project file; approvals read them


@dataclass(frozen=True, slots=True)
class Setting:
    """One line of ``config show``."""

    key: str
    value: object
    source: str


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a run; ``setting_table`` says what each means. ``sources`` tells where each value comes from.

    ``project_file`` is the workspace's that was read, since it is trusted: rules of approval are in there, too.
    ``ignored_file`` is the workspace's that is not trusted, for faces to mention.
    """

    model: str | None = None
    persona: str | None = None
    system: str | None = None
    agents_file: AgentsFile = "auto"
    ctx: int = 8192
    max_tokens: int = 1024
    reasoning: bool = True
    temperature: float = 0.7
    top_p: float = 0.95
    top_k: int = 40
    min_p: float = 0.05
    seed: int | None = None
    tools: tuple[str, ...] | None = None  # None is what tool_files make, () is none
    tool_files: tuple[str, ...] = ()
    tool_choice: ToolChoice = "auto"
    parallel_tools: bool = False
    approve: Approve = "ask"
    sandbox: bool = False
    pass_variables: tuple[str, ...] = ()
    max_steps: int = 25
    max_turn_tokens: int = 0
    titles: bool = True
    typed_history: bool = True
    notify: Notify = "auto"
    notify_after: float = 30.0
    cache: bool = True
    replay: bool = False
    disk_budget: int | None = None
    threads: int | None = None
    gpu_layers: int | None = None
    flash_attention: FlashAttention = "auto"
    kv_type: KvType = "f16"
    patience: float = 1.0
    debug_text: bool = False
    theme: Theme = "dark"
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict, compare=False, repr=False)
    project_file: Path | None = field(default=None, compare=False, repr=False)
    ignored_file: Path | None = field(default=None, compare=False, repr=False)

    def describe(self) -> list[Setting]:
        """Return every key with its value and source, in order."""
        return [Setting(key, getattr(self, key), self.sources.get(key, "default")) for key in KEYS]

    def for_session(self) -> dict[str, Any]:
        """Return what a session keeps, so that resuming brings it back; as ``load_settings(session=…)`` takes it."""
        values = {key: getattr(self, key) for key in KEYS if TABLE[key].kept and key != "approve"}
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
assert tuple(TABLE) == KEYS, "the table and the fields are in one order"


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
    personas: Sequence[NamedFolder] = (),
) -> Settings:
    """Put the settings together.

    ``flags`` holds the options typed; None means not typed. ``assignments`` are the texts of ``-c``. ``session`` is
    what ``Settings.for_session`` gave; keys it does not know are ignored, a newer version may have written them. A
    ``user_file`` or ``project_file`` that is missing counts as empty; give the latter only if it is trusted, else
    as ``ignored_file``, which is not read. ``defaults`` are a command's own. ``personas`` are the folders that personas
    lie in. A session brings back what its persona said, so that the persona is read again only when it is said anew.

    Raises:
        ConfigError: an unreadable file, an unknown key, or a value of the wrong type or range; it names the place.
    """
    below = [_read_file(user_file), _read_project(project_file)]
    kept = _read_session(session or {})
    above = [
        _read_env(env or {}),
        _read_assignments(assignments),
        _Layer({key: value for key, value in flags.items() if value is not None}, _flag),
    ]
    if kept.values or any("persona" in each.values for each in above):
        below = [_without_persona(each) for each in below]
    layers = [*below, *_persona(below, personas), kept, *_persona(above, personas), *above]
    values: dict[str, Any] = dict(defaults or {})
    sources: dict[str, str] = {}
    for layer in layers:
        for key, given in layer.values.items():
            place = layer.where(key)
            refuse_unknown(key, place)
            value = checked(key, given, place)
            if layer.tightens and loosens(key, value, values.get(key, getattr(_DEFAULTS, key))):
                continue
            values[key] = value
            sources[key] = place
    return Settings(**values, sources=sources, project_file=project_file, ignored_file=ignored_file)


def parse_settings(content: str, path: Path) -> Mapping[str, object]:
    """Check what stands, or is to stand, in a user's file ``path``; return its values as ``Settings`` has them.

    Raises:
        ConfigError: as ``load_settings``.
    """
    layer = _layer_of(content, path)
    found = {}
    for key, given in layer.values.items():
        refuse_unknown(key, layer.where(key))
        found[key] = checked(key, given, layer.where(key))
    return found


def _read_file(path: Path | None) -> _Layer:
    content = None if path is None else read_text(path)
    return _Layer({}, str) if path is None or content is None else _layer_of(content, path)


def _layer_of(content: str, path: Path) -> _Layer:
    read = parse_toml(content, path)
    values = dict(read.values)
    if isinstance(files := values.get("tool_files"), list):
        # From where the file lies, since it is read in every working folder.
        values["tool_files"] = [
            str(path.parent / Path(each).expanduser()) if isinstance(each, str) else each for each in files
        ]
    return _Layer(values, read.place)


def _read_project(path: Path | None) -> _Layer:
    layer = _read_file(path)
    allowed = project_keys()
    for key in layer.values:
        if key in TABLE and key not in allowed:
            hint = f"Move it to your own file. A project may set: {', '.join(allowed)}."
            raise ConfigError(f"{layer.where(key)}: a project file may not set this.", hint)
    values = {key: value for key, value in layer.values.items() if key != _RULES}
    return _Layer(values, layer.where, tightens=True)


def _read_session(kept: Mapping[str, object]) -> _Layer:
    values = {key: value for key, value in kept.items() if key in TABLE and key not in _NEVER_OF_A_SESSION}
    if values.get("approve") == "all":
        del values["approve"]
    return _Layer(values, lambda key: f"session setting {key}")


def _without_persona(layer: _Layer) -> _Layer:
    values = {key: value for key, value in layer.values.items() if key != "persona"}
    return _Layer(values, layer.where, layer.tightens)


def _persona(layers: Sequence[_Layer], folders: Sequence[NamedFolder]) -> list[_Layer]:
    """Return what the persona says that the highest of these layers names; nothing when there is none."""
    naming = next((each for each in reversed(layers) if "persona" in each.values), None)
    if naming is None:
        return []
    place = naming.where("persona")
    name = checked("persona", naming.values["persona"], place)
    if name is None:
        return []
    persona = find_persona(str(name), folders, place)
    values = {**persona.values, **({} if persona.system is None else {"system": persona.system})}
    places = {**persona.places, "system": f"{SAID_BY_PERSONA} {persona.name}"}
    return [_Layer(values, places.__getitem__)]


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
    key_of = TABLE.get(key)
    return key_of.flag if key_of is not None and key_of.flag else f"--{key.replace('_', '-')}"
