"""Computing a stored answer again, from scratch and with the schedule it was computed with."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence

from skippy_chat.agent.protocol import ReplayReport
from skippy_chat.agent.stepping import Engine
from skippy_chat.agent.stream import EventStream
from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger
from skippy_chat.chat.messages import Message
from skippy_chat.engine.protocol import ReplayRequest, StepReply
from skippy_chat.errors import EngineDied, HistoryError, UsageError
from skippy_chat.events import Event, WorkerDied
from skippy_chat.sampling import drawn_from_json


def replay(
    engine: Engine, stream: EventStream, stored: Message, ledger: Ledger, turn: str
) -> Iterator[Event | ReplayReport]:
    """Replay the answer ``stored``; the report is the last item, unless it was stopped before it began.

    Raises:
        SkippyError: as the worker said; EngineDied when it is gone.
    """
    sampling, redrawn = drawn_from_json(ledger.sampling)
    request = ReplayRequest(
        session=stored.session,
        turn=turn,
        ids=array("i", ledger.ids),
        prompt_tokens=ledger.prompt_tokens,
        schedule=[(run.tokens, run.single) for run in ledger.schedule],
        sampling=sampling,
        redrawn=redrawn,
        ended=stored.finish_reason in ("stop", "tool_calls"),
    )
    try:
        for event in engine.ready():
            yield stream.own(event, turn)
        if engine.cancelled:
            return
        for item in engine.run(request):
            if isinstance(item, StepReply):
                yield _compare(stored.id, ledger.answer_ids, item.ids[item.prompt_tokens :])
            else:
                yield stream.numbered(item)
    except EngineDied as death:
        yield stream.own(WorkerDied(reason=death.message, log_tail=death.log_tail), turn)
        raise


def stored_ledger(history: History, identity: str, stored: Message) -> Ledger:
    """Return the ledger of an answer for the model as it is loaded.

    Raises:
        HistoryError: there is none.
        UsageError: it is no answer.
    """
    if stored.role != "assistant":
        raise UsageError(f"Message {stored.id} is the {stored.role}'s; only answers are replayed.")
    if stored.edited:
        raise UsageError(
            f"Message {stored.id} was edited by a person; only what the model wrote is replayed.",
            "Go to the version that it wrote.",
        )
    ledger = history.ledger(stored.id, identity)
    if ledger is None:
        raise HistoryError(
            f"There is no ledger of message {stored.id} for this model as it is loaded now.",
            "A replay needs the model, context options and build that wrote it.",
        )
    return ledger


def _compare(message: str, stored: Sequence[int], again: Sequence[int]) -> ReplayReport:
    pairs = enumerate(zip(stored, again, strict=False))
    difference = next((index for index, (old, new) in pairs if old != new), None)
    if difference is None and len(stored) != len(again):
        difference = min(len(stored), len(again))
    return ReplayReport(message, len(stored), difference is None, difference)
