"""Every setting in one table: what it is, what fits, and where it may be said.

Checks, the file that ``config init`` writes, the JSON Schemas, completion and docs/configuration.md are made from it.

Invariant: what a project or a session may say is said here and nowhere else; a project never loosens what holds a model
back.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

from skippy_chat.errors import ConfigError
from skippy_chat.setting_checks import (
    Kind,
    context,
    keys_of,
    name_of,
    one_of,
    or_nothing,
    real,
    size,
    switch,
    text,
    whole,
    words,
)

Approve: TypeAlias = Literal["ask", "auto-read", "all", "deny"]
FlashAttention: TypeAlias = Literal["auto", "on", "off"]
KvType: TypeAlias = Literal["f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"]
ToolChoice: TypeAlias = Literal["auto", "required", "none"]
AgentsFile: TypeAlias = Literal["auto", "on", "off"]
Notify: TypeAlias = Literal["auto", "bell", "osc9", "osc777", "off"]
Theme: TypeAlias = Literal[
    "dark", "light", "ansi-dark", "ansi-light", "textual-dark", "textual-light", "nord", "gruvbox", "dracula",
    "monokai", "tokyo-night", "flexoki", "catppuccin-mocha", "catppuccin-latte", "catppuccin-frappe",
    "catppuccin-macchiato", "solarized-dark", "solarized-light", "rose-pine", "rose-pine-moon", "rose-pine-dawn",
    "atom-one-dark", "atom-one-light",
]  # fmt: skip
InProject: TypeAlias = Literal["no", "yes", "tighter"]

PERSONA_NAME = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}"
# What holds a model back, least first; a project file may only go up.
_APPROVE = ("all", "auto-read", "ask", "deny")
_AGENTS = ("on", "auto", "off")
_NAMES = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"


@dataclass(frozen=True, slots=True)
class Key:
    """One setting.

    ``unset`` says what holds where the default is None. ``flag`` is its option. ``kept``: a session brings it back.
    ``in_project``: a project may say it, or only tighten it. ``in_persona``: a persona may say it.
    """

    kind: Kind
    meaning: str
    flag: str = ""
    unset: str = ""
    kept: bool = False
    in_project: InProject = "no"
    in_persona: bool = False


TABLE: Mapping[str, Key] = {
    "model": Key(
        text(),
        "The model: a GGUF file, or a name that `models list` shows.",
        "--model",
        "the built-in one",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "persona": Key(
        name_of(PERSONA_NAME, "a name"),
        "A system prompt with settings, from a file of the folder personas.",
        "--persona",
        "none",
        kept=True,
    ),
    "system": Key(
        text(), "The system prompt of new sessions.", "--system", "none", kept=True, in_project="yes"
    ),
    "agents_file": Key(
        one_of(*get_args(AgentsFile)),
        "Add the workspace's AGENTS.md to the system prompt of new sessions; auto: when tools work in the workspace.",
        in_project="tighter",
    ),
    "ctx": Key(
        context(),
        "Context size in tokens, at most what the model was trained for; 0 is exactly that.",
        "--ctx",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "max_tokens": Key(
        whole(0, 1 << 24),
        "Longest answer in tokens; 0 goes on until the context is full.",
        "--max-tokens",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "reasoning": Key(
        switch(),
        "Let the model reason before it answers, where it can.",
        "--reasoning",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "temperature": Key(
        real(0, 5),
        "How much chance decides; 0 always takes the likeliest token.",
        "--temperature",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "top_p": Key(
        real(0, 1),
        "Draw from the likeliest tokens that together have this probability; 1 is off.",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "top_k": Key(
        whole(0, 1 << 20),
        "Draw from so many of the likeliest tokens; 0 is off.",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "min_p": Key(
        real(0, 1),
        "Leave out tokens less likely than this part of the likeliest; 0 is off.",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "seed": Key(
        or_nothing(whole(0, (1 << 32) - 1)),
        "Seed of the sampler.",
        "--seed",
        "another one for each answer",
        kept=True,
        in_project="yes",
        in_persona=True,
    ),
    "tools": Key(
        words(_NAMES, "names", ("default", "all", "none")),
        "Tools to offer: names, default, all or none.",
        "--tools",
        "what tool_files make",
        kept=True,
        in_persona=True,
    ),
    "tool_files": Key(
        words(r".+\.py", "Python files"),
        "Python files with @tool functions; in a file, from where that lies.",
        "--tool-file",
    ),
    "tool_choice": Key(
        one_of(*get_args(ToolChoice)),
        "auto; required: the first step of each turn is a call; none: no calls.",
    ),
    "parallel_tools": Key(switch(), "Allow several calls in one answer.", kept=True, in_project="tighter"),
    "approve": Key(
        one_of(*get_args(Approve)),
        "Who says yes to calls: ask, auto-read, all, or deny what would ask. `run` has auto-read by default.",
        "--approve",
        kept=True,
        in_project="tighter",
    ),
    "sandbox": Key(
        switch(),
        "Run commands under bubblewrap, without network, or not at all.",
        "--sandbox",
        kept=True,
        in_project="tighter",
    ),
    "pass_variables": Key(
        words(_NAMES, "names"), "Variables that commands get although they look like secrets."
    ),
    "max_steps": Key(
        whole(1, 10_000),
        "How often the model is asked in one turn; then it stops and can go on.",
        "--max-steps",
        in_project="tighter",
    ),
    "max_turn_tokens": Key(
        whole(0, 1 << 24), "Tokens generated in one turn; 0 is no limit.", in_project="tighter"
    ),
    "titles": Key(
        switch(),
        "Have the model name sessions that have no title, aside, after their first answer in a chat.",
    ),
    "typed_history": Key(
        switch(),
        "Keep what is typed in chats for searching; never what begins with a space, nor answers to questions.",
    ),
    "notify": Key(
        one_of(*get_args(Notify)),
        "How the terminal tells that an answer or a question is there, while it is not looked at or after a long wait.",
    ),
    "notify_after": Key(
        real(0, 86_400), "Seconds of work after which that is told also to who is looking; 0 always does."
    ),
    "cache": Key(switch(), "Keep and use checkpoints.", "--no-cache"),
    "replay": Key(switch(), "Compute from scratch with the recorded schedule.", "--replay"),
    "disk_budget": Key(
        or_nothing(size()),
        "What checkpoints may take on disk.",
        unset="the smaller of 10 GiB and a tenth of what is free",
    ),
    "threads": Key(
        or_nothing(whole(1, 1024)), "Threads to compute with.", "--threads", "as many as this process may use"
    ),
    "gpu_layers": Key(or_nothing(whole(0, 1 << 16)), "Layers that a GPU computes.", unset="none"),
    "flash_attention": Key(one_of(*get_args(FlashAttention)), "Flash attention; auto: where the model can."),
    "kv_type": Key(one_of(*get_args(KvType)), "How attention rows are stored.", kept=True),
    "patience": Key(
        real(0.1, 1000), "How many times longer than usual a silent worker may take before it counts as hung."
    ),
    "debug_text": Key(switch(), "Let the log of --debug hold the text of messages, too."),
    "theme": Key(
        one_of(*get_args(Theme)),
        "Colours of the app; ansi-dark and ansi-light are the terminal's own.",
    ),
    # The last one: in a file it is a table, and what follows a table belongs to it.
    "keys": Key(keys_of(), "Keys of the app: a command or action by its name = its key, or a list of keys."),
}

# Whether the first value of such a key holds a model back less than the second.
_LOOSER: dict[str, Callable[[Any, Any], bool]] = {
    "agents_file": lambda value, now: _AGENTS.index(value) < _AGENTS.index(now),
    "approve": lambda value, now: _APPROVE.index(value) < _APPROVE.index(now),
    "sandbox": lambda value, now: now and not value,
    "parallel_tools": lambda value, now: value and not now,
    "max_steps": lambda value, now: value > now,
    "max_turn_tokens": lambda value, now: now > 0 and not 0 < value <= now,
}


def loosens(key: str, value: object, now: object) -> bool:
    """Tell whether a project's value would hold a model back less than what counts without it."""
    return TABLE[key].in_project == "tighter" and _LOOSER[key](value, now)


def project_keys() -> tuple[str, ...]:
    """Return the keys that a project may say, those it may only tighten last."""
    free = [name for name, key in TABLE.items() if key.in_project == "yes"]
    return (*free, *(name for name, key in TABLE.items() if key.in_project == "tighter"))


def persona_keys(*, of_project: bool) -> tuple[str, ...]:
    """Return the keys that a persona may say; one that came with a project says less."""
    return tuple(
        name for name, key in TABLE.items() if key.in_persona and (key.in_project == "yes" or not of_project)
    )


def refuse_unknown(name: str, place: str) -> None:
    """Refuse a key that does not exist, and name the closest.

    Raises:
        ConfigError: there is no such key.
    """
    if name not in TABLE:
        close = difflib.get_close_matches(name, TABLE, n=1)
        hint = f"Did you mean {close[0]}?" if close else f"Settings are: {', '.join(TABLE)}."
        raise ConfigError(f"{place}: unknown setting.", hint)


def checked(name: str, value: object, place: str) -> object:
    """Return a value as ``Settings`` has it.

    Raises:
        ConfigError: it does not fit; it names ``place``.
    """
    try:
        return TABLE[name].kind.take(value)
    except ValueError as error:
        told, hint = (*error.args, "Mend it, or leave it out.")[:2]
        raise ConfigError(f"{place}: {value!r} does not fit: {told}.", hint) from error
