"""Commands: live output, and nothing of them left when the call is over, however it ends."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent.tools.protocol import Limits, ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.agent.tools.sandbox import find_bubblewrap, sandboxed

LINUX = sys.platform.startswith("linux")
ROOT = Path(__file__).parents[3]


def run(registry: Registry, context: ToolContext, command: str, **more: Any) -> ToolResult:
    return registry.run("run_command", json.dumps({"command": command, **more}), context)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    # A process that ended and was not collected yet still has its number.
    stat = Path(f"/proc/{pid}/stat")
    try:
        return not stat.parent.parent.is_dir() or stat.read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    """Wait for another process to do something; its end is no event this process could wait for."""
    until = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        threading.Event().wait(0.02)


def test_output_and_exit_code(registry: Registry, context: ToolContext, workspace: Path) -> None:
    good = run(registry, context, "pwd; echo out; echo err >&2")
    assert good == ToolResult("ok", f"{workspace}\nout\nerr")
    assert run(registry, context, "true").text == "[done, without output]"
    bad = run(registry, context, "echo no; exit 3")
    assert (bad.status, bad.text) == ("error", "no\n[exit code 3]")
    assert run(registry, context, "kill -9 $$").text == "[ended by SIGKILL]"


def test_standard_input_is_empty(registry: Registry, context: ToolContext) -> None:
    assert run(registry, context, "cat; read x; echo $?").text == "1"


def test_output_comes_live(registry: Registry, context: ToolContext, workspace: Path) -> None:
    """The first line is there while the command still waits for what the test does upon it."""
    os.mkfifo(workspace / "go")
    seen: list[str] = []

    def emit(text: str) -> None:
        seen.append(text)
        if "first" in text:
            (workspace / "go").write_text("second\n")

    result = run(
        registry,
        dataclasses.replace(context, emit=emit),
        "echo first; cat go; printf '\\303'; printf '\\251'",
    )
    assert result.text == "first\nsecond\né"
    assert "".join(seen) == "first\nsecond\né"


def test_escape_sequences_do_not_reach_the_model(registry: Registry, context: ToolContext) -> None:
    assert run(registry, context, r"printf '\033[31mred\033[0m\n'").text == "red"


def test_a_timeout_ends_the_whole_group(registry: Registry, context: ToolContext, workspace: Path) -> None:
    """codex#5256: the wrapper was killed and its child lived on."""
    started = time.monotonic()
    result = run(registry, context, "sh -c 'echo $$ > pid; trap \"\" TERM; sleep 600' & wait", timeout=5)
    assert time.monotonic() - started < 60
    assert "stopped after 5 seconds" in result.text
    assert result.status == "error"
    assert not is_running(int((workspace / "pid").read_text()))


@pytest.mark.skipif(not LINUX, reason="only Linux gives orphans back to the keeper")
def test_a_daemon_that_leaves_its_group_is_ended_too(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    daemon = (
        "import os, time\nif os.fork(): os._exit(0)\nos.setsid()\nif os.fork(): os._exit(0)\n"
        "open('pid.tmp', 'w').write(str(os.getpid())); os.rename('pid.tmp', 'pid')\n"
        "os.close(0); os.close(1); os.close(2)\ntime.sleep(600)\n"
    )
    (workspace / "daemon.py").write_text(daemon)
    result = run(
        registry, context, f"{sys.executable} daemon.py; while [ ! -f pid ]; do sleep 0.05; done; echo end"
    )
    assert result.text == "end\n[processes it left in the background were ended]"
    assert not is_running(int((workspace / "pid").read_text()))


def test_a_background_job_does_not_hold_the_call(registry: Registry, context: ToolContext) -> None:
    started = time.monotonic()
    result = run(registry, context, "sleep 600 & echo $!")
    assert time.monotonic() - started < 60
    assert "in the background were ended" in result.text
    assert not is_running(int(result.text.splitlines()[0]))


def test_cancel_ends_it(registry: Registry, context: ToolContext) -> None:
    seen: list[str] = []

    def emit(text: str) -> None:
        seen.append(text)
        context.cancel.set()

    result = run(registry, dataclasses.replace(context, emit=emit), "echo $$; sleep 600")
    assert result.text.endswith("[cancelled, with all it started]")
    assert not is_running(int("".join(seen)))


PARENT = """
import datetime, pathlib, sys
from skippy_chat.agent.tools.built_in import built_in_tools
from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.protocol import ToolContext
from skippy_chat.agent.tools.registry import Registry
root = pathlib.Path(sys.argv[1])
context = ToolContext(PathGate(root), root, {"PATH": "/usr/bin:/bin"}, datetime.datetime.now)
Registry(built_in_tools(["run_command"])).run(
    "run_command", '{"command": "echo $$ > pid.tmp; mv pid.tmp pid; trap : TERM; sleep 600; sleep 600"}', context
)
"""


def test_a_killed_parent_leaves_nothing_behind(workspace: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(workspace)], cwd=ROOT)
    try:
        wait_until(lambda: (workspace / "pid").exists() or parent.poll() is not None)
        pid = int((workspace / "pid").read_text())
        assert is_running(pid)
    finally:
        parent.send_signal(signal.SIGKILL)
        parent.wait()
    wait_until(lambda: not is_running(pid))


def test_more_output_than_allowed_stops_it(registry: Registry, context: ToolContext) -> None:
    limits = Limits(spill_bytes=1 << 20)
    result = run(registry, dataclasses.replace(context, limits=limits), "yes")
    assert "more than 1,048,576 bytes of output" in result.text
    assert len(result.text) < 42_000
    assert result.spilled is not None
    assert (1 << 20) <= result.spilled.stat().st_size < (2 << 20)


def test_long_output_is_kept_in_a_file_that_the_text_names(registry: Registry, context: ToolContext) -> None:
    context = dataclasses.replace(context, call="call_7/../x")
    result = run(registry, context, "seq 1 100000")
    assert result.status == "ok"
    assert result.text.startswith("1\n2\n")
    assert result.text.endswith("99999\n100000")
    assert len(result.text.encode()) < 41 * 1024
    assert result.spilled is not None
    assert str(result.spilled) in result.text
    assert result.spilled.parent == context.output_folder
    assert result.spilled.read_text() == "".join(f"{each}\n" for each in range(1, 100_001))
    assert result.spilled.stat().st_mode & 0o077 == 0


@pytest.mark.skipif(not LINUX, reason="only Linux keeps to the limit")
def test_memory_is_limited(registry: Registry, context: ToolContext) -> None:
    limits = Limits(memory_bytes=256 << 20)
    context = dataclasses.replace(context, limits=limits)
    result = run(registry, context, f"{sys.executable} -c 'x = bytearray(1 << 30)'")
    assert "MemoryError" in result.text
    assert run(registry, context, f"{sys.executable} -c 'x = bytearray(1 << 20)'").status == "ok"


def test_secrets_are_not_in_the_environment(registry: Registry, context: ToolContext) -> None:
    environment = {
        **context.environment,
        "GITHUB_TOKEN": "x",
        "MY_API_KEY": "x",
        "AWS_PROFILE": "x",
        "db_password": "x",
        "SSH_AUTH_SOCK": "x",
        "PLAIN": "https://user:hunter2@example.org/",
        "INNOCENT": "yes",
        "WANTED_TOKEN": "let through",
    }
    context = dataclasses.replace(
        context, environment=environment, pass_variables=frozenset({"WANTED_TOKEN"})
    )
    names = {each.partition("=")[0] for each in run(registry, context, "env").text.splitlines()}
    assert {"INNOCENT", "WANTED_TOKEN", "PATH"} <= names
    assert not names & {
        "GITHUB_TOKEN",
        "MY_API_KEY",
        "AWS_PROFILE",
        "db_password",
        "SSH_AUTH_SOCK",
        "PLAIN",
    }


def test_what_cannot_be_a_command_line_is_refused(registry: Registry, context: ToolContext) -> None:
    for command in ("", "  ", "a\0b", "\ud800"):
        assert run(registry, context, command).status == "error"
    assert "could not be run" in run(registry, context, "x" * 200_000).text


# The sandbox.


def test_the_sandbox_has_the_workspace_the_system_and_nothing_else(workspace: Path) -> None:
    line = sandboxed(Path("/usr/bin/bwrap"), workspace, ["/bin/sh", "-c", "id"])
    assert line[0] == "/usr/bin/bwrap"
    assert line[-4:] == ["--", "/bin/sh", "-c", "id"]
    assert "--unshare-all" in line
    assert "--share-net" not in line
    assert "--die-with-parent" in line
    writable = [line[at + 1] for at, each in enumerate(line) if each == "--bind"]
    assert writable == [str(workspace)]
    readable = [line[at + 1] for at, each in enumerate(line) if each == "--ro-bind-try"]
    assert "/home" not in readable
    assert "/" not in readable
    assert f"{workspace}/.git/hooks" in readable


def test_without_bubblewrap_nothing_runs(registry: Registry, context: ToolContext, workspace: Path) -> None:
    context = dataclasses.replace(context, sandbox=True, bubblewrap=None)
    result = run(registry, context, "touch ran")
    assert "bubblewrap" in result.text
    assert result.status == "error"
    assert not (workspace / "ran").exists()
    assert find_bubblewrap({"PATH": str(workspace)}) is None


@pytest.fixture
def sandboxed_context(context: ToolContext, registry: Registry) -> ToolContext:
    bubblewrap = find_bubblewrap(os.environ)
    if bubblewrap is None:
        pytest.skip("bubblewrap is not installed")
    found = dataclasses.replace(context, sandbox=True, bubblewrap=bubblewrap)
    if run(registry, found, "true").status != "ok":
        pytest.skip("this machine lets nobody make namespaces")
    return found


def test_in_the_sandbox_only_the_workspace_can_be_written(
    registry: Registry, sandboxed_context: ToolContext, workspace: Path, outside: Path
) -> None:
    (workspace / ".git" / "hooks").mkdir(parents=True)
    result = run(
        registry,
        sandboxed_context,
        f"echo in > made; cat {outside}/secret.txt; echo x > /usr/x; echo x > .git/hooks/pre-commit; ls /home; true",
    )
    assert (workspace / "made").read_text() == "in\n"
    assert "SECRET" not in result.text
    assert result.text.count("No such file") >= 2
    assert result.text.count("Read-only file system") == 2


def test_a_sandbox_that_goes_away_is_no_job_left_behind(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    # Stands in for bubblewrap where that is missing: it leaves a process of its own for a moment, as bubblewrap does.
    program = workspace / "bwrap"
    program.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nsleep 600 &\nexec "$@"\n')
    program.chmod(0o755)
    found = dataclasses.replace(context, sandbox=True, bubblewrap=program)
    assert run(registry, found, "echo done").text == "done"


def test_in_the_sandbox_what_happened_is_all_that_is_told(
    registry: Registry, sandboxed_context: ToolContext, workspace: Path
) -> None:
    (workspace / ".skippy-chat.toml").write_text("top_k = 3\n")
    result = run(
        registry, sandboxed_context, "echo x > .skippy-chat.toml || echo kept; sleep 600 & echo done"
    )
    assert result.text.splitlines()[1:] == ["kept", "done"]
    assert "Read-only" in result.text
    assert (workspace / ".skippy-chat.toml").read_text() == "top_k = 3\n"


def test_in_the_sandbox_there_is_no_network(registry: Registry, sandboxed_context: ToolContext) -> None:
    result = run(registry, sandboxed_context, "cat /proc/net/dev; exec 2>&1")
    assert [each.split(":")[0].strip() for each in result.text.splitlines() if ":" in each] == ["lo"]


def test_a_timeout_ends_the_sandbox_too(
    registry: Registry, sandboxed_context: ToolContext, workspace: Path
) -> None:
    result = run(registry, sandboxed_context, "echo begun; sleep 600", timeout=5)
    assert result.text == "begun\n[stopped after 5 seconds, with all it started]"
