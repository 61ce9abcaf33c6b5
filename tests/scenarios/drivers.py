"""The faces that carry out scenarios: the line REPL on a real terminal, and headless turns on one conversation."""

from __future__ import annotations

import io
import os
import signal
from collections.abc import Iterator, Sequence

from skippy_chat.agent.protocol import Conversation
from skippy_chat.errors import EXIT_INTERRUPTED, EngineDied
from skippy_chat.events import Event
from skippy_chat.headless import Shape, run_turn
from skippy_chat.talk import Talk
from tests.fakes.host import Terminal
from tests.repl.screen import Screen
from tests.scenarios.scenario import Ending, Said, Shown, Step

CTRL_A, CTRL_C, CTRL_K = "\x01", "\x03", "\x0b"
_QUESTION = "Your answer:"
_ROLES = {"You": "user", "Assistant": "assistant", "System": "system"}


class ReplDriver:
    """Types on a terminal, and reads its screen."""

    asks = True

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self._prompts = 1
        self._screen.wait_for_prompt(1)

    def carry_out(self, step: Step) -> Shown:
        """Type the step's keys, and wait for the next prompt."""
        screen = self._screen
        before, raw = screen.text, len(screen.raw)
        if step.do == "say":
            screen.paste(step.text)
        elif step.do == "edit":
            screen.type(f"/edit {step.number}\r")
            self._prompts += 1
            screen.wait_for(self._offers_a_text)
            screen.type(f"{CTRL_A}{CTRL_K}{step.text}")
        else:
            screen.type(f"/{step.do} {step.number or step.text}".rstrip())
        screen.type("\r")
        for number, answer in enumerate(step.answers, before.count(_QUESTION) + 1):
            screen.wait_for(
                lambda text, number=number: text.endswith(_QUESTION) and text.count(_QUESTION) == number  # type: ignore[misc]
            )
            screen.type(f"{_typed(answer)}\r")
        if step.stop_after:
            screen.wait_for(step.stop_after)
            screen.type(CTRL_C)
        self._prompts += 1
        screen.wait_for_prompt(self._prompts)
        shown = screen.text[len(before) :]
        # What a terminal acted on does not show; so the bytes are looked at too.
        return Shown(f"{shown}\n{screen.raw[raw:].decode('utf-8', 'replace')}", self._ending(step, shown))

    def _offers_a_text(self, text: str) -> bool:
        prompts = [line for line in text.splitlines() if line.startswith(">")]
        return len(prompts) >= self._prompts and prompts[-1] == text.splitlines()[-1] != ">"

    def history(self) -> Sequence[tuple[str, str]]:
        """Ask for it with /history."""
        before = self._screen.text
        self._screen.type("/history\r")
        self._prompts += 1
        shown = self._screen.wait_for_prompt(self._prompts)[len(before) :]
        found = []
        for line in shown.splitlines():
            label, colon, text = line.partition(": ")
            role = _ROLES.get(label.split(" ")[0])
            if colon and role is not None:
                # An answer that only calls a tool has no text of its own.
                found.append((role, "" if text.startswith("→ ") else text))
        return found

    def _ending(self, step: Step, shown: str) -> Ending:
        if "ended by signal" in shown:
            return "died"
        if "Stopped;" in shown:
            return "stopped"
        return "answered" if "tokens" in shown else "done"


def _typed(answer: Said) -> str:
    if answer.allowed:
        return {"once": "y"}.get(answer.scope, answer.scope)
    return f"no {answer.reason}"


class _Watched(io.StringIO):
    """An output that interrupts its own program when it has been given some text."""

    def __init__(self, stop_after: str) -> None:
        super().__init__()
        self._stop_after = stop_after

    def write(self, text: str) -> int:
        count = super().write(text)
        if self._stop_after and self._stop_after in self.getvalue():
            self._stop_after = ""
            os.kill(os.getpid(), signal.SIGINT)
        return count


class _WatchedTerminal(_Watched, Terminal):
    """The same as a terminal's."""


def _running(step: Step) -> str:
    """Return what is said of the tool that runs until it is stopped: its output goes to the model alone."""
    calls = [call for model in (step.turn.steps if step.turn else ()) for call in model.calls if call.endless]
    return f"→ {calls[0].name}(" if calls else ""


class HeadlessDriver:
    """Runs one headless turn after another, as a script that imports them would."""

    asks = False

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._before: list[str] = []

    def carry_out(self, step: Step) -> Shown:
        """Begin the step's turn, and follow it to its end; what begins none is done as a script does it."""
        last = self._conversation.messages()[-1:]
        try:
            return self._carried_out(step)
        finally:
            if last and last[0] not in self._conversation.messages():
                self._before.append(last[0].id)

    def _carried_out(self, step: Step) -> Shown:
        conversation = self._conversation
        if step.do in {"branch", "back", "remove", "rename"}:
            if step.do == "branch":
                conversation.switch(conversation.leaves()[step.number - 1].id)
            elif step.do == "back":
                conversation.switch(self._before.pop())
            elif step.do == "remove":
                conversation.remove(self._asked(step.number))
            else:
                conversation.rename(step.text)
            told = [conversation.session.name, *(each.content for each in conversation.messages())]
            return Shown("\n".join(told), "done")
        out, err = _Watched(step.stop_after), _WatchedTerminal(_running(step))
        code: int | None = None
        try:
            code = run_turn(
                conversation, self._begin(step), shape=Shape.TEXT, stdout=out, talk=Talk(err, lambda: 0.0)
            )
        except EngineDied as death:
            # As the command line tells it.
            Talk(err, lambda: 0.0).error(str(death))
        ended: Ending = "died" if code is None else "stopped" if code == EXIT_INTERRUPTED else "answered"
        return Shown(out.getvalue() + err.getvalue(), ended)

    def history(self) -> Sequence[tuple[str, str]]:
        """Return the messages; what they hold is raw."""
        return [
            (each.role, each.content.replace("\x1b[31m", "").replace("\x1b[2J", ""))
            for each in self._conversation.messages()
        ]

    def _begin(self, step: Step) -> Iterator[Event]:
        if step.do == "continue":
            return self._conversation.go_on()
        if step.do == "regenerate":
            return self._conversation.regenerate()
        if step.do == "compact":
            return self._conversation.compact()
        if step.do == "edit":
            return self._conversation.edit(self._asked(step.number), step.text)
        return self._conversation.send(step.text)

    def _asked(self, number: int) -> str:
        return [each.id for each in self._conversation.messages() if each.role == "user"][number - 1]
