"""Every error a person can meet, each with what went wrong, why, and the mend.

    SkippyError
    ├── UsageError            wrong option or argument            exit 2
    ├── ConfigError           a config file or value              exit 2
    ├── ModelFileError        missing, truncated, foreign file    exit 3
    ├── NativeError           llama.cpp missing, stock or failing exit 3
    │   └── TemplateRefused     the chat template takes no such conversation
    ├── EngineDied            the worker process ended            exit 3
    ├── ContextFull           the prompt does not fit             exit 4
    ├── SessionNotFound       no session of that name or id       exit 1
    ├── SessionLocked         another process writes it           exit 1
    ├── HistoryError          the history database                exit 1
    ├── ExportFailed          an export cannot be written         exit 1
    ├── ImportRefused         a file is no conversation           exit 1
    ├── AttachmentRefused     a file that a message names         exit 1
    ├── ToolError             a tool cannot do what was asked (the model sees it; the turn goes on)
    │   ├── PathRefused         the gate lets no tool go there
    │   └── UndoRefused         files were changed since the agent wrote them
    ├── AnswerUnfit           an answer is not the data that was asked for (a library call; the turn is stored)
    └── CheckpointError       the checkpoint store (a turn goes on without it)
        ├── DamagedCheckpoint   bytes on disk are not what was recorded
        └── RecordingStopped    could not be written, or no room in the budget

Faces print ``message`` and ``hint``; a traceback appears only with ``--debug``.
"""

from __future__ import annotations

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_NATIVE = 3
EXIT_CONTEXT_FULL = 4
EXIT_INTERRUPTED = 130


class SkippyError(Exception):
    """A failure that is told to a person: what and why in ``message``, the mend in ``hint``."""

    code = "failed"
    exit_code = EXIT_FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class UsageError(SkippyError):
    """A command line that cannot be carried out."""

    code = "usage"
    exit_code = EXIT_USAGE


class ConfigError(SkippyError):
    """A config file or value that cannot be read."""

    code = "config"
    exit_code = EXIT_USAGE


class ModelFileError(SkippyError):
    """A model file that is missing, truncated, or not a model this build can load."""

    code = "model_file"
    exit_code = EXIT_NATIVE


class NativeError(SkippyError):
    """The native library is missing, unpatched, or refused a call."""

    code = "native"
    exit_code = EXIT_NATIVE


class TemplateRefused(NativeError):
    """The model's chat template has no form for a conversation as it stands."""


class EngineDied(SkippyError):
    """The worker process ended; ``log_tail`` holds its last native log lines."""

    code = "engine_died"
    exit_code = EXIT_NATIVE

    def __init__(self, message: str, hint: str = "", log_tail: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.log_tail = log_tail


class ContextFull(SkippyError):
    """The prompt, with room to answer, does not fit the context."""

    code = "context_full"
    exit_code = EXIT_CONTEXT_FULL


class SessionNotFound(SkippyError):
    """No session has that name or id."""

    code = "session_not_found"


class SessionLocked(SkippyError):
    """Another process is writing this session: ``session`` is its id, ``writer`` that process's, where it is known."""

    code = "session_locked"

    def __init__(self, message: str, hint: str = "", session: str = "", writer: int | None = None) -> None:
        super().__init__(message, hint)
        self.session = session
        self.writer = writer


class HistoryError(SkippyError):
    """The history database cannot be read or written."""

    code = "history"


class ExportFailed(SkippyError):
    """An export cannot be made, or its file cannot be written."""

    code = "export"


class ImportRefused(SkippyError):
    """A file that is to be imported is no conversation; nothing of it was stored."""

    code = "import"


class AttachmentRefused(SkippyError):
    """A file that a message names by @path cannot go into it; the message was not sent."""

    code = "attachment"


class AnswerUnfit(SkippyError):
    """An answer is not the data that a script asked for; it is stored all the same."""

    code = "answer_unfit"


class ToolError(SkippyError):
    """A tool cannot do what was asked; within a turn it becomes a result that the model sees."""

    code = "tool"


class PathRefused(ToolError):
    """A path that no tool may go to: outside the workspace, a broken link, a device."""

    code = "path_refused"


class UndoRefused(ToolError):
    """A turn's files cannot be put back: ``changed`` names those that are not as the agent left them."""

    code = "undo_refused"

    def __init__(self, message: str, hint: str = "", changed: tuple[str, ...] = ()) -> None:
        super().__init__(message, hint)
        self.changed = changed


class CheckpointError(SkippyError):
    """The checkpoint store failed; the turn goes on without it."""

    code = "checkpoint"


class DamagedCheckpoint(CheckpointError):
    """Stored bytes are not what was recorded; they are set aside and never used."""

    code = "damaged"


class RecordingStopped(CheckpointError):
    """A checkpoint could not be written, or the byte budget has no room for it."""

    code = "recording_stopped"
