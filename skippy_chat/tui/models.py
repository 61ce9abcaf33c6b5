"""The model picker: the models that are here, and this session gone on with on another one.

Invariant: a model in whose context the session does not fit is chosen only by somebody who was told; what is kept of
the session for the old model stays, so that going back reads nothing again.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.agent.protocol import Conversation
from skippy_chat.errors import SkippyError
from skippy_chat.models.resolve import DEFAULT_ALIAS
from skippy_chat.text.sizes import format_size
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.display import one_line
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.preferences import ModelRow
from skippy_chat.tui.rows import Rows
from skippy_chat.tui.sessions import Choice


@dataclass(frozen=True, slots=True)
class Choosing:
    """What there is to choose from: the model in use by its name, the session's tokens, and its context setting."""

    models: Sequence[ModelRow]
    current: str
    used: int
    ctx: int

    def trouble(self, model: ModelRow) -> str:
        """Return why a model cannot be used, or should not be used for this session; empty when it can."""
        if model.fault:
            return model.fault
        most = min(each for each in (self.ctx, model.trained) if each) if self.ctx or model.trained else 0
        if most and self.used >= most:
            return f"this session has about {self.used:,} tokens, and its context is {most:,}"
        return ""


class ModelScreen(Modal[str]):
    """Returns the name of the model that was chosen; one that would not do must be chosen twice."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+d", "dismiss", "Close", priority=True),
    ]

    def __init__(self, choosing: Choosing, at: str) -> None:
        """``at`` is the name to begin at; what is wrong with that one is told at once."""
        super().__init__()
        self._choosing = choosing
        self._at = at
        self._warned = ""

    def compose(self) -> ComposeResult:
        """Lay out the list."""
        choosing = self._choosing
        with Vertical(classes="choosing"):
            yield Static(Content.assemble(("Models  ", "bold"), ("for this session", "dim")))
            options = [
                Option(_told(each, choosing, current=each.name == choosing.current))
                for each in choosing.models
            ]
            yield Rows(*options, markup=False)
            yield Static(id="model-note", markup=False)
            yield Static(
                Content.styled("Enter goes on with it · Esc stays · another file: /model PATH", "dim"),
                markup=False,
            )

    def set_up(self) -> None:
        """Begin at the one that is meant."""
        models = self._choosing.models
        at = next((number for number, each in enumerate(models) if each.name == self._at), None)
        if at is not None:
            self.query_one(OptionList).highlighted = at
            if models[at].name != self._choosing.current:
                self._is_fine(models[at])

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take it, or say why not yet."""
        event.stop()
        model = self._choosing.models[event.option_index]
        if self._is_fine(model):
            self.dismiss(model.name)

    def _is_fine(self, model: ModelRow) -> bool:
        """Tell whether a model may be taken; say what is wrong with it, which must be said before."""
        trouble = self._choosing.trouble(model)
        if not trouble or (not model.fault and self._warned == model.name):
            return True
        self._warned = model.name
        told = trouble if model.fault else f"{trouble}. Enter goes on all the same."
        note = Content.styled(one_line(f"{model.name}: {told}", 300), "$text-warning")
        self.query_one("#model-note", Static).update(note)
        return False


def _told(model: ModelRow, choosing: Choosing, *, current: bool) -> Content:
    facts = [model.kind, model.architecture, model.quantisation]
    if model.size:
        facts.append(format_size(model.size))
    elif not model.fault:
        facts.append("made at its first use")
    if model.trained is not None:
        facts.append(f"context up to {model.trained:,}")
    line = Content.assemble("● " if current else "  ", (one_line(model.name, 80), "bold"))
    if told := one_line(" · ".join(each for each in facts if each), 160):
        line = Content.assemble(line, (f"\n    {told}", "dim"))
    trouble = choosing.trouble(model)
    return Content.assemble(line, ("\n    " + one_line(trouble, 160), "$text-warning")) if trouble else line


def _model(parts: Parts, argument: str) -> bool:
    conversation = parts.turns.conversation
    if conversation is None:
        return False
    preferences = parts.services.preferences

    def look() -> None:
        # Headers are read, and tokens counted, where nobody waits for it.
        try:
            models = list(preferences.models())
            wanted = argument
            if argument and argument not in [each.name for each in models]:
                at = preferences.model_at(argument)
                if at is not None:
                    models.append(at)
                    wanted = at.name
        except SkippyError as error:
            parts.app.call_from_thread(parts.bar.change, hint=str(error))
            return
        used = 0
        with contextlib.suppress(
            SkippyError
        ):  # the worker may have died; another model is all the more wanted
            used = conversation.room().used
        current = conversation.settings.model or DEFAULT_ALIAS
        choosing = Choosing(models, current, used, conversation.settings.ctx)
        parts.app.call_from_thread(_choose, parts, choosing, wanted)

    parts.app.run_worker(look, thread=True, exit_on_error=True)
    return True


def _choose(parts: Parts, choosing: Choosing, argument: str) -> None:
    go_on = _going_on(parts, choosing)
    found = {each.name: each for each in choosing.models}
    model = found.get(argument)
    if argument and model is None:
        close = difflib.get_close_matches(argument, found, n=1, cutoff=0.4)
        hint = f"Did you mean {close[0]}?" if close else "/model shows those that are here."
        parts.bar.change(hint=f"No model is called {one_line(argument, 60)}. {hint}")
    elif model is None or choosing.trouble(model):
        screen = ModelScreen(choosing, argument or choosing.current)
        parts.app.push_screen(screen, lambda name: go_on(name) if name else None)
    else:
        go_on(model.name)


def _going_on(parts: Parts, choosing: Choosing) -> Callable[[str], None]:
    def go_on(name: str) -> None:
        conversation = parts.turns.conversation
        if name == choosing.current or conversation is None:
            parts.bar.change(hint=f"The model is {name} already.")
        elif not parts.turns.free:
            parts.bar.change(hint="Not now: stop the answer first (Esc).")
        else:
            parts.opening.begin(Choice(conversation.session.id, changes={"model": name}))

    return go_on


def _install(parts: Parts) -> None:
    before = {"session": "", "model": ""}

    def opened(conversation: Conversation) -> None:
        now = {"session": conversation.session.id, "model": conversation.model.sha256}
        changed = now["session"] == before["session"] and now["model"] != before["model"]
        before.update(now)
        if changed and parts.transcript.views:
            name = one_line(conversation.model.name, 60)
            parts.bar.change(hint=f"{name} from here on; what it has not read yet is read once.")

    parts.opened.append(opened)


MODELS = Feature(
    (AppCommand("model", "go on with another model", _model, usage="[NAME|FILE]", needs="free"),), _install
)
