"""The options that most commands share, accepted before and after the command's name.

Invariant: only what was typed is kept, and what stands after the command's name wins; so a flag beats the config
file only when somebody typed it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar, get_args

import click
from click.core import ParameterSource

from skippy_chat.cli import completing
from skippy_chat.cli.host import Host
from skippy_chat.config import Approve
from skippy_chat.errors import UsageError
from skippy_chat.talk import Talk

F = TypeVar("F", bound=Callable[..., Any])

SETTINGS = (
    "model",
    "persona",
    "system",
    "ctx",
    "threads",
    "temperature",
    "seed",
    "max_tokens",
    "reasoning",
    "no_cache",
    "replay",
    "tools",
    "tool_files",
    "approve",
    "sandbox",
    "max_steps",
)


@dataclass(slots=True)
class Invocation:
    """What was typed so far, before and after the command's name."""

    host: Host
    typed: dict[str, Any] = field(default_factory=dict)
    assignments: list[str] = field(default_factory=list)

    def folder(self, name: str) -> Path | None:
        """Return a folder option as a path, home directory expanded."""
        given: str | None = self.typed.get(name)
        return None if given is None else Path(given).expanduser()

    @property
    def plain(self) -> bool:
        """Whether ``--plain`` was typed."""
        return bool(self.typed.get("plain"))

    @property
    def talk(self) -> Talk:
        """Standard error, plain when that was typed."""
        if self.plain:
            self.host.talk.be_plain()
        return self.host.talk

    def flags(self) -> dict[str, object]:
        """Return the typed options that are settings, under the settings' own names."""
        flags = {name: self.typed[name] for name in SETTINGS if name in self.typed}
        if flags.pop("no_cache", False):
            flags["cache"] = False
        if "reasoning" in flags:
            flags["reasoning"] = flags["reasoning"] == "on"
        if "system" in flags:
            flags["system"] = system_text(flags["system"])
        if "tool_files" in flags:
            flags["tool_files"] = [
                str(self.host.folder / Path(each).expanduser()) for each in flags["tool_files"]
            ]
        return flags


def system_text(given: str) -> str:
    """Return the system prompt: the text itself, or the file that ``@`` names.

    Raises:
        UsageError: the file cannot be read as UTF-8 text.
    """
    if not given.startswith("@"):
        return given
    path = Path(given[1:]).expanduser()
    try:
        return path.read_text(encoding="utf-8").rstrip("\n")
    except OSError as error:
        raise UsageError(
            f"The system prompt file {path} cannot be read: {error.strerror}.",
            "Give --system TEXT or --system @FILE.",
        ) from error
    except UnicodeDecodeError as error:
        raise UsageError(f"The system prompt file {path} is not UTF-8 text.", "Save it as UTF-8.") from error


def _keep(context: click.Context, param: click.Parameter, value: Any) -> None:
    if context.get_parameter_source(str(param.name)) is not ParameterSource.COMMANDLINE:
        return
    invocation = context.find_object(Invocation)
    assert invocation is not None
    if param.name == "assignments":
        invocation.assignments.extend(value)
    else:
        invocation.typed[str(param.name)] = value


def _option(*names: str, **attributes: Any) -> Callable[[F], F]:
    return click.option(*names, expose_value=False, callback=_keep, **attributes)


_PLACES = (
    _option(
        "--data-dir", metavar="DIR", shell_complete=completing.folders, help="Where conversations are kept."
    ),
    _option(
        "--cache-dir",
        metavar="DIR",
        shell_complete=completing.folders,
        help="Where checkpoints and made models are kept.",
    ),
    _option(
        "-c",
        "assignments",
        multiple=True,
        metavar="KEY=VALUE",
        shell_complete=completing.assignments,
        help="Set one config key for this run.",
    ),
    _option("--debug", is_flag=True, help="Show tracebacks, and keep a log of events."),
)
model_option = _option(
    "--model",
    metavar="PATH|NAME",
    shell_complete=completing.models,
    help="The model: a GGUF file, or a name `models list` shows.",
)
threads_option = _option(
    "--threads", type=click.IntRange(min=1), metavar="N", help="Threads to compute with."
)
_SETTINGS = (
    model_option,
    _option(
        "--persona",
        metavar="NAME",
        shell_complete=completing.personas,
        help="A system prompt with settings (see `personas list`).",
    ),
    _option("--system", metavar="TEXT|@FILE", help="The system prompt of a new session."),
    _option("--ctx", type=click.IntRange(min=0), metavar="N", help="Context size in tokens."),
    threads_option,
    _option(
        "--temperature", type=click.FloatRange(min=0), metavar="T", help="0 always takes the likeliest token."
    ),
    _option("--seed", type=int, metavar="N", help="Seed of the sampler."),
    _option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="Longest answer; 0: until full."),
    _option("--reasoning", type=click.Choice(["on", "off"]), help="Let the model reason before it answers."),
    _option("--no-cache", is_flag=True, help="Read the whole prompt, store nothing."),
    _option("--replay", is_flag=True, help="Compute from scratch with the recorded schedule."),
)
_TOOLS = (
    _option(
        "--tools",
        metavar="LIST",
        shell_complete=completing.tools,
        help="Tools to offer: names with commas between, default, all or none (see `tools list`).",
    ),
    _option(
        "--tool-file",
        "tool_files",
        multiple=True,
        metavar="FILE",
        shell_complete=completing.files,
        help="Offer the @tool functions of this file, too.",
    ),
    _option(
        "--approve",
        type=click.Choice(get_args(Approve)),
        help="ask about calls (default), auto-read (run: default), all, or deny what would ask.",
    ),
    _option("--sandbox/--no-sandbox", help="Run commands under bubblewrap, without network."),
    _option(
        "--max-steps", type=click.IntRange(min=1), metavar="N", help="Ask the model so often in one turn."
    ),
)
workspace_option = _option(
    "--workspace",
    metavar="DIR",
    shell_complete=completing.folders,
    help="The folder sessions belong to and tools work in; by default the git root, or here.",
)
_CONVERSATION = (
    _option(
        "--session",
        metavar="NAME",
        shell_complete=completing.sessions,
        help="Append to this session (name or id), or create it.",
    ),
    _option("--continue", "continue_newest", is_flag=True, help="Append to this folder's newest session."),
    _option("--new", is_flag=True, help="Start a new session."),
    workspace_option,
    _option("--plain", is_flag=True, help="No colour and no cursor movement: for screen readers and pipes."),
)


def _applied(*groups: tuple[Callable[[Any], Any], ...]) -> Callable[[F], F]:
    def decorate(function: F) -> F:
        for option in reversed([option for group in groups for option in group]):
            function = option(function)
        return function

    return decorate


place_options = _applied(_PLACES)
settings_options = _applied(_SETTINGS, _PLACES)
chat_settings_options = _applied(_SETTINGS, _TOOLS, _PLACES)
conversation_options = _applied(_CONVERSATION, _SETTINGS, _TOOLS, _PLACES)
