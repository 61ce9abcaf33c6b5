"""edits: whatever is changed in a conversation, what stands before the change is reused.

How much that is, is worked out from ids and schedules (``gate.tree``). A dense model must reuse up to the last
canonical cut before the change at once. A model with state that belongs to one position may fall back the first time,
to where a state must stand, and pays once: the second visit reuses all of it.
"""

from __future__ import annotations

from skippy_chat.errors import EngineDied, NativeError
from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases.tails import all_cached, cached_up_to, reason_of, same_answer
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.gate.talk import Talk
from skippy_chat.gate.values import Sheet

_HEAD, _FIRST = 100, 110
_CALL = {"id": "call00001", "type": "function", "function": {"name": "lookup", "arguments": '{"key": "a"}'}}


def edits(ground: Ground, sheet: Sheet) -> None:
    """Talk for three turns, then change the conversation in every way that people do."""
    with ground.stage("edits") as stage:
        run = _Edits(ground, sheet)
        talk = ground.dialogue(stage, ground.sizes.head, seed=_HEAD)
        asked: list[Talk] = []
        turns: list[Turn] = []
        for number in range(3):
            talk.add("user", run.text(_FIRST + number, ground.sizes.turn))
            asked.append(talk.branch())
            turns.append(talk.ask(f"turn {number + 1}"))
            ground.measured.append(turns[-1])
            run.appended(turns[-1])
            talk.keep(turns[-1])
        run.unchanged("regenerate", asked[2], turns[2])
        run.middle(asked)
        run.unchanged("back to the first branch (A, B, A)", asked[2], turns[2])
        run.deleted(asked[2])
        run.tool_result(talk)
        run.tails(asked[1])
        run.unchanged("back once more, after all of it", asked[2], turns[2])
    reused = sum(turn.cached for turn in run.visits)
    prompts = sum(turn.prompt for turn in run.visits)
    sheet.summary = f"{len(run.visits)} edits, {reused:,} of {prompts:,} cached"


class _Edits:
    """The edits of one run, with what their checks share."""

    def __init__(self, ground: Ground, sheet: Sheet) -> None:
        self.visits: list[Turn] = []
        self._ground = ground
        self._sheet = sheet

    def text(self, seed: int, tokens: int) -> str:
        return self._ground.material.text(seed, tokens)

    def appended(self, turn: Turn) -> None:
        """A turn that only goes on reads what is new: it must stand on the end of the answer before."""
        self._at_least(turn.label, turn)

    def unchanged(self, what: str, asked: Talk, first: Turn) -> None:
        """The very prompt of an earlier turn reads nothing and answers the same."""
        again = self._ask(asked, what)
        all_cached(self._sheet, what, again)
        same_answer(self._sheet, what, first, again)

    def middle(self, asked: list[Talk]) -> None:
        """The second user message is changed: answered anew there, and with what came later kept."""
        at = len(asked[1].messages) - 1
        size = self._ground.sizes.turn
        self.visit("middle edit, answered anew", asked[1].edited(at, self.text(121, size)), first=True)
        self.visit("middle edit, answered anew, second visit", asked[1].edited(at, self.text(122, size)))
        self.visit("middle edit, later messages kept", asked[2].edited(at, self.text(123, size)))
        self.visit("middle edit, kept, once more", asked[2].edited(at, self.text(124, size)))

    def deleted(self, asked: Talk) -> None:
        """The second user message and its answer are taken out; then another last message is asked."""
        last = len(asked.messages) - 1
        without = asked.without(last - 2, last)
        self.visit("deleted turn", without, first=True)
        self.visit(
            "deleted turn, second visit", without.edited(last - 2, self.text(131, self._ground.sizes.turn))
        )

    def tool_result(self, talk: Talk) -> None:
        """A tool's result is changed after the model has read it."""
        what = "edited tool result"
        if not self._ground.manner.by_ids and not self._shows_tools(talk):
            self._sheet.skip(what, "the chat template shows no tool results")
            return
        size = self._ground.sizes.turn
        first, second, third = (self._with_result(talk, self.text(seed, size)) for seed in (141, 142, 143))
        told = self._ask(first, "tool result")
        self._at_least("tool result", told)
        self.visit(what, second, first=True)
        self.visit(f"{what}, second visit", third)
        self.unchanged(f"{what}, back to the first", first, told)

    def tails(self, asked: Talk) -> None:
        """The last message gets tails of several lengths, at its start and inside it."""
        sizes = self._ground.sizes
        last = len(asked.messages) - 1
        head = self.text(150, sizes.inside)
        for place, before in (("at a message", ""), ("inside a message", f"{head} ")):
            if before:
                # There must be something inside that message to come back to.
                self.visit("a longer message", asked.edited(last, before + self.text(152, 20)), first=True)
            self.visit(
                f"tail {place}, first visit", asked.edited(last, before + self.text(151, 20)), first=True
            )
            for number, tokens in enumerate(sizes.tails):
                text = before + self.text(160 + 10 * number + bool(before), tokens)
                self.visit(f"tail of {tokens:,} {place}", asked.edited(last, text))
            for tokens in sizes.left_out:
                self._sheet.skip(f"tail of {tokens:,} {place}", "does not fit the context")

    def visit(self, what: str, asked: Talk, *, first: bool = False) -> None:
        """Ask a changed conversation; a ``first`` visit may fall back, but never behind a state that must be there."""
        turn = self._ask(asked, what)
        if first and self._ground.partial:
            self._at_least(what, turn)
        else:
            cached_up_to(self._sheet, what, turn)

    def _ask(self, asked: Talk, label: str) -> Turn:
        turn = asked.ask(label)
        self.visits.append(turn)
        self._ground.measured.append(turn)
        return turn

    def _at_least(self, what: str, turn: Turn) -> None:
        least = turn.reach.sure if self._ground.partial else turn.reach.deepest
        self._sheet.holds(
            f"{what}: cached of {turn.prompt:,}",
            least <= turn.cached <= turn.reach.deepest,
            expected=f"{least:,}" if least == turn.reach.deepest else f"{least:,} to {turn.reach.deepest:,}",
            found=f"{turn.cached:,}{reason_of(turn)}",
        )

    def _with_result(self, talk: Talk, result: str, *, on: Stage | None = None) -> Talk:
        copy = talk.branch()
        copy.stage = on or talk.stage
        copy.add("user", self.text(140, 12))
        if not self._ground.manner.by_ids:
            copy.add("assistant", "", tool_calls=[_CALL])
        copy.add("tool", result, tool_call_id=_CALL["id"])
        return copy

    def _shows_tools(self, talk: Talk) -> bool:
        """Whether two results make two prompts; asked elsewhere, so that none stays in the lane that is measured."""
        with self._ground.stage("probe") as probe:
            try:
                first, second = (
                    self._with_result(talk, self.text(seed, 8), on=probe).ask(
                        "does it show tools", max_tokens=1, cache=False
                    )
                    for seed in (144, 145)
                )
            except EngineDied:
                raise
            except NativeError:
                return False
        return first.reply.ids[: first.prompt] != second.reply.ids[: second.prompt]
