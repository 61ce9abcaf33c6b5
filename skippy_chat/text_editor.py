"""A text in the person's own editor: which one, the file it gets, and what comes back.

Invariant: nothing that was written is lost: where an editor ends with a failure, its file stays and is named. The
terminal must have been let go before, and SIGINT and SIGQUIT are the editor's while it runs.
"""

from __future__ import annotations

import contextlib
import shlex
import shutil
import signal
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType

from skippy_chat.errors import UsageError

_USUAL = ("nano", "vim", "vi", "emacs")
_NAMED = "Set VISUAL or EDITOR to one, such as: export EDITOR=nano"


def editor_command(env: Mapping[str, str]) -> Sequence[str]:
    """Return the command of the person's editor: VISUAL, EDITOR, or else a usual one that is installed.

    Raises:
        UsageError: there is none, or what is set cannot be read.
    """
    for name in ("VISUAL", "EDITOR"):
        said = env.get(name, "").strip()
        if not said:
            continue
        try:
            words = shlex.split(said)
        except ValueError as error:
            raise UsageError(f"{name} cannot be read: {error}.", _NAMED) from error
        if words and shutil.which(words[0], path=env.get("PATH")) is None:
            raise UsageError(f"{name} names {words[0]}, which is not there.", _NAMED)
        if words:
            return words
    for name in _USUAL:
        if shutil.which(name, path=env.get("PATH")) is not None:
            return [name]
    raise UsageError("No editor is set, and none was found.", _NAMED)


def edited(text: str, command: Sequence[str], env: Mapping[str, str]) -> str:
    """Let the person edit ``text`` with ``command``, wait for its end, and return what the file says then.

    A line break at the end that the text did not have is left out: editors add one. A SIGTERM or SIGHUP meanwhile ends
    the editor too, and is left to whoever handles it.

    Raises:
        UsageError: it could not be run, ended with a failure, or left no text; says where the file is, if it differs.
    """
    name = Path(command[0]).name
    folder = Path(tempfile.mkdtemp(prefix="skippy-chat-"))
    path = folder / "message.md"
    keep = False
    try:
        path.touch(0o600)
        path.write_text(text, "utf-8", newline="")
        code = _run([*command, str(path)], env)
        try:
            after = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            keep = path.exists()
            raise UsageError(
                f"What {name} left cannot be read: {_why(error)}.", _kept(path, keep=keep)
            ) from error
        if code != 0:
            keep = after not in (text, f"{text}\n")
            raise UsageError(
                f"{name} ended with {_ending(code)}, so the text stays as it was.",
                _kept(path, keep=keep),
            )
    except OSError as error:
        raise UsageError(f"{name} could not be run: {_why(error)}.", _NAMED) from error
    finally:
        if not keep:
            shutil.rmtree(folder, ignore_errors=True)
    return after if text.endswith("\n") else after.removesuffix("\n")


def _kept(path: Path, *, keep: bool) -> str:
    return f"What was written is in {path}" if keep else ""


def _why(error: OSError | UnicodeDecodeError) -> str:
    return (error.strerror if isinstance(error, OSError) else "it is not UTF-8") or str(error)


def _ending(code: int) -> str:
    return f"code {code}" if code > 0 else f"signal {-code}"


def _run(command: Sequence[str], env: Mapping[str, str]) -> int:
    # Not ignored: what is ignored stays so in the editor, what is handled does not.
    started: list[subprocess.Popen[bytes]] = []

    asked: list[bool] = []

    def end() -> None:
        asked.append(True)
        for process in started:
            process.terminate()

    with _ends_with_us(end), subprocess.Popen(command, env=dict(env)) as process:
        started.append(process)
        if asked:  # before it was known here
            process.terminate()
        return process.wait()


@contextlib.contextmanager
def _ends_with_us(end: Callable[[], None]) -> Iterator[None]:
    """While entered, leave keys that interrupt to the editor, and pass on that the program is to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(_number: int, _frame: FrameType | None) -> None:
        end()

    def nothing(_number: int, _frame: FrameType | None) -> None:
        """Leave it to the editor."""

    handlers = {"SIGINT": nothing, "SIGQUIT": nothing, "SIGTERM": leave, "SIGHUP": leave}
    before = []
    for name, handler in handlers.items():
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            before.append((number, signal.signal(number, handler)))
    try:
        yield
    finally:
        for number, handler_before in before:
            signal.signal(number, handler_before)
