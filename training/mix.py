"""Puts scenes together into batches that share one system prompt, in fixed shares and from one seed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path
from random import Random
from shutil import rmtree

from skippy_chat.agent.tools.built_in import DEFAULT_NAMES, NAMES
from training import double, follow, quiet, single
from training.conversation import Conversation, Supplies
from training.quiet import ChatPair
from training.room import Room, furnish
from training.values import Values
from training.wordings import Wordings

Scene = Callable[[Supplies], Conversation]
_EPOCH = datetime(2024, 1, 1, tzinfo=timezone.utc)

SINGLE: Mapping[str, Scene] = {name: getattr(single, name) for name in NAMES}
# The tools that a scene calls, by its function's name.
DOUBLE: Mapping[str, tuple[Scene, tuple[str, ...], float]] = {
    "read_calc": (double.read_calc, ("read_file", "calculator"), 2.5),
    "search_read": (double.search_read, ("search_files", "read_file"), 2),
    "list_read": (double.list_read, ("list_directory", "read_file"), 2),
    "calc_write": (double.calc_write, ("calculator", "write_file"), 1),
    "read_edit": (double.read_edit, ("read_file", "edit_file"), 1),
    "run_write": (double.run_write, ("run_command", "write_file"), 0.7),
    "run_read": (double.run_read, ("run_command", "read_file"), 0.4),
    "read_write": (double.read_write, ("read_file", "write_file"), 1),
    "time_write": (double.time_write, ("current_time", "write_file"), 0.5),
    "write_run": (double.write_run, ("write_file", "run_command"), 0.5),
    "search_edit": (double.search_edit, ("search_files", "edit_file"), 0.7),
}
FOLLOW: Mapping[str, tuple[Scene, tuple[str, ...], float]] = {
    "path_then_read": (follow.path_then_read, ("read_file",), 2),
    "read_then_change": (follow.read_then_change, ("read_file", "edit_file"), 1.5),
    "folder_then_list": (follow.folder_then_list, ("list_directory",), 1),
    "list_then_read": (follow.list_then_read, ("list_directory", "read_file"), 1.5),
    "word_then_search": (follow.word_then_search, ("search_files",), 1.5),
    "number_then_calc": (follow.number_then_calc, ("calculator",), 1),
    "read_then_calc": (follow.read_then_calc, ("read_file", "calculator"), 1),
    "zone_then_time": (follow.zone_then_time, ("current_time",), 0.7),
    "text_then_write": (follow.text_then_write, ("write_file",), 1.2),
    "command_then_run": (follow.command_then_run, ("run_command",), 0.7),
}
# Of the scenes of a batch with tools.
SHARES = {"single": 0.40, "double": 0.22, "follow": 0.14, "chat": 0.13, "deed": 0.06, "copy": 0.05}
SINGLE_WEIGHTS = {
    "search_files": 1.6, "write_file": 1.6, "run_command": 1.3, "edit_file": 1.3, "read_file": 1.3,
    "list_directory": 1.0, "calculator": 1.1, "current_time": 0.6, "fetch_url": 0.6,
}  # fmt: skip
_ALL_TOOLS, _WITH_FETCH, _PLAIN = 0.62, 0.12, 0.10  # of batches; the rest have some of the tools


@dataclass(frozen=True, slots=True)
class Batch:
    """Conversations behind one system prompt; ``persona`` is its text, None for the template's own."""

    number: int
    persona: str | None
    tools: tuple[str, ...]
    conversations: tuple[Conversation, ...]


class Mixer:
    """Makes batch after batch; batch ``n`` is the same whatever was made before it."""

    def __init__(
        self, scratch: Path, pairs: Sequence[ChatPair], *, seed: int, size: int, avoid: Collection[str] = ()
    ) -> None:
        """Use ``scratch`` for rooms; ``avoid`` names of the test sets."""
        self._room = scratch / "room"
        self._pairs = pairs
        self._seed, self._size, self._avoid = seed, size, avoid
        self._wordings = Wordings()

    def batch(self, number: int) -> Batch:
        """Return the batch of that number."""
        random = Random(f"{self._seed}/{number}")
        moment = _EPOCH + timedelta(minutes=random.randint(0, 3 * 365 * 24 * 60))
        supplies = Supplies(
            random, self._wordings, Values(random, self._avoid), lambda files: self._furnished(files, moment)
        )
        persona = self._persona(supplies)
        style = random.random()
        if style < _PLAIN:
            made = [quiet.chat(supplies, self._pairs) for _ in range(self._size)]
            return Batch(number, persona, (), tuple(made))
        if style < _PLAIN + _ALL_TOOLS:
            tools: tuple[str, ...] = DEFAULT_NAMES
        elif style < _PLAIN + _ALL_TOOLS + _WITH_FETCH:
            tools = NAMES
        else:
            tools = tuple(sorted(random.sample(NAMES, random.randint(1, 6))))
        conversations = tuple(self._scene(supplies, tools) for _ in range(self._size))
        return Batch(number, persona, tools, conversations)

    def _scene(self, supplies: Supplies, tools: tuple[str, ...]) -> Conversation:
        random = supplies.random
        some_missing = not set(DEFAULT_NAMES) <= set(tools)
        kind = random.choices(list(SHARES), list(SHARES.values()))[0]
        if kind == "chat":
            return quiet.chat(supplies, self._pairs)
        if kind == "copy":
            return quiet.copy(supplies)
        if some_missing and (kind == "deed" or supplies.chance(0.2)):
            refused = quiet.taken_away(supplies, tools)
            if refused is not None:
                return refused
        if kind == "deed":
            return quiet.deed(supplies)
        fitting = {
            name: (scene, weight)
            for name, (scene, needed, weight) in (DOUBLE if kind == "double" else FOLLOW).items()
            if set(needed) <= set(tools)
        }
        if kind != "single" and fitting:
            chosen = random.choices(list(fitting), [weight for _, weight in fitting.values()])[0]
            return fitting[chosen][0](supplies)
        name = random.choices(tools, [SINGLE_WEIGHTS[each] for each in tools])[0]
        return SINGLE[name](supplies)

    def _persona(self, supplies: Supplies) -> str | None:
        if supplies.chance(0.65):
            return None
        return self._wordings.pick("persona", supplies.random, {"person": supplies.values.person()}).text

    def _furnished(self, files: Mapping[str, str], moment: datetime) -> Room:
        if self._room.exists():
            rmtree(self._room)
        self._room.mkdir(parents=True)
        # A name that is a folder in another one's path cannot be a file too.
        kept = {
            path: text
            for path, text in files.items()
            if not any(other.startswith(f"{path}/") for other in files)
        }
        furnish(self._room, kept)
        return Room(self._room, moment)
