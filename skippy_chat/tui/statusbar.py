"""Two lines at the bottom: what the model is and is doing, and what the last turn reused and saved.

Invariant: every number is the engine's own; before there is one the bar shows none.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from textual.content import Content
from textual.widget import Widget

from skippy_chat.agent.protocol import LoadedModel
from skippy_chat.tui.display import one_line, visible_line

Doing = Literal["loading", "ready", "reading", "writing", "asking", "running", "stopping", "read-only"]

_STYLES: dict[Doing, str] = {
    "loading": "$text-warning",
    "ready": "$text-success",
    "reading": "$text-accent",
    "writing": "$text-accent",
    "asking": "$text-warning",
    "running": "$text-accent",
    "stopping": "$text-warning",
    "read-only": "$text-warning",
}


@dataclass(frozen=True, slots=True)
class Status:
    """What the bar shows; ``context`` is the number of tokens the lane holds, None before the first turn.

    ``speed`` is the last turn's, in tokens per second; 0 when there is none.
    """

    session: str = ""
    model: LoadedModel | None = None
    context: int | None = None
    speed: float = 0.0
    doing: Doing = "loading"
    detail: str = ""
    last: str = ""
    hint: str = ""


class StatusBar(Widget):
    """Shows a ``Status``; a hint takes the second line from the last turn while there is one."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set()
    can_focus = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - textual's name for it
        super().__init__(id=id)
        self.status = Status()
        self.hinted_at = 0.0
        """When the last hint was given, in seconds of ``time.monotonic``."""
        self._leaf = ""
        self._known: dict[str, tuple[int | None, float, str]] = {}

    def change(self, **changes: object) -> None:
        """Show something else."""
        if changes.get("hint"):
            self.hinted_at = time.monotonic()
        changed = replace(self.status, **changes)  # type: ignore[arg-type] # names are those of Status
        if changed != self.status:
            self.status = changed
            self.refresh()

    def stand_on(self, leaf: str, *, answered: bool) -> None:
        """Go to the branch that ends at message ``leaf``: what the last turn gave is that of another one.

        ``answered`` says that the turn was on this branch; what it gave is shown again on the way back.
        """
        status = self.status
        if answered:
            self._known[leaf] = (status.context, status.speed, status.last)
        elif leaf != self._leaf:
            context, speed, last = self._known.get(leaf, (None, 0.0, ""))
            self.change(context=context, speed=speed, last=last)
        self._leaf = leaf

    @property
    def plain(self) -> str:
        """Both lines as text."""
        return self.render().plain

    def render(self) -> Content:
        """Return the two lines for the bar's width."""
        status = self.status
        width = max(1, self.size.width - 2)
        state = Content.styled(status.doing, _STYLES[status.doing])
        if status.detail:
            state = Content.assemble(state, f" {one_line(status.detail, width)}")
        left = Content(" · ".join(self._facts(width - state.cell_length - 2)))
        if left.cell_length + state.cell_length >= width:
            state = Content.styled(
                status.doing, _STYLES[status.doing]
            )  # what it does rather than how it ends
        gap = " " * max(1, width - left.cell_length - state.cell_length)
        second = (
            Content.styled(one_line(status.hint, width), "$text-warning")
            if status.hint
            else Content.styled(one_line(status.last, width), "dim")
        )
        return Content.assemble(left, gap, state, "\n", second)

    def _facts(self, room: int) -> list[str]:
        """Return what is known of model and context, the less needed left out where there is no room."""
        status = self.status
        model = status.model
        session = [visible_line(status.session, 40)] if status.session else []
        if model is None:
            return session
        name, kind = one_line(model.name, 40), model.kind
        held = f"{status.context:,}" if status.context is not None else "-"
        context = f"context {held} / {model.context_size:,}"
        percent = ""
        if status.context is not None and model.context_size:
            percent = f" ({100 * status.context / model.context_size:.0f} %)"
        speed = [f"{status.speed:.1f} tok/s"] if status.speed else []
        for facts in (
            [name, kind, context + percent, *speed, *session],
            [name, kind, context + percent, *speed],
            [name, kind, context, *speed],
            [name, context, *speed],
            [context, *speed],
        ):
            if len(" · ".join(facts)) <= room:
                return facts
        return [context]
