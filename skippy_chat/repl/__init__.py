"""The line REPL: finished lines go to the scrollback, and only the line being typed is live."""

from skippy_chat.repl.face import Face
from skippy_chat.repl.faces import choose_face
from skippy_chat.repl.held import GoOn, run_held
from skippy_chat.repl.loop import run_repl

__all__ = ["Face", "GoOn", "choose_face", "run_held", "run_repl"]
