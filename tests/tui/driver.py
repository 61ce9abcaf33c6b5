"""The app as a face that carries out scenarios: real keys, and what the widgets hold."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Coroutine, Sequence
from typing import Any, TypeVar

from textual import events

from skippy_chat.tui.approval import ApprovalPanel, Reason
from skippy_chat.tui.message import MessageView
from tests.fakes.conversation import FakeConversation
from tests.scenarios.scenario import Ending, Said, Shown, Step
from tests.tui.screen import PATIENCE, Desk

T = TypeVar("T")
# What stands under a message: how it ended, what was noticed, which version it is.
_FOOT = re.compile(r"\n+(?:Stopped; [^\n]*|The model's process ended: .*|◂ \d+/\d+ ▸)\Z", re.DOTALL)


class AppDriver:
    """Presses keys from a thread beside the app's loop, as ``play`` wants it."""

    asks = True

    def __init__(self, desk: Desk, conversation: FakeConversation, loop: asyncio.AbstractEventLoop) -> None:
        """``conversation`` only tells which message a branch's number means; the keys go there."""
        self._desk = desk
        self._conversation = conversation
        self._loop = loop

    def carry_out(self, step: Step) -> Shown:
        """Press the step's keys, and wait until the app is ready again."""
        return self._wait_for(self._carry_out(step))

    def history(self) -> Sequence[tuple[str, str]]:
        """Return what the transcript shows, without the notes under the messages."""
        return [(view.role, self._text(view)) for view in self._desk.transcript.views]

    def _wait_for(self, what: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(what, self._loop).result(3 * PATIENCE)

    async def _carry_out(self, step: Step) -> Shown:
        desk = self._desk
        before = desk.texts
        if step.do == "say":
            await self._send(step.text)
        elif step.do == "edit":
            await self._edit(step)
        elif step.do == "regenerate":
            await desk.pilot.press("ctrl+r")
        elif step.do == "continue":
            await self._send("/continue")
        elif step.do in {"remove", "back", "rename", "compact"}:
            await self._send(f"/{step.do} {step.number or step.text}".rstrip())
        else:
            await self._branch(step.number)
        asked = {""}
        for answer in step.answers:
            asked.add(await self._answer(answer, asked))
        if step.stop_after:
            await desk.wait_until(lambda: step.stop_after in desk.texts[-1])
            await desk.pilot.press("escape")
        await desk.ready()
        new = [text for text in desk.texts if text not in before]
        shown = "\n".join([*new, desk.status])
        return Shown(shown, self._ending(step, "\n".join(new)))

    async def _send(self, text: str) -> None:
        self._desk.app.post_message(events.Paste(text))
        await self._desk.wait_until(lambda: self._desk.composer.text)
        await self._desk.pilot.press("enter")

    async def _answer(self, answer: Said, asked: set[str]) -> str:
        """Answer the next question, and return the call that it is about."""
        desk = self._desk
        panel = desk.app.screen_stack[0].query_one(ApprovalPanel)
        await desk.wait_until(lambda: panel.call not in asked and panel.has_class("asking"))
        call = panel.call
        if answer.allowed:
            await desk.pilot.press(answer.scope[0] if answer.scope != "once" else "y")
        else:
            await desk.pilot.press("d")
            reason = panel.query_one(Reason)
            await desk.wait_until(lambda: reason.has_focus)
            desk.app.post_message(events.Paste(answer.reason))
            await desk.wait_until(lambda: reason.value == answer.reason)
            await desk.pilot.press("enter")
        return call

    async def _edit(self, step: Step) -> None:
        asked = [view for view in self._desk.transcript.views if view.role == "user"]
        await self._go_to(asked[step.number - 1])
        composer = self._desk.composer
        await self._desk.pilot.press("e")
        await self._desk.wait_until(lambda: composer.has_focus and composer.text)
        await self._desk.pilot.press("ctrl+u")
        await self._send(step.text)

    async def _branch(self, number: int) -> None:
        """Step from version to version, where the branches part, until the one that was meant is shown."""
        wanted = [each.id for each in self._conversation.branch(self._conversation.leaves()[number - 1].id)]
        while (shown := self._ids()) != wanted:
            parts = next(at for at, pair in enumerate(zip(shown, wanted, strict=False)) if len(set(pair)) > 1)
            versions = [each.id for each in self._conversation.siblings(wanted[parts])]
            older = versions.index(wanted[parts]) < versions.index(shown[parts])
            await self._go_to(self._desk.transcript.views[parts])
            await self._desk.pilot.press("left" if older else "right")
            await self._desk.wait_until(lambda old=shown: self._ids() != old)  # type: ignore[misc]
        await self._desk.pilot.press("escape")

    async def _go_to(self, view: MessageView) -> None:
        desk = self._desk
        desk.composer.focus()
        await desk.wait_until(lambda: desk.composer.has_focus)
        await desk.pilot.press("shift+tab")
        await desk.wait_until(lambda: isinstance(desk.app.focused, MessageView))
        while desk.app.focused is not view:
            before = desk.app.focused
            await desk.pilot.press("up")
            # A message that cannot be reached ends here: the focus stays at the first one.
            await desk.wait_until(lambda before=before: desk.app.focused is not before)  # type: ignore[misc]

    def _ids(self) -> list[str]:
        return [view.message_id for view in self._desk.transcript.views]

    def _text(self, view: MessageView) -> str:
        text, before = view.plain, ""
        while text != before:
            before, text = text, _FOOT.sub("", text)
        return text

    def _ending(self, step: Step, new: str) -> Ending:
        if "process ended" in new:
            return "died"
        if "Stopped;" in new:
            return "stopped"
        turnless = step.do in {"branch", "back", "remove", "rename"}
        return "answered" if not turnless and "tokens" in self._desk.status else "done"
