"""The line REPL: finished lines go to the scrollback, and only the line being typed is live."""

from skippy_chat.repl.faces import choose_face
from skippy_chat.repl.loop import run_repl

__all__ = ["choose_face", "run_repl"]
