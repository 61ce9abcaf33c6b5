"""What tools print: live output of their call where a face is open, and never in that face's own output."""

from __future__ import annotations

import dataclasses
import io
import sys
import threading
from pathlib import Path

import pytest

from skippy_chat.agent.tools.function import tool
from skippy_chat.agent.tools.loader import load_tools
from skippy_chat.agent.tools.printing import prints_apart
from skippy_chat.agent.tools.protocol import ToolContext


@tool(read_only=True)
def chatty() -> str:
    """Print, and return."""
    print("\x1b[2Jone", "two")
    sys.stdout.writelines(["three\n"])
    sys.stdout.flush()
    print("four", file=sys.stderr)
    return "done"


def captured(monkeypatch: pytest.MonkeyPatch) -> tuple[io.StringIO, io.StringIO]:
    """Put streams in place within the test: pytest has its own between a fixture and this."""
    out, err = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    return out, err


def test_prints_are_live_output_of_the_call(context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    streams = captured(monkeypatch)
    emitted: list[str] = []
    with prints_apart():
        result = chatty.run({}, dataclasses.replace(context, emit=emitted.append))
    assert "".join(emitted) == "\x1b[2Jone two\nthree\nfour\n"
    assert (result.status, result.text) == ("ok", "done")
    assert [each.getvalue() for each in streams] == ["", ""]
    assert (sys.stdout, sys.stderr) == streams


def test_what_others_print_meanwhile_goes_where_it_went(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = captured(monkeypatch)
    started, told = threading.Event(), threading.Event()

    @tool(read_only=True)
    def waiting() -> str:
        """Wait."""
        started.set()
        assert told.wait(10)
        print("mine")
        return ""

    emitted: list[str] = []
    with prints_apart():
        running = threading.Thread(
            target=waiting.run, args=({}, dataclasses.replace(context, emit=emitted.append))
        )
        running.start()
        assert started.wait(10)
        print("the face's own")
        told.set()
        running.join(10)
    assert streams[0].getvalue() == "the face's own\n"
    assert "".join(emitted) == "mine\n"


def test_without_a_face_prints_go_where_the_script_says(
    context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = captured(monkeypatch)
    emitted: list[str] = []
    chatty.run({}, dataclasses.replace(context, emit=emitted.append))
    assert streams[0].getvalue() == "\x1b[2Jone two\nthree\n"
    assert emitted == []


def test_streams_that_were_put_in_their_place_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    captured(monkeypatch)
    other = io.StringIO()
    with prints_apart():
        sys.stdout = other
    assert sys.stdout is other


def test_a_closed_stream_stays_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with prints_apart():
        print("nowhere")
        assert sys.stdout is None


def test_a_tools_file_that_prints_leaves_standard_output_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams = captured(monkeypatch)
    file = tmp_path / "mine.py"
    file.write_text(
        "from skippy_chat import tool\nprint('loading')\n\n\n@tool\ndef f() -> str:\n    '''Do.'''\n    return ''\n"
    )
    assert [each.name for each in load_tools(file)] == ["f"]
    assert [each.getvalue() for each in streams] == ["", "loading\n"]
