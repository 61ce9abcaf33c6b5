"""tool_loop: a long system prompt with one tool, two facts and a pin; calls, results, answers, pressure, recall; twice.

The first round runs warm, in the second the process ends between a call and its result. However it goes, each step
reads only what is new: all that the step before it held is cached. What the model remembers is its own affair.
Where there are no tools (token ids, or a template that shows none) plain turns stand for calls and results.
"""

from __future__ import annotations

from skippy_chat.errors import ContextFull, EngineDied, NativeError
from skippy_chat.gate.calls import ENTRIES, LOOK_UP, check_calls, thinks_on
from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases.tails import cached_up_to, reason_of
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.gate.talk import MAX_TOKENS, Talk
from skippy_chat.gate.values import Sheet

FACTS = ("The ferry leaves at 07:45.", "The captain is called Marlow.")
PIN = "4817"
RECALLED = {"first fact": "07:45", "second fact": "Marlow", "pin": PIN}
RESULTS = ("The harbour closes when the wind turns north.", "The lighthouse has ninety-four steps.")

_STAGE = "tool_loop"
_FORCED = 256  # tokens a forced call may take, thoughts included
_RECALL = 48
_PRESSURE = 3
_PARTS = 12  # messages of a round, for the room they take


def tool_loop(ground: Ground, sheet: Sheet) -> None:
    """Go through the loop twice, the second time with another process from its middle on."""
    why = "" if ground.manner.by_ids else takes_no_tools(ground)
    if why:
        sheet.skip("tools", why)
    tools = not why and not ground.manner.by_ids
    first = _Round(ground, sheet, "round 1", seed=200, tools=tools)
    second = _Round(ground, sheet, "round 2", seed=300, tools=tools)
    with ground.stage(_STAGE) as stage:
        try:
            first.run(stage, restart=False)
            second.run(stage, restart=True)
        except ContextFull as error:
            sheet.skip("the rest of the loop", error.message)
        except _TooWeak as error:
            sheet.skip("the rest of the loop", str(error))
    turns = [*first.turns, *second.turns]
    reused, prompts = sum(turn.cached for turn in turns), sum(turn.prompt for turn in turns)
    sheet.summary = f"{len(turns)} steps, {reused:,} of {prompts:,} cached"
    if tools:
        calls = sum(len(turn.reply.calls) for turn in turns)
        sheet.summary += f", {calls} calls"


class _TooWeak(Exception):
    """The model makes no call even where it must: it thinks without an end."""


class _Round:
    """One way through the loop; ``seed`` makes its messages unlike the other round's, behind one system prompt."""

    def __init__(self, ground: Ground, sheet: Sheet, name: str, *, seed: int, tools: bool) -> None:
        self.turns: list[Turn] = []
        self._ground = ground
        self._sheet = sheet
        self._name = name
        self._seed = seed
        self._tools = tools
        self._ids: list[str] = []
        # Where a context is small, messages are shorter, so that all of them fit behind a prefix.
        room = ground.loaded.context_size // 4 // _PARTS - 2 * MAX_TOKENS
        self._size = max(4, min(ground.sizes.turn, room))

    def run(self, stage: Stage, *, restart: bool) -> None:
        """Call, result, answer, pressure turns, second call, recall; with ``restart`` the process ends at a call."""
        talk = self._dialogue(stage)
        self._call(talk, 0)
        if restart:
            self._restart(stage)
        self._result(talk, 0)
        self._step(talk, "answer to the first result")
        for number in range(_PRESSURE):
            talk.add("user", self._text(number + 1))
            self._step(talk, f"pressure turn {number + 1}")
        self._call(talk, 1)
        self._result(talk, 1)
        self._step(talk, "answer to the second result")
        talk.add("user", self._say("Now repeat both facts and the pin.", 9))
        last = self._step(talk, "recall", max_tokens=MAX_TOKENS if self._by_ids else _RECALL)
        # Its ledger holds every step before it, so its replay speaks for all of them.
        self._ground.measured.append(last)
        if not self._by_ids:
            self._recalled(last)

    @property
    def _by_ids(self) -> bool:
        return self._ground.manner.by_ids

    def _dialogue(self, stage: Stage) -> Talk:
        prefix = self._ground.sizes.prefix
        if self._by_ids:
            prefix = max(8, min(prefix, self._ground.loaded.context_size // 2))
        talk = self._ground.dialogue(stage, prefix, seed=190)
        if self._tools:
            talk.tools = [LOOK_UP]
        if not self._by_ids:
            facts = f"Remember two facts. {' '.join(FACTS)} And a pin: {PIN}. "
            talk = talk.edited(0, facts + talk.messages[0]["content"])
        return talk

    def _call(self, talk: Talk, number: int) -> None:
        label = ("first call", "second call")[number]
        talk.add("user", self._say(f"Look up the {ENTRIES[number]}.", 10 + number))
        if not self._tools:
            self._step(talk, label)
            return
        turn = self._step(talk, label, forced=True, max_tokens=_FORCED)
        if not turn.reply.calls:
            why = f"{self._name}: no {label} came, so the loop cannot go on."
            raise _TooWeak(why) if thinks_on(turn.reply) else NativeError(why)

    def _result(self, talk: Talk, number: int) -> None:
        """Give each call of the last answer a result."""
        if not self._tools:
            talk.add("tool" if self._by_ids else "user", self._text(20 + number))
            return
        for call in self.turns[-1].reply.calls:
            talk.add("tool", RESULTS[number], tool_call_id=call.id)

    def _step(self, talk: Talk, label: str, *, forced: bool = False, max_tokens: int = MAX_TOKENS) -> Turn:
        label = f"{self._name}, {label}"
        turn = talk.ask(label, max_tokens=max_tokens, tool_choice="required" if forced else "auto")
        self._counts(label, turn)
        if self._tools:
            check_calls(self._sheet, label, turn, talk.tools, forced=forced, known=self._ids)
        self._ids += [call.id for call in turn.reply.calls]
        talk.keep(turn)
        self.turns.append(turn)
        if not forced and turn.reply.calls:
            # The model called where it might have answered: it gets a result, so that the conversation stays whole.
            self._result(talk, 0)
        return turn

    def _counts(self, label: str, turn: Turn) -> None:
        if not self.turns:
            cached_up_to(self._sheet, label, turn)
            return
        held = self.turns[-1].finished.usage.context_tokens
        if turn.miss is not None and turn.miss.kind == "template_rewrote":
            # What the template drops or rewrites was never read in this form.
            least = turn.reach.sure if self._ground.partial else turn.reach.deepest
            passed = least <= turn.cached <= turn.reach.deepest
        else:
            least, passed = held, turn.cached == held
        self._sheet.holds(
            f"{label}: cached of {turn.prompt:,}",
            passed,
            expected=f"{least:,}, all that the step before held",
            found=f"{turn.cached:,}{reason_of(turn)}",
        )

    def _restart(self, stage: Stage) -> None:
        before = stage.worker.pid
        stage.stop()
        after = stage.start().pid
        self._sheet.holds(
            f"{self._name}: another process between a call and its result",
            before != after,
            expected=f"not {before}",
            found=str(after),
        )

    def _recalled(self, turn: Turn) -> None:
        for name, word in RECALLED.items():
            self._sheet.holds(
                f"{turn.label}: the {name}",
                word.casefold() in turn.reply.text.casefold(),
                expected=word,
                found=turn.reply.text,
                about="model",
            )

    def _say(self, words: str, number: int) -> str:
        """Return words where words count, and the round's own text behind them."""
        return self._text(number) if self._by_ids else f"{self._text(number)}. {words}"

    def _text(self, number: int) -> str:
        return self._ground.material.text(self._seed + number, self._size)


def takes_no_tools(ground: Ground) -> str:
    """Return why the model's template cannot be given tools; empty when it can.

    Asked elsewhere, so that nothing of it stays in the lane that is measured.
    """
    with ground.stage("probe") as stage:
        talk = ground.dialogue(stage, 8, seed=199)
        talk.add("user", ground.material.text(198, 4))
        without = talk.ask("without tools", max_tokens=1, cache=False)
        talk.tools = [LOOK_UP]
        try:
            offered = talk.ask("with tools", max_tokens=1, cache=False)
        except EngineDied:
            raise
        except (NativeError, ContextFull) as error:
            return f"the chat template takes no tools: {error.message}"
    return "" if offered.prompt > without.prompt else "the chat template shows no tools"
