"""Exit codes and how errors are told: one line on standard error, or one object on standard output."""

from __future__ import annotations

import dataclasses
import errno
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from skippy_chat import errors
from skippy_chat.cli import main
from skippy_chat.talk import Talk
from tests.fakes.conversation import FakeConversation, Turn
from tests.fakes.host import Desk, Terminal

CODES = {
    errors.SkippyError: ("failed", 1),
    errors.UsageError: ("usage", 2),
    errors.ConfigError: ("config", 2),
    errors.ModelFileError: ("model_file", 3),
    errors.NativeError: ("native", 3),
    errors.EngineDied: ("engine_died", 3),
    errors.ContextFull: ("context_full", 4),
    errors.SessionNotFound: ("session_not_found", 1),
    errors.SessionLocked: ("session_locked", 1),
    errors.HistoryError: ("history", 1),
    errors.CheckpointError: ("checkpoint", 1),
}


def fail_opening(desk: Desk, error: BaseException) -> None:
    def fail() -> None:
        raise error

    desk.opening = fail


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
def test_every_error_is_one_line_with_its_exit_code(desk: Desk, kind: type[errors.SkippyError]) -> None:
    fail_opening(desk, kind("It went\nwrong\x1b[2J.", "Mend it."))
    assert desk.run("run", "hi") == CODES[kind][1]
    assert (desk.out, desk.err) == ("", "skippy-chat: It went wrong. Mend it.\n")


@pytest.mark.parametrize("kind", CODES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("shape", ["--json", "--jsonl"])
def test_under_json_an_error_is_an_object(desk: Desk, kind: type[errors.SkippyError], shape: str) -> None:
    fail_opening(desk, kind("It went wrong.", "Mend it."))
    assert desk.run("run", shape, "hi") == CODES[kind][1]
    assert desk.json == {"error": {"code": CODES[kind][0], "message": "It went wrong.", "hint": "Mend it."}}
    assert desk.err == ""


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "--sesion", "x", "hi"], "Did you mean --session?"),
        (["--temprature", "1"], "Did you mean --temperature?"),
        (["rnu", "hi"], "There is no command rnu. Did you mean run?"),
        (["sessions", "lst"], "There is no command lst. Did you mean list?"),
        (["sessions", "xyz"], "See: skippy-chat sessions --help"),
        (["run", "--threads", "0", "hi"], "--threads"),
        (["run", "--threads", "two", "hi"], "two"),
        (["run", "hi", "there"], "there"),
        (["run", "--session"], "--session"),
        (["sessions", "rename", "one"], "TITLE"),
        (["run", "--json", "--jsonl", "hi"], "--jsonl"),
        (["run", "-c", "tempereture=1", "hi"], "temperature"),
    ],
)
def test_wrong_use_is_one_line_and_exits_2(desk: Desk, arguments: list[str], told: str) -> None:
    assert desk.run(*arguments) == 2
    told_on = desk.out if "--json" in arguments else desk.err
    assert told in told_on
    assert told_on.count("\n") == 1
    assert desk.opened == []


def test_wrong_use_under_json(desk: Desk) -> None:
    assert desk.run("run", "--json", "--sesion", "x") == 2
    assert desk.json["error"]["code"] == "usage"
    assert desk.json["error"]["hint"] == "Did you mean --session?"


def test_json_after_the_end_of_options_is_a_prompt(desk: Desk) -> None:
    fail_opening(desk, errors.SkippyError("No."))
    assert desk.run("run", "--", "--json") == 1
    assert desk.err == "skippy-chat: No.\n"


def test_an_interrupt_is_quiet_and_exits_130(desk: Desk) -> None:
    fail_opening(desk, KeyboardInterrupt())
    assert desk.run("run", "hi") == 130
    assert (desk.out, desk.err) == ("", "")


def test_a_fault_in_the_program_is_one_line_and_a_traceback_with_debug(desk: Desk) -> None:
    fail_opening(desk, RuntimeError("odd"))
    assert desk.run("run", "hi") == 1
    assert "RuntimeError: odd" in desk.err
    assert desk.err.count("\n") == 1
    assert desk.run("--debug", "run", "hi") == 1
    assert "Traceback" in desk.err


def test_a_known_error_shows_its_traceback_only_with_debug(desk: Desk) -> None:
    fail_opening(desk, errors.ConfigError("Bad.", "Mend."))
    desk.run("run", "hi")
    assert "Traceback" not in desk.err
    desk.run("run", "--debug", "hi")
    assert "Traceback" in desk.err
    assert desk.err.endswith("skippy-chat: Bad. Mend.\n")


def test_the_conversation_is_closed_whatever_happens(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(fails=errors.EngineDied("Gone.", "Again."))])
    assert desk.run("run", "hi") == 3
    assert desk.conversation.closed == 1


class Full(io.StringIO):
    """A standard output without room."""

    def flush(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_an_output_without_room_is_told(desk: Desk) -> None:
    desk.stdout = Full()
    assert desk.run("config", "path") == 1
    assert "No space left" in desk.err


def test_bare_start_needs_a_terminal(desk: Desk) -> None:
    assert desk.run() == 2
    assert "terminal" in desk.err
    assert desk.opened == []


def test_help_of_every_command(desk: Desk) -> None:
    for arguments in ([], ["run"], ["repl"], ["sessions"], ["cache"], ["models"], ["doctor"], ["config"]):
        assert desk.run(*arguments, "--help") == 0
        assert desk.out.startswith("Usage: skippy-chat")


def test_version(desk: Desk, capsys: pytest.CaptureFixture[str]) -> None:
    assert desk.run("--version") == 0
    assert main(["--version"]) == 0
    assert desk.out == capsys.readouterr().out


def test_version_imports_nothing_heavy() -> None:
    code = (
        "import sys; from skippy_chat.cli import main; main(['--version']);"
        "print(sorted({'click', 'json', 'sqlite3', 'numpy', 'prompt_toolkit'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_a_real_broken_pipe_is_quiet(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    env = {"SKIPPY_CONFIG_DIR": str(tmp_path), "PATH": os.environ["PATH"]}
    code = "import sys; from skippy_chat.cli import main; sys.exit(main(['config', 'show']))"
    done = subprocess.run(
        [sys.executable, "-c", code], stdout=write, stderr=subprocess.PIPE, env=env, check=False, timeout=60
    )
    os.close(write)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_error_erases_the_progress_before_it(desk: Desk) -> None:
    desk.stderr = Terminal()
    ticks = iter((0.0, 5.0))
    host = desk.host()
    talk = Talk(desk.stderr, lambda: next(ticks))

    def fail(**_asked: object) -> FakeConversation:
        talk.progress("Loading", 1, 4)
        talk.progress("Loading", 2, 4)
        raise errors.NativeError("No room.", "Free some.")

    code = main(["run", "hi"], dataclasses.replace(host, talk=talk, open_conversation=fail))
    assert code == 3
    assert desk.err == "\r\x1b[KLoading: 2 of 4\r\x1b[Kskippy-chat: No room. Free some.\n"


def test_a_death_is_told_with_the_last_native_lines_cleaned(desk: Desk) -> None:
    lines = tuple(f"line {number}" for number in range(9))
    death = errors.EngineDied("Gone.", "Again.", (*lines, "ggml\x1b[31m abort"))
    desk.conversation = FakeConversation([Turn(("Half",), dies=death)])
    assert desk.run("run", "hello") == 3
    assert desk.out == "Half\n"
    told = desk.err.splitlines()
    assert told[0] == "The model's process ended: Gone."
    assert told[1:] == [*lines[4:], "ggml abort", "skippy-chat: Gone. Again."]


def test_debug_keeps_a_log_and_says_where(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(), Turn(), Turn()])
    assert desk.run("run", "hi") == 0
    assert desk.opened[0]["on_event"] is None
    assert desk.run("run", "--debug", "--json", "hi") == 0
    (log,) = (desk.root / "data" / "logs").glob("debug-*.jsonl")
    assert f"Debug log: {log}\n" in desk.err
    assert desk.json["finish_reason"] == "stop"
    (desk.root / "data" / "logs").chmod(0o777)
    assert desk.run("run", "--debug", "hi") == 0
    assert "There is no debug log: Others can write to" in desk.err


def test_the_app_tells_where_debug_logs_are_when_its_screen_is_gone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    from skippy_chat.tui import launch  # noqa: PLC0415 - textual, only here

    monkeypatch.setattr(launch, "check_terminal", lambda env, interactive: None)
    monkeypatch.setattr(launch, "run_app", lambda services, choice: 7)
    assert desk.run("--new") == 7
    assert desk.err == ""
    assert desk.run("--new", "--debug") == 7
    assert desk.err == f"Debug logs: {desk.root}/data/logs\n"
    (desk.root / "data" / "logs").chmod(0o777)
    assert desk.run("--new", "--debug") == 2
    assert "Others can write to" in desk.err
