"""Compacting: the model sums up the beginning of a branch, and a new branch goes on from the summary.

The summary is asked for behind the very messages that it stands for, so what the cache has of them is not read again.
It becomes the answer to a question that says what was left out; so roles alternate as templates want it, and whoever
reads or exports the branch sees what it is.

Invariant: nothing of the asking is kept. Until the whole new branch is stored, in one transaction, the old one is the
current one, and it stays.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace

from skippy_chat.agent.loop import Parts
from skippy_chat.agent.measuring import Measuring
from skippy_chat.agent.rearranging import copied, spoken, turn_starts
from skippy_chat.agent.stepping import Wish
from skippy_chat.chat.messages import Message
from skippy_chat.engine.protocol import StepReply, StepRequest
from skippy_chat.errors import ContextFull, EngineDied, SkippyError, UsageError
from skippy_chat.events import Event, Notice, StepFinished, TurnFinished, TurnStarted, Usage, WorkerDied
from skippy_chat.sampling import Sampling
from skippy_chat.text.scalars import scalar_text

QUESTION = (
    "Sum up our conversation so far in at most 200 words, so that we can go on without it. Keep names, numbers, files,"
    " decisions and what is still to be done. Answer with the summary alone."
)
MOST_TOKENS = 512
_SHARE = 8  # of the context, at most, for a summary
_SLACK = 32  # tokens: a prompt that asks not to think may be a little longer


@dataclass(frozen=True, slots=True)
class Plan:
    """What becomes of a branch of which ``lead`` messages are its system prompt.

    Messages ``[lead, summed)`` are summed up, those from ``kept`` on are kept word for word, and the ones between are
    in neither. ``most_tokens`` bounds the summary.
    """

    lead: int
    summed: int
    kept: int
    most_tokens: int

    @property
    def left_out(self) -> int:
        """How many messages the new branch does not have."""
        return self.kept - self.lead

    def note(self) -> str:
        """Return what the new branch says in place of the messages that it does not have."""
        missing = self.kept - self.summed
        if not missing:
            return f"[{_messages(self.left_out)} left out here to make room.] Sum up what was said in them."
        return (
            f"[{_messages(self.left_out)} left out here to make room.] Sum up what was said in the first"
            f" {self.summed - self.lead:,}; the other {missing:,} did not fit, and are not in the summary."
        )


def plan(branch: Sequence[Message], measuring: Measuring, context: int, refused: int) -> Plan:
    """Plan the compaction of a branch, all of which was answered.

    The newest turns stay that fit half the context and are no more than half of what there is, or the newest alone,
    which may be longer where it could not be summed up either. ``refused`` tokens of a message that did not fit, and a
    summary, must have room beside them.

    Raises:
        ContextFull: not even its first message fits together with the question for a summary.
        UsageError: there is nothing to sum up.
    """
    starts = turn_starts(branch)
    if not starts or not any(each.role == "assistant" for each in branch[starts[0] :]):
        raise UsageError("There is nothing to sum up yet.", "Say something first.")
    most = max(1, min(MOST_TOKENS, context // _SHARE))
    used, fixed = measuring.prompted(branch).tokens, measuring.beginning(branch)
    room = context - fixed - 2 * most - refused
    half = min(room, context // 2, (used - fixed) // 2)

    def behind(at: int) -> int:
        return used - measuring.prompted(branch[:at]).tokens

    kept = _earliest(starts[1:], lambda at: behind(at) <= half)
    if kept is None:  # the newest turn alone may be more than half of what there is
        kept = _earliest(starts[1:][-1:], lambda at: behind(at) <= min(room, context // 2))
    summed = _longest(branch, starts[0], kept or len(branch), measuring, context - most)
    if kept is None and summed != len(branch):
        # Too long to be summed up with the rest: rather kept, with little room left, than in neither.
        kept = _earliest(starts[1:][-1:], lambda at: behind(at) <= room)
        summed = _longest(branch, starts[0], kept or len(branch), measuring, context - most)
    if summed is None:
        raise ContextFull(
            f"Not even the first message fits the context of {context:,} tokens together with the question for a"
            " summary.",
            "Use a larger --ctx, or start a new session.",
        )
    return Plan(starts[0], summed, kept or len(branch), most)


def _longest(
    branch: Sequence[Message], start: int, stop: int, measuring: Measuring, limit: int
) -> int | None:
    """Return how far, at most to ``stop``, a summary can be asked for in ``limit`` tokens; None if it cannot at all."""
    # Longest first; never between a call and its result.
    borders = [at for at in range(stop, start, -1) if at == len(branch) or branch[at].role != "tool"]
    return _earliest(borders, lambda at: measuring.prompted(_asked(branch[:at])).tokens <= limit - _SLACK)


class Compaction:
    """One compaction, run once."""

    def __init__(
        self, parts: Parts, measuring: Measuring, branch: Sequence[Message], turn: str, stop: threading.Event
    ) -> None:
        """``stop`` is set from any thread to end it early; the old branch stays the current one then."""
        self._parts = parts
        self._measuring = measuring
        self._whole = branch
        self._branch = spoken(branch)
        self._turn = turn
        self._stop = stop

    def run(self) -> Generator[Event, None, None]:
        """Ask for the summary and make the new branch.

        Raises:
            ContextFull: nothing can be asked, there is so little room.
            UsageError: there is nothing to sum up.
            SkippyError: as the worker said; EngineDied when it is gone.
        """
        head = self._whole[-1].id if self._whole else ""
        yield self._own(TurnStarted(message=head))
        try:
            for event in self._parts.engine.ready():
                yield self._own(event)
            if self._is_stopped():
                yield self._own(TurnFinished(message=head, finish_reason="cancelled"))
                return
            planned = self._plan()
            usage, reply = yield from self._ask(planned)
        except EngineDied as death:
            yield self._own(WorkerDied(reason=death.message, log_tail=death.log_tail))
            raise
        if self._is_stopped() or reply.finish_reason == "cancelled":
            yield self._own(TurnFinished(usage=usage, message=head, finish_reason="cancelled"))
            return
        branch = self._new_branch(planned, reply)
        last = self._parts.history.copy_behind(
            self._branch[0].session,
            branch[planned.lead - 1].id if planned.lead else None,
            branch[planned.lead :],
        )
        assert last is not None, "a summary is stored"
        yield self._own(self._told(planned, branch))
        yield self._own(TurnFinished(usage=usage, message=last, finish_reason=reply.finish_reason))

    def _is_stopped(self) -> bool:
        return self._stop.is_set() or self._parts.engine.cancelled

    def _plan(self) -> Plan:
        context = self._parts.engine.loaded.context_size
        refused = 0
        if len(self._whole) > len(self._branch) and turn_starts(self._branch):
            refused = (
                self._measuring.prompted(self._whole).tokens - self._measuring.prompted(self._branch).tokens
            )
        return plan(self._branch, self._measuring, context, refused)

    def _ask(self, planned: Plan) -> Generator[Event, None, tuple[Usage, StepReply]]:
        """Ask for the summary; its events are given out."""
        request = self._request(planned)
        usage = Usage()
        for item in self._parts.engine.run(request):
            if isinstance(item, StepReply):
                if item.finish_reason != "cancelled" and not item.text.strip():
                    raise SkippyError(
                        "The model wrote no summary; the branch stays as it was.",
                        "Try again, or make room another way.",
                    )
                return usage, item
            if isinstance(item, StepFinished):
                usage = item.usage
            yield self._parts.stream.numbered(item)
        raise AssertionError("a step ends with a reply or an error")

    def _request(self, planned: Plan) -> StepRequest:
        said = self._measuring.prompted(_asked(self._branch[: planned.summed])).messages
        wish = Wish("none", planned.most_tokens, sampling=Sampling(temperature=0.0))
        request = self._parts.stepper.request(said, wish, self._turn)
        return replace(request, thinking=False, replay=False, record=False)

    def _new_branch(self, planned: Plan, reply: StepReply) -> list[Message]:
        session = self._branch[0].session
        text = scalar_text(reply.text).strip()
        summary = f"Summary of {planned.summed - planned.lead:,} messages:\n\n{text}"
        return [
            *self._branch[: planned.lead],
            Message("", session, None, "user", planned.note()),
            Message(
                "",
                session,
                None,
                "assistant",
                summary,
                finish_reason=reply.finish_reason,
                turn=self._turn,
            ),
            *self._branch[planned.kept :],
        ]

    def _told(self, planned: Plan, branch: Sequence[Message]) -> Notice:
        """Tell what was done, with what it takes now where that can be found out."""
        now = copied(branch, planned.lead)
        before, after = (self._measuring.prompted(each).tokens for each in (self._branch, now))
        missing = planned.kept - planned.summed
        summed = f"{_messages(planned.left_out)} left out, "
        summed += (
            f"and the first {planned.summed - planned.lead:,} of them summed up"
            if missing
            else "and summed up"
        )
        return Notice(
            level="warning" if missing else "info",
            text=f"{summed}: {after:,} tokens instead of {before:,}.",
            hint="The branch before it stays.",
        )

    def _own(self, event: Event) -> Event:
        return self._parts.stream.own(event, self._turn)


def _asked(branch: Sequence[Message]) -> list[Message]:
    """Return a branch with the question for a summary behind it."""
    return [*branch, Message("", branch[0].session, None, "user", QUESTION)]


def _messages(count: int) -> str:
    return "1 message was" if count == 1 else f"{count:,} messages were"


def _earliest(candidates: Sequence[int], fits: Callable[[int], bool]) -> int | None:
    """Return the first candidate that fits, where all after one that fits do so too; None if none does."""
    low, high = 0, len(candidates)
    while low < high:
        middle = (low + high) // 2
        if fits(candidates[middle]):
            high = middle
        else:
            low = middle + 1
    return candidates[low] if low < len(candidates) else None
