"""How long a branch is as a prompt, whole and by kind; from any thread, also while a turn runs.

Invariant: what is measured is the request that would be made, in the words that the template takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from skippy_chat.agent.looking import in_words
from skippy_chat.agent.rearranging import copied, first_difference, spoken, without_results
from skippy_chat.agent.room import Room
from skippy_chat.agent.stepping import Engine, Stepper
from skippy_chat.chat.messages import Message
from skippy_chat.engine.questions import Measured, MeasureQuestion


@dataclass(frozen=True, slots=True)
class Prompted:
    """A branch as a prompt: the messages that it carries, and their lengths in tokens."""

    messages: tuple[Message, ...]
    lengths: Measured

    @property
    def tokens(self) -> int:
        """The prompt's length."""
        return self.lengths.prompt_tokens


class Measuring:
    """Asks an engine's worker how long branches are.

    Every method raises ``EngineDied`` when there is no worker, and ``SkippyError`` as the worker said.
    """

    def __init__(self, engine: Engine, stepper: Stepper) -> None:
        self._engine = engine
        self._stepper = stepper

    def prompted(self, branch: Sequence[Message], *, offered: bool = True) -> Prompted:
        """Return a branch as the prompt that asks for what comes behind it; ``offered``: with the tools."""

        def ask(said: Sequence[Sequence[Message]]) -> Prompted:
            request = self._stepper.asked(said[0], offered=offered)
            return Prompted(tuple(said[0]), self._engine.ask(MeasureQuestion(request)))

        return in_words([branch], ask)

    def room(self, branch: Sequence[Message]) -> Room:
        """Tell what a branch fills of the context; one without a word of the user fills nothing that is known."""
        size = self._engine.loaded.context_size
        if not any(each.role == "user" for each in branch):
            return Room(0, size, 0, 0, 0, 0)
        whole = self.prompted(branch)
        by_role = dict.fromkeys(("system", "user", "assistant", "tool"), 0)
        for message, tokens in zip(whole.messages, whole.lengths.messages, strict=True):
            by_role[message.role] += tokens
        tools = min(self._tools(branch), whole.lengths.messages[0])
        if by_role["system"]:
            by_role["system"] = max(0, by_role["system"] - tools)
        system, results = by_role["system"], by_role["tool"]
        accepted = spoken(branch)
        left = without_results(accepted)
        first = first_difference(accepted, left)
        droppable = 0
        if first is not None:
            droppable = self.prompted(accepted).tokens - self.prompted(copied(left, first)).tokens
        said = whole.tokens - system - tools - results
        return Room(whole.tokens, size, system, tools, said, results, max(0, droppable))

    def beginning(self, branch: Sequence[Message]) -> int:
        """Return how much the beginning of a branch takes, with the tools, before anybody says a word; about."""
        first = next(number for number, each in enumerate(branch) if each.role == "user")
        return self.prompted([*branch[:first], _word(branch[first])]).tokens

    def _tools(self, branch: Sequence[Message]) -> int:
        """Return what the tools take: they are shown at the beginning, whatever follows."""
        first = next(number for number, each in enumerate(branch) if each.role == "user")
        beginning = [*branch[:first], _word(branch[first])]
        return self.prompted(beginning).tokens - self.prompted(beginning, offered=False).tokens


def _word(message: Message) -> Message:
    return Message("", message.session, None, "user", "x")
