"""The log of --debug: what happened and when, and nothing that was said."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from skippy_chat.config import load_settings
from skippy_chat.debug_log import DebugLog
from skippy_chat.events import (
    EVENT_TYPES,
    ApprovalNeeded,
    CacheUse,
    CheckpointFailed,
    Event,
    MissReason,
    Notice,
    ReasoningDelta,
    StepFinished,
    TextDelta,
    Timings,
    ToolCallDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    Usage,
    WorkerDied,
)

SECRET = "my password is hunter2"
SAID: list[Event] = [
    TextDelta(seq=1, text=SECRET), ReasoningDelta(text=SECRET), ToolOutput(call="c1", text=SECRET),
    ToolCallDelta(call="c1", name=SECRET, arguments=SECRET), ToolStarted(call="c1", name=SECRET, arguments=SECRET),
    ApprovalNeeded(text=SECRET, diff=SECRET, why=SECRET, arguments=SECRET, name=SECRET, rules=(SECRET,)),
    ToolFinished(status="ok", name=SECRET, result=SECRET, detail=SECRET, spilled=SECRET),
    StepFinished(
        usage=Usage(10, 4, 6, 2, 12), timings=Timings(prefill_ms=3.5),
        cache=CacheUse("disk", 4, MissReason("diverged", 4, 1, SECRET)), finish_reason="stop",
    ),
]  # fmt: skip


def lines(log: DebugLog) -> list[dict[str, object]]:
    return [json.loads(line) for line in log.path.read_text("utf-8").splitlines()]


def begun(folder: Path, at: int = 1_700_000_000_123, **flags: object) -> DebugLog:
    return DebugLog.begin(folder, load_settings(flags={"system": SECRET, **flags}), now_ms=lambda: at)


def test_kinds_times_and_counts_are_there_and_no_text(tmp_path: Path) -> None:
    log = begun(tmp_path / "logs")
    for event in SAID:
        log.event(event)
    assert SECRET not in log.path.read_text("utf-8")
    assert "hunter2" not in log.path.read_text("utf-8")
    versions, settings, first, *_, last = lines(log)
    assert set(versions["versions"]) >= {"skippy-chat", "python", "llama_cpp_python"}  # type: ignore[call-overload]
    assert settings["settings"]["system"] == "(22 characters)"  # type: ignore[index]
    assert (first["type"], first["seq"], first["text"]) == ("text_delta", 1, "(22 characters)")
    assert last["usage"]["prefilled_tokens"] == 6  # type: ignore[index]
    assert last["timings"]["prefill_ms"] == 3.5  # type: ignore[index]
    assert last["cache"]["miss_reason"]["kind"] == "diverged"  # type: ignore[index]
    assert stat.S_IMODE(log.path.stat().st_mode) == 0o600


def test_what_the_program_itself_says_is_there(tmp_path: Path) -> None:
    log = begun(tmp_path)
    for event in (
        Notice(text="Told."),
        CheckpointFailed(reason="No room."),
        WorkerDied(reason="Killed.", log_tail=("x",)),
    ):
        log.event(event)
    told = lines(log)[2:]
    assert [each.get("text") or each["reason"] for each in told] == ["Told.", "No room.", "Killed."]
    assert told[2]["log_tail"] == ["x"]


def test_debug_text_lets_everything_in(tmp_path: Path) -> None:
    log = begun(tmp_path, debug_text=True)
    for event in SAID:
        log.event(event)
    assert lines(log)[1]["settings"]["system"] == SECRET  # type: ignore[index]
    assert [each.get("text") for each in lines(log)[2:5]] == [SECRET] * 3


@pytest.mark.parametrize("kind", EVENT_TYPES)
def test_every_kind_of_event_can_be_written(tmp_path: Path, kind: str) -> None:
    log = begun(tmp_path)
    log.event(EVENT_TYPES[kind]())
    assert lines(log)[2]["type"] == kind


def test_old_logs_go(tmp_path: Path) -> None:
    for number in range(25):
        begun(tmp_path, at=1_700_000_000_000 + number * 1000)
    kept = sorted(tmp_path.glob("debug-*.jsonl"))
    assert len(kept) == 20
    assert "221324" in kept[0].name or kept[0].name > "debug-20231114-221322"


def test_a_log_that_breaks_off_stops_nothing(tmp_path: Path) -> None:
    log = begun(tmp_path)
    log.path.unlink()
    log.path.mkdir()
    log.event(TextDelta(text="x"))
