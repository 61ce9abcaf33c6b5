"""Calls of tools in the REPL: while they are written, while they run, and their results, in every mode."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable

import pytest

from tests.repl.conftest import Open
from tests.repl.test_approval import MODES, asked, enter, joined

pytestmark = pytest.mark.timeout(180)

CTRL_C, ESC = "\x03", "\x1b"
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
PROMPT = re.compile(r"^(?:>|You:)(?: |$)", re.MULTILINE)
Pipe = Callable[[str, str], "subprocess.CompletedProcess[str]"]


def test_calls_and_results(tools: Open) -> None:
    screen = tools("reads")
    screen.wait_for_prompt(1)
    screen.type("look\r")
    screen.wait_for_prompt(2)
    assert (
        '→ read_file {"path": "a.txt"}\n→ calculator {}\n'
        "✓ read_file · 2 lines, 8 B\n✓ calculator · 4\nIt has two lines.\n"
        "reused 2,202 of 2,210 tokens · 0.8 s (from disk) · 47.1 tok/s\n"
    ) in screen.text


def test_calls_and_results_in_words(tool_pipe: Pipe) -> None:
    done = tool_pipe("reads", "look\n")
    assert (
        'You: look\nCall: read_file {"path": "a.txt"}\nCall: calculator {}\n'
        "read_file gave 2 lines, 8 B.\ncalculator gave 4.\nAssistant: It has two lines.\n"
        "Reused 2,202 of 2,210 tokens from disk, in 0.8 seconds."
    ) in done.stdout
    assert done.returncode == 0


def test_what_is_said_between_calls_has_its_role_each_time(tool_pipe: Pipe) -> None:
    done = tool_pipe("thinks", "look\n")
    assert (
        'Reasoning: I must look.\nAssistant: I look.\nCall: read_file {"path": "a.txt"}\n'
        "read_file gave done.\nReasoning: It worked.\nAssistant: Done.\n"
    ) in done.stdout


def test_long_output_is_bounded_and_what_is_left_out_counted(tools: Open) -> None:
    screen = tools("talks")
    screen.wait_for_prompt(1)
    screen.type("go\r")
    screen.wait_for_prompt(2)
    rows = [f"│ line {number}" for number in range(8)]
    rows += ["│ … 19 lines not shown …", "│ line 27", "│ line 28", "│ line 29", "│ 100%"]
    assert "\n".join([*rows, "✓ run_command · done · all of it: out/c1.txt"]) in screen.text
    # In between, the newest line shows in place.
    assert "│ line 20".encode() in screen.raw
    assert "line 20" not in screen.text


def test_long_output_in_words(tool_pipe: Pipe) -> None:
    done = tool_pipe("talks", "go\n")
    assert "Output: line 7\nOutput: … 19 lines not shown …\nOutput: line 27\n" in done.stdout
    assert "run_command gave done. All of it is in out/c1.txt\n" in done.stdout
    assert CONTROL.search(done.stdout) is None


def test_a_long_call_is_one_row(tools: Open) -> None:
    screen = tools("wide")
    screen.wait_for_prompt(1)
    screen.resize(24, 40)
    screen.type("go\r")
    text = screen.wait_for("So.")
    row = next(line for line in text.splitlines() if line.startswith("→"))
    assert row == '→ write_file {"text": "0 words 1 word…'
    assert "✓ write_file" in text.split(row)[1].splitlines()[1]


def test_a_call_that_cannot_be_used_says_why(tools: Open) -> None:
    screen = tools("unusable")
    screen.wait_for_prompt(1)
    screen.type("go\r")
    text = screen.wait_for("So.")
    assert '✗ red_file · failed: There is no tool "red_file".' in text


def test_a_diff_nobody_was_asked_about_is_shown_with_the_result(tools: Open) -> None:
    screen = tools("wrote")
    screen.wait_for_prompt(1)
    screen.type("go\r")
    assert "│ -old\n│ +new\n✓ write_file" in screen.wait_for("So.")


@pytest.mark.parametrize(("arguments", "key"), [*((mode, CTRL_C) for mode in MODES), (MODES[0], ESC)])
def test_a_stop_key_while_a_tool_runs(tools: Open, arguments: tuple[str, ...], key: str) -> None:
    screen = tools("runs", *arguments)
    screen.wait_for(lambda text: text.splitlines()[-1:] in ([">"], ["You:"]))
    screen.type("go" + enter(arguments))
    screen.wait_for("started")
    screen.type(key)
    text = joined(screen.wait_for("/continue goes on from here."))
    assert "This call was interrupted while it ran; it may have had effects." in text
    assert "Stopped;" in text
    screen.wait_for(lambda text: text.splitlines()[-1] in {">", "You:"})
    screen.type("/continue" + enter(arguments))
    screen.wait_for("After.")


def test_a_turn_that_ended_at_a_limit_can_go_on(tools: Open) -> None:
    screen = tools("limit")
    screen.wait_for_prompt(1)
    screen.type("go\r")
    screen.wait_for("Stopped at the limit. It can go on.\n/continue goes on from here.")
    screen.wait_for_prompt(2)
    screen.type("/continue\r")
    screen.wait_for("Now done.")


def test_in_a_pipe_nothing_is_asked_and_what_would_ask_is_denied(tool_pipe: Pipe) -> None:
    done = tool_pipe("asks", "go\ny\n")
    assert "[y]es" not in done.stdout + done.stderr
    reason = "It needs approval, and nobody can be asked here."
    assert done.stderr == f"decided: c1 no once {reason!r}\n"
    assert f"run_command denied: The person denied this call: {reason}\n" in done.stdout
    assert "You: y\nAssistant: After." in done.stdout
    assert done.returncode == 0


def test_commands(tools: Open) -> None:
    screen = tools("reads")
    screen.wait_for_prompt(1)
    screen.type("/tools\r")
    screen.wait_for(
        "calculator   runs at once  Evaluate arithmetic.\nrun_command  asks first    Run a command."
    )
    screen.wait_for_prompt(2)
    screen.type("/result\r")
    screen.wait_for("No tool has given a result yet.")
    screen.wait_for_prompt(3)
    screen.type("look\r")
    screen.wait_for_prompt(4)
    screen.type("/result 1\r")
    screen.wait_for("\none\ntwo\n")
    screen.wait_for_prompt(5)
    screen.type("/history\r")
    screen.wait_for(
        'Assistant: → read_file(path="a.txt")\n→ calculator()\n\nTool 1: ✓ one\ntwo\n\n\nTool 2: ✓ 4'
    )
    screen.wait_for_prompt(6)
    screen.type("/undo\r")
    screen.wait_for("Put back: notes/a.txt\nRemoved: b")
    screen.wait_for_prompt(7)
    screen.type("/undo\r")
    screen.wait_for("skippy-chat: No turn of this branch wrote files.")
    screen.wait_for_prompt(8)
    screen.type("/help\r")
    text = screen.wait_for("/continue")
    assert "/undo" in text


def test_hostile_text_never_reaches_a_terminal(tools: Open) -> None:
    for arguments, env in ((("repl",), {}), (("repl",), {"NO_COLOR": "1"}), (("repl", "--plain"), {})):
        screen = tools("hostile", *arguments, **env)
        screen.wait_for(lambda text: text.splitlines()[-1:] in ([">"], ["You:"]))
        screen.type("go" + enter(arguments))
        text = joined(asked(screen))
        assert "⟪U+001B⟫]52;c;ZXZpbA==⟪U+0007⟫" in text.replace(" ", "").replace("┆", "").replace(":⟪", "⟪")
        screen.type("y" + enter(arguments))
        screen.wait_for("ok")
        for count, command in enumerate(("/history", "/result 1", "/tools", "/branch", "/undo"), 2):
            screen.wait_for(lambda text, count=count: len(PROMPT.findall(text)) == count)  # type: ignore[misc]
            screen.type(command + enter(arguments))
        screen.wait_for("Put back:")
        raw = screen.raw.decode()
        for evil in ("\x1b]52", "\x1b]0", "\x1b[2J", "\x1b[31m", "\x9b", "\x85", "\x07"):
            assert evil not in raw, (arguments, env, evil)
        about_calls = [line for line in raw.split("/history")[0].splitlines() if "ok" not in line]
        assert len(about_calls) > 10
        assert not [line for line in about_calls if "\u202e" in line]
        if "--plain" in arguments:
            assert "\x1b" not in raw


def test_hostile_text_in_a_pipe(tool_pipe: Pipe) -> None:
    done = tool_pipe("hostile", "go\n/history\n/result 1\n/tools\n/branch\n/undo\n")
    assert CONTROL.search(done.stdout) is None
    assert "run denied" in done.stdout
