"""One conversation of the training data, made while the product's own tools run in a room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeAlias

from skippy_chat.agent.tools.protocol import ToolResult
from training.room import Room
from training.values import Values
from training.wordings import Sentence, Wordings, spoken

Goal: TypeAlias = Literal["words", "base"]
Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages without the system's; assistant messages are what is learnt.

    ``goal``: the words as they stand, or the base model's own distribution over them (chat is kept as it was).
    ``bare`` are the persons' sentences with gaps instead of values; ``kind`` says what scene it is.
    """

    kind: str
    messages: tuple[Message, ...]
    goal: Goal
    bare: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Supplies:
    """What scenes are made from."""

    random: Random
    wordings: Wordings
    values: Values
    furnish: Callable[[Mapping[str, str]], Room]
    """Gives an emptied room with these files in it."""

    def chance(self, share: float) -> bool:
        """Return True in that share of calls."""
        return self.random.random() < share


class Talk:
    """Builds one conversation: says, calls, answers."""

    def __init__(self, kind: str, supplies: Supplies, room: Room | None = None) -> None:
        self._kind = kind
        self._supplies = supplies
        self._room = room
        self._messages: list[Message] = []
        self._bare: list[str] = []
        self._calls = 0

    def say(self, section: str, **values: object) -> Sentence:
        """Let the person say one of a section's sentences."""
        supplies = self._supplies
        sentence = spoken(
            supplies.wordings.pick(section, supplies.random, values), supplies.wordings, supplies.random
        )
        self.say_text(sentence.text, sentence.bare)
        return sentence

    def say_text(self, text: str, bare: str) -> None:
        """Let the person say this."""
        self._messages.append({"role": "user", "content": text})
        self._bare.append(bare)

    def call(self, tool: str, **arguments: Any) -> ToolResult:
        """Let the model call a tool, and run it."""
        assert self._room is not None
        self.call_only(tool, **arguments)
        result = self._room.run(tool, arguments)
        self._messages.append({"role": "tool", "tool_call_id": f"call{self._calls}", "content": result.text})
        return result

    def call_only(self, tool: str, **arguments: Any) -> None:
        """Let the model call a tool as the last thing it does here."""
        self._calls += 1
        function = {"name": tool, "arguments": arguments}
        call = {"id": f"call{self._calls}", "type": "function", "function": function}
        self._messages.append({"role": "assistant", "content": "", "tool_calls": [call]})

    def answer(self, section: str, **values: object) -> None:
        """Let the model answer with one of a section's sentences."""
        supplies = self._supplies
        self.answer_text(supplies.wordings.pick(section, supplies.random, values).text)

    def answer_text(self, text: str) -> None:
        """Let the model answer this."""
        self._messages.append({"role": "assistant", "content": text})

    def done(self, goal: Goal = "words") -> Conversation:
        """Return it."""
        return Conversation(self._kind, tuple(self._messages), goal, tuple(self._bare))
