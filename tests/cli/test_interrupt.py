"""Ctrl-C on ``run`` in a real process: the first keeps what was written, the second ends at once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def start(tmp_path: Path, *arguments: str, scenario: str = "endless") -> subprocess.Popen[str]:
    folders = {f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    return subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.program", scenario, *arguments],
        cwd=ROOT,
        env={**folders, "PATH": os.environ["PATH"]},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read(process: subprocess.Popen[str], count: int) -> str:
    assert process.stdout is not None
    return os.read(process.stdout.fileno(), count).decode()


@pytest.mark.timeout(60)
def test_the_first_interrupt_keeps_the_partial_answer(tmp_path: Path) -> None:
    with start(tmp_path, "run", "hi") as process:
        assert "Once upon" in read(process, 9)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert out.endswith(" a time\n")
    assert "Traceback" not in err


@pytest.mark.timeout(60)
def test_an_interrupted_turn_is_still_one_object(tmp_path: Path) -> None:
    with start(tmp_path, "run", "--jsonl", "hi") as process:
        while "text_delta" not in (seen := read(process, 4096)):
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=30)
    events = [json.loads(line) for line in (seen + out).splitlines()]
    assert process.returncode == 130
    assert [event["finish_reason"] for event in events if event["type"] == "step_finished"] == ["cancelled"]
    assert events[-1]["type"] == "turn_finished"


@pytest.mark.timeout(60)
def test_the_second_interrupt_ends_the_process(tmp_path: Path) -> None:
    with start(tmp_path, "run", "hi", scenario="deaf") as process:
        read(process, 9)
        process.send_signal(signal.SIGINT)
        assert process.stderr is not None
        assert process.stderr.readline() == "asked to stop\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == -signal.SIGINT


@pytest.mark.timeout(60)
def test_an_interrupt_stops_a_running_tool_and_the_turn(tmp_path: Path) -> None:
    with start(tmp_path, "run", "--tools", "run_command", "--jsonl", "hi", scenario="working") as process:
        seen = ""
        while "tool_output" not in seen:
            seen += read(process, 4096)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    events = [json.loads(line) for line in (seen + out).splitlines()]
    assert process.returncode == 130
    assert [each["status"] for each in events if each["type"] == "tool_finished"] == ["error"]
    assert (events[-1]["type"], events[-1]["finish_reason"]) == ("turn_finished", "cancelled")
    assert "Traceback" not in err
