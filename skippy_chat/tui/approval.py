"""The question whether a call may run, between the transcript and the box.

Invariant: nothing is allowed by keys that were meant for something else, nor before the end of the question was on the
screen. So the question takes the focus only when nothing has been typed for a moment and the box is empty; until then,
keys go where they went before. A key allows only when it came alone: words that somebody types, and pastes that reach
us as keys where a terminal does not mark them, come in bursts. Enter answers nothing. Behind another screen a question
waits: it says so on that screen, and neither takes the focus nor counts as seen until a moment after that is closed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message as Posted
from textual.notifications import Notification, Notify
from textual.timer import Timer
from textual.widgets import Input, Static

from skippy_chat.events import ApprovalNeeded
from skippy_chat.tui.card import ToolCard
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.display import one_line, shown
from skippy_chat.tui.question import SCOPES, Question, QuestionScroll, question_lines, question_title

QUIET_SECONDS = 0.5
ALONE_SECONDS = 0.15  # hardly felt, and longer than between two keys of a word that is typed at speed
_ROOMY = 16  # rows of a screen on which the transcript keeps a fifth
_OTHERS = 7  # rows of borders, title, keys (two on a narrow screen) and status bar
_COVERED = "A call waits for your answer, behind this. Close this to see it."
_WHOLE_DAY = 86_400.0  # seconds: the sign goes when it is no longer true, not with time
_REASON_KEYS = "Enter denies, with this reason for the model · Esc goes back"


class Reason(Input):
    """One line that says why not."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("ctrl+c", "app.interrupt", "Stop"),
    ]

    @dataclass
    class Left(Posted):
        """The person does not want to say why after all."""

    def action_back(self) -> None:
        """Go back to the question."""
        self.post_message(self.Left())

    def _on_paste(self, event: events.Paste) -> None:
        event.prevent_default()
        event.stop()
        self.insert_text_at_cursor(one_line(event.text, 2000))


class ApprovalPanel(Vertical):
    """Asks about one call at a time; ``Answered`` is posted, and the panel stays until it is closed."""

    @dataclass
    class Answered(Posted):
        """The person answered about a call."""

        call: str
        allowed: bool
        scope: str = "once"
        reason: str = ""

    def __init__(self, composer: Composer, *, id: str | None = None) -> None:  # noqa: A002 - textual's name
        super().__init__(id=id)
        self._composer = composer
        self._asked: ApprovalNeeded | None = None
        self._card: ToolCard | None = None
        self._seen = False
        self._laid_out = False
        self._refused = ""
        self._quiet: Timer | None = None
        self._alone: Timer | None = None  # runs while the last key is so recent that another makes a burst
        self._wanted = ""  # the scope of a yes that counts once its key turns out to be alone
        self._sign: Notification | None = None  # what says on another screen that a call waits
        self.display = False

    def compose(self) -> ComposeResult:
        """Lay out what is asked, the question, the keys, and a line for a reason."""
        yield Static(id="approval-title", markup=False)
        with QuestionScroll(id="approval-body"):
            yield Question()
        yield Reason(id="approval-reason", compact=True, placeholder="Why not? (may be empty)")
        yield Static(id="approval-keys", markup=False)

    def on_mount(self) -> None:
        """Take hold of the parts."""
        self._body = self.query_one(QuestionScroll)
        self._question = self.query_one(Question)
        self._reason = self.query_one(Reason)
        self._reason.display = False
        self._title = self.query_one("#approval-title", Static)
        self._keys = self.query_one("#approval-keys", Static)

    @property
    def call(self) -> str:
        """The id of the call that is asked about; empty when none is."""
        return self._asked.call if self._asked else ""

    def ask(self, event: ApprovalNeeded, card: ToolCard) -> None:
        """Ask about a call."""
        self._asked, self._card = event, card
        self._seen, self._refused, self._wanted = False, "", ""
        self._reason.value = ""
        self._reason.display = False
        title, says_why = question_title(event, self.app.size.width - 2)
        self._title.update(title)
        self._question.put(question_lines(event, why=not says_why))
        # At once: where the last question was scrolled to says nothing of this one.
        self._body.scroll_home(animate=False, immediate=True, force=True)
        self._laid_out = False
        self.call_after_refresh(self._is_laid_out)
        self.display = True
        self.fit()
        self._paint()
        if self.covered:
            self._show_sign()
        self.typed()

    def close(self, call: str = "") -> None:
        """Ask no longer, about this call if one is named; the focus goes back to the box."""
        if self._asked is None or (call and call != self._asked.call):
            return
        had_focus = self._has_focus()
        if self._card is not None:
            self._card.answered()
        self._asked = self._card = None
        self._wanted = ""
        self._stop_waiting()
        self._drop_sign()
        if had_focus:
            self._composer.focus()
        self.display = False

    def refuse(self, why: str) -> None:
        """Say why an answer did not count; it goes on asking."""
        self._refused = one_line(why, 400)
        self._paint()

    def typed(self) -> None:
        """Wait until nothing has been typed for a moment before taking the focus."""
        self._stop_waiting()
        if self._asked is not None and not self._has_focus():
            self._quiet = self.set_timer(QUIET_SECONDS, self._take_focus)

    def fit(self) -> None:
        """Leave the transcript some rows, however long the question is."""
        if self._asked is None:
            return
        rows = self.app.size.height
        transcript = rows // 5 if rows >= _ROOMY else 1
        others = _OTHERS + int(self._reason.display) + max(1, self._composer.size.height)
        self._body.styles.max_height = max(2, rows - transcript - others)

    def on_descendant_focus(self) -> None:
        """Say which keys answer now."""
        self._paint()

    def on_descendant_blur(self) -> None:
        """Say how to come back."""
        self._paint()

    def on_question_scroll_moved(self, event: QuestionScroll.Moved) -> None:
        """See whether the end is on the screen."""
        event.stop()
        self._look()

    @property
    def covered(self) -> bool:
        """Whether another screen is in front."""
        return self.is_attached and self.app.screen_stack[-1:] != [self.screen]

    @property
    def settled(self) -> bool:
        """Whether the last key came so long ago that the next one is alone."""
        return self._alone is None

    def on_key(self, event: events.Key) -> None:
        """Answer by single keys."""
        if not event.is_printable or self._asked is None:
            return
        crowded = self._alone is not None
        self._press()
        self._refused = ""
        self._paint()
        scope = next((scope for key, scope, _ in SCOPES if key == event.key), "")
        if event.key == "space":
            return  # it reads on, also when it is held
        if crowded:
            self.refuse("Several keys at once answer nothing: press one.")
        elif scope in self._asked.scopes:
            self._wanted = scope
        elif event.key == "n":
            self.post_message(self.Answered(self._asked.call, allowed=False))
        elif event.key == "d":
            event.prevent_default()
            self._ask_why()

    def on_paste(self, event: events.Paste) -> None:
        """Take a paste for what it is: no answer."""
        event.stop()
        self._press()

    def _press(self) -> None:
        """Note that something was pressed just now, which makes a yes before it part of a burst."""
        self._wanted = ""
        if self._alone is not None:
            self._alone.stop()
        self._alone = self.set_timer(ALONE_SECONDS, self._was_alone)

    def _was_alone(self) -> None:
        self._alone = None
        scope, self._wanted = self._wanted, ""
        if scope:
            self._allow(scope)

    def _allow(self, scope: str) -> None:
        """Say yes, once the end was on the screen."""
        self._look()
        if self._asked is not None and self._seen:
            self.post_message(self.Answered(self._asked.call, allowed=True, scope=scope))
        else:
            self.refuse("Read to the end first: Space or PageDown.")

    def _ask_why(self) -> None:
        """Let the person write a reason for a no."""
        self._reason.display = True
        self.fit()
        self._reason.focus()
        self._paint()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Deny with the reason."""
        event.stop()
        if self._asked is not None:
            reason = shown(event.value).strip()
            self.post_message(self.Answered(self._asked.call, allowed=False, reason=reason))

    def on_reason_left(self, event: Reason.Left) -> None:
        """Go back to the question."""
        event.stop()
        self._body.focus()
        self._reason.display = False
        self.fit()
        self._paint()

    def _take_focus(self) -> None:
        self._quiet = None
        if self._asked is None:
            return
        if self.covered:
            self._show_sign()
            self.typed()
        elif self._sign is not None:
            self._drop_sign()
            self.typed()  # the keys that close a screen are no quiet
        elif not self._composer.text and not self._is_typed_elsewhere():
            self._body.focus()
        self._look()
        self._paint()

    def _show_sign(self) -> None:
        if self._sign is None:
            self._sign = Notification(_COVERED, severity="warning", timeout=_WHOLE_DAY, markup=False)
            self.app.post_message(Notify(self._sign))

    def _drop_sign(self) -> None:
        sign, self._sign = self._sign, None
        if sign is not None and sign in self.app._notifications:
            self.app._unnotify(sign)

    def _is_typed_elsewhere(self) -> bool:
        return self.is_attached and isinstance(self.screen.focused, Input) and not self._has_focus()

    def _has_focus(self) -> bool:
        focused = self.screen.focused if self.is_attached else None
        return focused is not None and self in focused.ancestors

    def _stop_waiting(self) -> None:
        if self._quiet is not None:
            self._quiet.stop()
            self._quiet = None

    def _is_laid_out(self) -> None:
        self._laid_out = True
        self._look()

    def _look(self) -> None:
        """Note it when the end of the question is on the screen."""
        width = self._question.size.width
        visible = self._body.scrollable_content_region.height
        if self._seen or self._asked is None or self.covered:
            return
        if not self._laid_out or not width or not visible:
            return
        if self._body.scroll_y + visible >= self._question.prose.height(width):
            self._seen = True
            self._refused = ""
            self._paint()

    def _paint(self) -> None:
        if self._asked is None:
            return
        self._keys.update(self._told())
        self.set_class(self._has_focus(), "asking")

    def _told(self) -> Content:
        """Return the line under the question: what may be pressed now."""
        assert self._asked is not None
        if self._refused:
            return Content.styled(self._refused, "$text-warning")
        if self._reason.display:
            return Content.styled(_REASON_KEYS, "dim")
        if not self._has_focus():
            return Content.styled("Shift-Tab goes to the question · Esc stops the turn", "dim")
        parts: list[Content] = []
        if self._seen:
            offered = [each for each in SCOPES if each[1] in self._asked.scopes]
            parts += [_key(key, words) for key, _, words in offered]
        else:
            parts.append(Content.styled("more below: Space, PageDown", "$text-warning"))
        parts += [_key("n", "no"), _key("d", "no, because …"), _key("Esc", "stops")]
        return Content(" · ").join(parts)


def _key(key: str, words: str) -> Content:
    return Content.assemble((key, "bold $text-accent"), f" {words}")
