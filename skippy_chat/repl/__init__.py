"""The line REPL: finished lines go to the scrollback, and only the line being typed is live."""

from skippy_chat.repl.face import Face
from skippy_chat.repl.faces import choose_face
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.held import run_held
from skippy_chat.repl.loop import run_repl
from skippy_chat.repl.services import Services
from skippy_chat.repl.stored import StoredSessions

__all__ = ["Face", "GoOn", "Services", "StoredSessions", "choose_face", "run_held", "run_repl"]
