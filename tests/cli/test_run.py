"""``skippy-chat run``: what goes to standard output, in which shape, and what does not."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from skippy_chat.agent.protocol import ReplayReport
from skippy_chat.chat.history import History
from skippy_chat.errors import ContextFull
from skippy_chat.events import (
    CheckpointFailed,
    Notice,
    StepFinished,
    ToolCallDelta,
    ToolFinished,
    Usage,
    from_dict,
)
from tests.fakes.conversation import COLD, FakeConversation, Turn
from tests.fakes.host import Broken, Desk, Terminal

HOSTILE = (
    "ok\x1b]52;c;ZXZpbA==\x07",
    "\x1b[2",
    "J\x9b31m",
    "\x07\x85red\x7f\u2028",
    "\x1b]0;title\x1b\\ end",
)
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def test_prints_the_answer_and_nothing_else(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn()])
    assert desk.run("run", "hi") == 0
    assert (desk.out, desk.err) == ("Hello there.\n", "")
    assert desk.conversation.asked == ["hi"]
    assert desk.conversation.closed == 1


def test_an_answer_that_ends_its_line_gets_no_second_break(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(("a\n",))])
    desk.run("run", "hi")
    assert desk.out == "a\n"


def test_reuse_line_only_when_stderr_is_a_terminal(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(), COLD])
    desk.stderr = Terminal()
    desk.run("run", "hi")
    assert desk.err == "reused 1,101 of 1,105 tokens · 0.4 s (from disk) · 47.1 tok/s\n"
    desk.run("run", "hi")
    assert desk.err == "read 1,103 tokens: nothing stored · 8.0 s · 46.0 tok/s\n"


def test_json_is_the_object_of_the_design(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(reasoning=("Hm", "m."))])
    assert desk.run("run", "--json", "hi") == 0
    assert desk.json == {
        "schema": 1,
        "session": "01FAKE",
        "message": "M2",
        "content": "Hello there.",
        "reasoning": "Hmm.",
        "finish_reason": "stop",
        "steps": [
            {
                "prompt_tokens": 1105,
                "cached_tokens": 1101,
                "prefilled_tokens": 4,
                "generated_tokens": 12,
                "context_tokens": 1117,
                "cache": {
                    "source": "disk",
                    "restored_position": 1101,
                    "miss_reason": None,
                    "diverged_at": None,
                },
                "timings": {
                    "restore_ms": 300.0,
                    "prefill_ms": 90.0,
                    "first_token_ms": 400.0,
                    "decode_ms": 250.0,
                    "tokens_per_second": 47.06,
                },
                "tool_calls": [],
                "finish_reason": "stop",
            }
        ],
        "usage": {
            "prompt_tokens": 1105,
            "cached_tokens": 1101,
            "prefilled_tokens": 4,
            "generated_tokens": 12,
        },
        "model": {
            "name": "fake-135m",
            "sha256": "ab" * 32,
            "kind": "hybrid",
            "architecture": "falcon-h1",
        },
    }
    assert desk.out.count("\n") == 1


def test_json_keeps_each_step_its_tools_and_answers_with_the_last(desk: Desk) -> None:
    first = (
        ToolCallDelta(call="c1", name="read", arguments='{"path": '),
        ToolCallDelta(call="c1", arguments='"a.txt"}'),
        StepFinished(usage=Usage(10, 0, 10, 5, 15), finish_reason="tool_calls"),
        ToolFinished(call="c1", status="ok", result="text of a"),
    )
    desk.conversation = FakeConversation([Turn(("done",), extra=first)])
    desk.run("run", "--json", "hi")
    one, two = desk.json["steps"]
    assert one["finish_reason"] == "tool_calls"
    assert one["tool_calls"] == [
        {"id": "c1", "name": "read", "arguments": {"path": "a.txt"}, "status": "ok", "result": "text of a"}
    ]
    assert two["tool_calls"] == []
    assert desk.json["content"] == "done"


def test_jsonl_prints_every_event_in_order(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn()])
    assert desk.run("run", "--jsonl", "hi") == 0
    events = [from_dict(json.loads(line)) for line in desk.out.splitlines()]
    assert [event.type for event in events] == [
        "turn_started",
        "prefill_started",
        "prefill_progress",
        "text_delta",
        "text_delta",
        "step_finished",
        "turn_finished",
    ]


@pytest.mark.parametrize(
    ("arguments", "piped", "sent"),
    [
        (["run", "hi"], "", "hi"),
        (["run"], "from a pipe\n", "from a pipe"),
        (["run", "-"], "from a pipe\n", "from a pipe"),
        (["run", "Summarise:"], "line 1\r\nline 2\n", "Summarise:\n\nline 1\nline 2"),
    ],
)
def test_prompt_and_standard_input_are_joined(
    desk: Desk, arguments: list[str], piped: str, sent: str
) -> None:
    desk.conversation = FakeConversation([Turn()])
    desk.stdin = io.StringIO(piped)
    assert desk.run(*arguments) == 0
    assert desk.conversation.asked == [sent]


def test_no_prompt_is_wrong_use_and_opens_nothing(desk: Desk) -> None:
    assert desk.run("run") == 2
    desk.stdin = io.StringIO(" \n")
    assert desk.run("run") == 2
    assert desk.opened == []


def test_standard_input_that_is_not_text_is_refused(desk: Desk) -> None:
    desk.stdin = io.TextIOWrapper(io.BytesIO(b"ab\xff"), encoding="utf-8")
    assert desk.run("run") == 2
    assert "not UTF-8 text (byte 2)" in desk.err


@pytest.mark.parametrize("shape", [[], ["--json"], ["--jsonl"]])
def test_hostile_text_never_reaches_the_terminal(desk: Desk, shape: list[str]) -> None:
    noise = (Notice(level="warning", text="\x1b[2Jnote\x07"), CheckpointFailed(reason="\x9b2Jdisk"))
    desk.conversation = FakeConversation([Turn(HOSTILE, extra=noise)])
    assert desk.run("run", *shape, "hi") == 0
    assert CONTROL.search(desk.out) is None
    assert CONTROL.search(desk.err) is None
    assert "note" in desk.err
    if shape == ["--json"]:
        assert desk.json["content"] == "".join(HOSTILE)
    elif not shape:
        assert desk.out == "okred\u2028 end\n"


def test_json_survives_lone_surrogates(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(("\ud800é",))])
    desk.run("run", "--json", "hi")
    desk.out.encode("utf-8")
    assert desk.json["content"] == "\ud800é"


@pytest.mark.parametrize("shape", [[], ["--json"], ["--jsonl"]])
def test_a_broken_pipe_is_quiet_and_the_turn_is_read_to_its_end(desk: Desk, shape: list[str]) -> None:
    desk.conversation = FakeConversation([Turn()])
    desk.stdout = Broken()
    assert desk.run("run", *shape, "hi") == 1
    assert desk.err == ""
    assert desk.conversation.ended == 1
    assert desk.conversation.closed == 1
    assert desk.conversation.cancels == (0 if shape == ["--json"] else 1)


def test_the_line_is_completed_before_an_error_is_told(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(("half",), fails=ContextFull("Full by 12 tokens.", "Fork."))])
    assert desk.run("run", "hi") == 4
    assert desk.out == "half\n"
    assert desk.err == "skippy-chat: Full by 12 tokens. Fork.\n"


@pytest.mark.parametrize(
    ("reason", "code", "said"),
    [
        ("stop", 0, ""),
        ("length", 0, "token limit"),
        ("context_full", 4, "context is full"),
        ("cancelled", 130, "interrupted"),
        ("error", 1, "broke off"),
    ],
)
def test_how_an_answer_ended_is_the_exit_code(desk: Desk, reason: str, code: int, said: str) -> None:
    desk.conversation = FakeConversation([Turn(finish_reason=reason)])  # type: ignore[arg-type]
    assert desk.run("run", "hi") == code
    assert said in desk.err
    assert bool(desk.err) == bool(said)


def store(desk: Desk, title: str = "demo", **settings: object) -> str:
    """Store a session, as an earlier run would have."""
    with History.open(desk.root / "data" / "history.db", now=lambda: 1) as history:
        return history.create_session(folder=desk.root, title=title, settings=settings).id


REPORT = ReplayReport("M2", 132, same_ids=True, first_difference=None)
DIFFERENT = ReplayReport("M2", 132, same_ids=False, first_difference=17)


def test_replay_prints_its_report(desk: Desk) -> None:
    stored = store(desk)
    desk.conversation = FakeConversation([Turn()], report=REPORT)
    assert desk.run("run", "--replay", "--session", "demo", "--message", "M2") == 0
    assert desk.out == "Replay of M2: 132 tokens compared, the same ids.\n"
    assert desk.conversation.asked == ["replay M2"]
    assert desk.opened[0]["session"] == stored
    assert desk.opened[0]["settings"].replay is False


def test_a_replay_that_differs_exits_1(desk: Desk) -> None:
    store(desk)
    desk.conversation = FakeConversation([Turn()], report=DIFFERENT)
    assert desk.run("run", "--replay", "--session", "demo", "--json") == 1
    assert desk.json["schema"] == 1
    assert desk.json["replay"] == {
        "message": "M2",
        "compared_tokens": 132,
        "same_ids": False,
        "first_difference": 17,
    }
    assert desk.json["steps"][0]["prompt_tokens"] == 1105


def test_replay_events_end_with_the_report(desk: Desk) -> None:
    store(desk)
    desk.conversation = FakeConversation([Turn()], report=REPORT)
    assert desk.run("run", "--replay", "--continue", "--jsonl") == 0
    lines = [json.loads(line) for line in desk.out.splitlines()]
    assert [line["type"] for line in lines] == ["step_finished", "replay_report"]
    assert lines[-1]["same_ids"] is True


def test_a_replay_needs_a_session_that_exists(desk: Desk) -> None:
    store(desk)
    assert desk.run("run", "--replay", "--session", "dmo") == 1
    assert "demo" in desk.err
    assert desk.run("run", "--replay") == 1
    assert desk.opened == []


def test_replay_with_a_prompt_is_a_turn_in_replay_mode(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn()])
    assert desk.run("run", "--replay", "hi") == 0
    assert desk.opened[0]["settings"].replay is True
    assert desk.conversation.asked == ["hi"]


def test_message_goes_only_with_a_replay(desk: Desk) -> None:
    assert desk.run("run", "--message", "M2", "hi") == 2


def test_options_stand_before_or_after_the_command_and_the_later_wins(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn()])
    code = desk.run(
        "--temperature", "0.5", "--threads", "2", "-c", "top_k=3",
        "run", "--temperature", "0", "-c", "top_p=0.5", "--no-cache", "--reasoning", "off", "hi",
    )  # fmt: skip
    assert code == 0
    settings = desk.opened[0]["settings"]
    assert (settings.temperature, settings.threads, settings.cache, settings.reasoning) == (
        0,
        2,
        False,
        False,
    )
    assert (settings.top_k, settings.top_p) == (3, 0.5)


def test_a_flag_that_nobody_typed_leaves_the_session_its_own(desk: Desk) -> None:
    stored = store(desk, temperature=0.25, max_tokens=7)
    desk.conversation = FakeConversation([Turn()])
    desk.run("run", "--session", "demo", "--max-tokens", "9", "hi")
    settings = desk.opened[0]["settings"]
    assert (settings.temperature, settings.max_tokens) == (0.25, 9)
    assert (desk.opened[0]["session"], desk.opened[0]["new"]) == (stored, False)


def test_which_session_is_opened(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn(), Turn(), Turn()])
    desk.run("run", "hi")
    assert (desk.opened[-1]["session"], desk.opened[-1]["new"]) == (None, True)
    desk.run("run", "--session", "fresh", "hi")
    assert (desk.opened[-1]["session"], desk.opened[-1]["new"]) == ("fresh", False)
    stored = store(desk)
    desk.run("run", "--continue", "hi")
    assert (desk.opened[-1]["session"], desk.opened[-1]["new"]) == (stored, False)
    assert desk.opened[-1]["folder"] == desk.root


def test_sessions_that_cannot_be_meant(desk: Desk) -> None:
    assert desk.run("run", "--continue", "hi") == 1
    assert desk.run("run", "--continue", "--session", "demo", "hi") == 2
    assert desk.run("run", "--session", " ", "hi") == 2
    store(desk)
    assert desk.run("run", "--session", "demo", "--new", "hi") == 2
    assert desk.opened == []


def test_the_workspace_is_the_git_root(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    desk.conversation = FakeConversation([Turn(), Turn()])
    host_folder, desk.root = desk.root, below
    desk.run("run", "hi")
    assert desk.opened[-1]["folder"] == host_folder
    desk.run("run", "--workspace", str(below), "hi")
    assert desk.opened[-1]["folder"] == below
    assert desk.run("run", "--workspace", str(tmp_path / "none"), "hi") == 2


def test_a_system_prompt_from_a_file(desk: Desk) -> None:
    (desk.root / "persona.txt").write_text("Be brief.\n", encoding="utf-8")
    desk.conversation = FakeConversation([Turn()])
    desk.run("run", "--system", f"@{desk.root / 'persona.txt'}", "hi")
    assert desk.opened[0]["settings"].system == "Be brief."
    assert desk.run("run", "--system", "@/no/such/file", "hi") == 2
    assert "/no/such/file" in desk.err
