"""The app's own keys; the composer, the messages and the picker have theirs beside them.

Invariant: a letter is a key only where nothing can be typed: while a session is read-only.
"""

from __future__ import annotations

from textual.binding import Binding

KEYS: tuple[Binding, ...] = (
    Binding("ctrl+c", "interrupt", "Stop, clear, leave", system=True),
    Binding("ctrl+d", "end_of_input", "Leave"),
    Binding("ctrl+q", "leave", "Leave", priority=True, system=True),
    Binding("ctrl+r", "regenerate", "Answer again", priority=True),
    Binding("ctrl+o", "details", "Show or fold details", priority=True),
    Binding("ctrl+end", "follow", "Follow", priority=True),
    Binding("escape", "escape", "Stop"),
    Binding("end", "follow", "Follow"),
    Binding("up", "step(-1)", "Message above"),
    Binding("down", "step(1)", "Message below"),
    Binding("pageup", "page(-1)", "Page up"),
    Binding("pagedown", "page(1)", "Page down"),
    Binding("f", "fork", "Go on in a copy"),
    Binding("t", "try_again", "Try again"),
    Binding("u", "look_again", "Show what is new"),
)
KEYS_TOLD = """\
Enter       sends; queues while the model is busy
Ctrl-J      new line
Esc         stops the turn, leaves an edit or the messages
Ctrl-C      stops, clears, and at the second time leaves
Ctrl-R      answers your last message again
Ctrl-O      shows in full what the newest turn thought and did, or folds it
Up          in an empty box: edits your last message
Shift-Tab   to the messages, or to a question; there Up and Down move
e, r        on a message: edit it; unfold it
Left, Right on a message: its other versions
Ctrl-End    goes to the end and follows it
Ctrl-P      themes and more"""
OF_READ_ONLY = frozenset({"fork", "try_again", "look_again"})
