"""overlap: a title request and a tool request released at the same moment on one prefix, then a cache probe; twice.

The tool request is the conversation's, the title is asked aside. The first round is cold, so that the two meet while
the prefix is being read; before the second the process ends, so that they meet on what is stored. By token ids there
are no tools: two prompts meet.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from skippy_chat.agent.titles import QUESTION, title_of
from skippy_chat.errors import ContextFull
from skippy_chat.gate.calls import ENTRIES, LOOK_UP, check_calls
from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases.tails import all_cached, cached_up_to, same_answer
from skippy_chat.gate.phases.tool_loop import takes_no_tools
from skippy_chat.gate.stage import Stage, Turn
from skippy_chat.gate.talk import MAX_TOKENS, Talk
from skippy_chat.gate.together import Overlap, run_together
from skippy_chat.gate.values import Sheet

_STAGE = "overlap"
_FORCED = 256  # tokens a forced call may take, thoughts included
_TITLE = 12


def overlap(ground: Ground, sheet: Sheet) -> None:
    """Let the two meet on a cold prefix, end the process, and let two others meet on what it left."""
    why = "" if ground.manner.by_ids else takes_no_tools(ground)
    if why:
        sheet.skip("tools", why)
    tools = not why and not ground.manner.by_ids
    met: list[Overlap] = []
    with ground.stage(_STAGE) as stage:
        try:
            for number in (1, 2):
                met.append(_Round(ground, sheet, stage, number, tools=tools).run())
                stage.stop()
        except ContextFull as error:
            sheet.skip("the rest of the overlap", error.message)
    ground.measured += [turn for each in met[1:] for turn in (each.main, each.aside)]
    turns = [turn for each in met for turn in (each.main, each.aside)]
    reused, prompts = sum(turn.cached for turn in turns), sum(turn.prompt for turn in turns)
    sheet.summary = f"{len(turns)} requests in pairs, {reused:,} of {prompts:,} cached"
    if stopped := sum(each.gave_way for each in met):
        sheet.summary += f", {stopped} gave way"


@dataclass(frozen=True, slots=True)
class _Round:
    ground: Ground
    sheet: Sheet
    stage: Stage
    number: int
    tools: bool

    def run(self) -> Overlap:
        """Have the two requests meet, look at both, and ask each of them once more."""
        called, named = self._called(), self._named()
        main = called.request(
            self._label("tool request"),
            max_tokens=_FORCED if self.tools else MAX_TOKENS,
            tool_choice="required" if self.tools else "auto",
        )
        # As the product asks for titles: without thoughts, which would take all of so short an answer.
        title = replace(
            named.request(self._label("title request"), max_tokens=_TITLE, tool_choice="none"), thinking=False
        )
        met = run_together(self.stage, main, title)
        for turn in (met.main, met.aside):
            self._counts(turn)
        if self.number > 1:
            self.sheet.equal(f"round {self.number}, taken up first: from", "disk", met.source)
        if self.tools:
            check_calls(self.sheet, met.main.label, met.main, [LOOK_UP], forced=True)
        if not self.ground.manner.by_ids:
            self._title(met.aside)
        for turn, request in ((met.main, main), (met.aside, title)):
            probe = self.stage.run(request, f"{turn.label}, cache probe")
            all_cached(self.sheet, probe.label, probe)
            same_answer(self.sheet, probe.label, turn, probe)
        return met

    def _counts(self, turn: Turn) -> None:
        usage = turn.finished.usage
        self.sheet.holds(
            f"{turn.label}: cached + new",
            usage.cached_tokens + usage.prefilled_tokens == turn.reply.prompt_tokens,
            expected=f"{turn.reply.prompt_tokens:,}",
            found=f"{usage.cached_tokens:,} + {usage.prefilled_tokens:,}",
        )
        cached_up_to(self.sheet, turn.label, turn)

    def _title(self, turn: Turn) -> None:
        title = title_of(turn.reply)
        self.sheet.holds(
            f"{turn.label}: a title",
            title,
            expected="a few words",
            found=title or repr(turn.reply.text),
            about="model",
        )

    def _called(self) -> Talk:
        talk = self._dialogue()
        talk.add("user", self._say(f"Look up the {ENTRIES[self.number - 1]}.", 1))
        return talk

    def _named(self) -> Talk:
        talk = self._dialogue()
        talk.add("user", self._say(QUESTION, 2))
        return talk

    def _dialogue(self) -> Talk:
        talk = self.ground.dialogue(self.stage, self.ground.sizes.prefix, seed=490)
        if self.tools:
            talk.tools = [LOOK_UP]
        return talk

    def _say(self, words: str, number: int) -> str:
        text = self.ground.material.text(500 + 10 * self.number + number, self.ground.sizes.turn)
        return text if self.ground.manner.by_ids else f"{text}. {words}"

    def _label(self, what: str) -> str:
        return f"round {self.number}, {what}"
