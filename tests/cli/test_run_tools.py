"""``skippy-chat run`` with tools: the calls in each shape, what a pipe gets, who is asked, and how it ends."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest

from skippy_chat.agent import opening
from skippy_chat.agent.opening import ConversationOptions
from skippy_chat.agent.protocol import ToolInfo, TurnOptions
from skippy_chat.chat.history import History
from skippy_chat.cli.host import process_host
from skippy_chat.config import Settings
from skippy_chat.events import ToolFinished, from_dict
from skippy_chat.paths import Paths
from tests.fakes.conversation import Call, FakeConversation, Question, Step, Turn
from tests.fakes.host import Broken, Desk, Terminal

READ = ToolInfo("read_file", "Read a text file.", "allow")
DENIED = Call("c2", "run_command", ('{"command": "rm -rf x"}',), question=Question())
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def talking(*turns: Turn) -> FakeConversation:
    conversation = FakeConversation(turns)
    conversation.offered = (READ,)
    return conversation


def looking(*calls: Call, said: tuple[str, ...] = ()) -> Turn:
    return Turn(("It says", " hello."), steps=(Step(calls, said),))


def test_json_has_each_steps_calls_with_their_results(desk: Desk) -> None:
    bad = Call("c3", "read_fil", ("{not json",), status="error", result="There is no tool.", usable=False)
    desk.conversation = talking(looking(Call("c1", result="hello"), DENIED, bad, said=("Let me look.",)))
    assert desk.run("run", "--tools", "read_file", "--json", "hi") == 0
    one, two = desk.json["steps"]
    assert one["tool_calls"] == [
        {"id": "c1", "name": "read_file", "arguments": {"path": "a.txt"}, "status": "ok", "result": "hello"},
        {
            "id": "c2",
            "name": "run_command",
            "arguments": {"command": "rm -rf x"},
            "status": "denied",
            "result": "The person denied this call: Nobody can be asked here.",
        },
        {
            "id": "c3",
            "name": "read_fil",
            "arguments": "{not json",
            "status": "error",
            "result": "There is no tool.",
        },
    ]
    assert (one["finish_reason"], two["finish_reason"], two["tool_calls"]) == ("tool_calls", "stop", [])
    assert (desk.json["content"], desk.json["finish_reason"]) == ("It says hello.", "stop")
    assert desk.json["usage"]["prompt_tokens"] == 2 * 1105
    for step in desk.json["steps"]:
        assert step["cached_tokens"] + step["prefilled_tokens"] == step["prompt_tokens"]


def test_a_pipe_gets_the_answer_alone_and_calls_are_told_beside_it(desk: Desk) -> None:
    desk.conversation = talking(looking(Call("c1", result="hello"), DENIED, said=("Let me ", "look.")))
    assert desk.run("run", "--tools", "read_file", "hi") == 0
    assert desk.out == "It says hello.\n"
    assert desk.err.splitlines() == [
        "Let me look.",
        '→ read_file(path="a.txt")',
        "✓ read_file · hello",
        '→ run_command(command="rm -rf x")',
        "⊘ run_command · denied: The person denied this call: Nobody can be asked here.",
    ]
    assert [each.allowed for each in desk.conversation.decisions] == [False]


def test_a_terminal_gets_everything_as_it_comes(desk: Desk) -> None:
    desk.stdout = Terminal()
    desk.conversation = talking(looking(Call("c1"), said=("Let me look.",)))
    desk.run("run", "--tools", "read_file", "hi")
    assert desk.out == "Let me look.\nIt says hello.\n"
    assert "Let me look." not in desk.err


def test_jsonl_prints_the_events_of_the_loop(desk: Desk) -> None:
    desk.conversation = talking(looking(Call("c1", output=("1", "2"), detail="d", spilled="/s")))
    assert desk.run("run", "--tools", "read_file", "--jsonl", "hi") == 0
    events = [from_dict(json.loads(line)) for line in desk.out.splitlines()]
    kinds = [each.type for each in events]
    assert kinds[kinds.index("step_finished") :][:5] == [
        "step_finished",
        "tool_started",
        "tool_output",
        "tool_output",
        "tool_finished",
    ]
    done = next(each for each in events if isinstance(each, ToolFinished))
    assert (done.status, done.detail, done.spilled) == ("ok", "d", "/s")


def test_an_answer_that_begins_a_call_nobody_can_read_is_told(desk: Desk) -> None:
    bad = Call("c1", "", (), status="error", result="A call in this answer cannot be read.", usable=False)
    desk.conversation = talking(looking(bad))
    assert desk.run("run", "--tools", "read_file", "hi") == 0
    assert desk.err.count("\n") == 1
    assert "cannot be read" in desk.err


def test_a_turn_that_was_stopped_goes_on(desk: Desk) -> None:
    with History.open(desk.root / "data" / "history.db", now=lambda: 1) as history:
        stored = history.create_session(folder=desk.root, title="demo", settings={"tools": ["read_file"]}).id
    desk.conversation = talking(Turn())
    desk.conversation.add("user", "hi", None)
    assert desk.run("run", "--session", "demo", "--go-on") == 0
    assert desk.conversation.asked == ["go_on"]
    assert (desk.opened[-1]["session"], desk.opened[-1]["settings"].tools) == (stored, ("read_file",))
    assert desk.out == "Hello there.\n"


@pytest.mark.parametrize(
    "arguments",
    [["--session", "demo", "--go-on", "hi"], ["--go-on", "--session", "demo", "--json-schema", "{}"]],
)
def test_going_on_asks_nothing_new(desk: Desk, arguments: list[str]) -> None:
    assert desk.run("run", *arguments) == 2
    assert desk.opened == []


def test_going_on_needs_a_session(desk: Desk) -> None:
    assert desk.run("run", "--go-on") == 1
    assert "No session was named" in desk.err


def test_a_limit_leaves_no_answer_and_exit_code_1(desk: Desk) -> None:
    desk.conversation = talking(Turn(steps=(Step((Call("c1"),)),), limited=True))
    assert desk.run("run", "--tools", "read_file", "--json", "hi") == 1
    assert desk.json["finish_reason"] == "tool_calls"
    assert "Stopped at the limit." in desk.err


@pytest.mark.parametrize("shape", [[], ["--json"], ["--jsonl"]])
def test_hostile_calls_never_reach_the_terminal(desk: Desk, shape: list[str]) -> None:
    evil = "\x1b]52;c;ZXZpbA==\x07\x9b2J"
    call = Call(f"c{evil}", f"t{evil}", (f'{{"path": "{evil}"}}',), output=(evil,), result=evil, spilled=evil)
    desk.conversation = talking(looking(call, said=(evil,)))
    assert desk.run("run", "--tools", "read_file", *shape, "hi") == 0
    assert CONTROL.search(desk.out) is None
    assert CONTROL.search(desk.err) is None


@pytest.mark.parametrize("shape", [[], ["--json"], ["--jsonl"]])
def test_a_broken_pipe_is_quiet_about_it(desk: Desk, shape: list[str]) -> None:
    desk.conversation = talking(looking(Call("c1")))
    desk.stdout = Broken()
    assert desk.run("run", "--tools", "read_file", *shape, "hi") == 1
    assert "skippy-chat:" not in desk.err
    assert (desk.conversation.ended, desk.conversation.closed) == (1, 1)


def test_nobody_is_asked_and_reading_is_allowed(desk: Desk) -> None:
    desk.conversation = talking(Turn(), Turn(), Turn())
    desk.run("run", "--tools", "read_file,run_command", "hi")
    opened = desk.opened[-1]
    assert (opened["can_ask"], opened["settings"].approve) == (False, "auto-read")
    assert opened["settings"].tools == ("read_file", "run_command")
    desk.run("run", "--approve", "deny", "hi")
    assert desk.opened[-1]["settings"].approve == "deny"
    (desk.root / "config").mkdir(mode=0o700)
    (desk.root / "config" / "config.toml").write_text('approve = "ask"\n')
    desk.run("run", "hi")
    assert desk.opened[-1]["settings"].approve == "ask"


def test_without_tools_none_are_offered(desk: Desk) -> None:
    desk.conversation = FakeConversation([Turn()])
    desk.run("run", "hi")
    settings = desk.opened[-1]["settings"]
    assert (settings.tools, settings.tool_files) == (None, ())


def test_options_of_tools(desk: Desk) -> None:
    desk.conversation = talking(Turn())
    code = desk.run(
        "run", "--tool-file", "a.py", "--tool-file", "/b.py", "--sandbox", "--max-steps", "3", "--approve", "all", "hi"
    )  # fmt: skip
    assert code == 0
    settings = desk.opened[-1]["settings"]
    assert settings.tool_files == (str(desk.root / "a.py"), "/b.py")
    assert (settings.sandbox, settings.max_steps, settings.approve) == (True, 3, "all")


def test_a_session_brings_its_tools_back(desk: Desk) -> None:
    with History.open(desk.root / "data" / "history.db", now=lambda: 1) as history:
        kept = {"tools": ["read_file"], "sandbox": True, "approve": "ask"}
        history.create_session(folder=desk.root, title="demo", settings=kept)
    desk.conversation = talking(Turn(), Turn())
    desk.run("run", "--session", "demo", "hi")
    settings = desk.opened[-1]["settings"]
    assert (settings.tools, settings.sandbox, settings.approve) == (("read_file",), True, "ask")
    desk.run("run", "--session", "demo", "--tools", "none", "--no-sandbox", "hi")
    assert (desk.opened[-1]["settings"].tools, desk.opened[-1]["settings"].sandbox) == ((), False)


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


@pytest.mark.parametrize("how", ["text", "file", "@file"])
def test_a_json_schema_is_for_this_turn(desk: Desk, tmp_path: Path, how: str) -> None:
    desk.conversation = FakeConversation([Turn()])
    given = json.dumps(SCHEMA)
    if how != "text":
        (tmp_path / "s.json").write_text(given)
        given = f"{how[:-4]}{tmp_path / 's.json'}"
    assert desk.run("run", "--json-schema", given, "hi") == 0
    assert desk.conversation.options == [TurnOptions(json_schema=SCHEMA)]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ('{"type": ', "not JSON"),
        ('{"type": 3}', "not a JSON Schema, at type"),
        ("no/such/file.json", "cannot be read"),
        ("{bad}", "not JSON"),
    ],
)
def test_a_schema_that_cannot_be_used_opens_nothing(desk: Desk, given: str, told: str) -> None:
    assert desk.run("run", "--json-schema", given, "hi") == 2
    assert told in desk.err
    assert desk.opened == []


def test_a_schema_file_may_be_no_object(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "s.json").write_text("[1]")
    assert desk.run("run", "--json-schema", str(tmp_path / "s.json"), "hi") == 2
    assert "is an object" in desk.err


def test_a_schema_does_not_go_with_tools(desk: Desk) -> None:
    assert desk.run("run", "--json-schema", "{}", "--tools", "read_file", "hi") == 2
    assert desk.opened == []
    desk.conversation = FakeConversation([Turn()])
    assert desk.run("run", "--json-schema", "{}", "--tools", "none", "hi") == 0


def test_the_workspaces_own_file_counts_only_when_trusted(desk: Desk) -> None:
    file = desk.root / ".skippy-chat.toml"
    file.write_text('top_k = 3\napprove = "deny"\n')
    desk.conversation = talking(Turn(), Turn(), Turn())
    desk.run("run", "hi")
    settings = desk.opened[-1]["settings"]
    assert (settings.top_k, settings.project_file, settings.ignored_file) == (40, None, file)
    assert desk.run("config", "trust") == 0
    desk.run("run", "hi")
    settings = desk.opened[-1]["settings"]
    assert (settings.top_k, settings.project_file, settings.ignored_file) == (3, file, None)
    assert settings.approve == "deny"
    assert desk.run("config", "untrust") == 0
    desk.run("run", "hi")
    assert desk.opened[-1]["settings"].ignored_file == file


def test_without_such_a_file_none_is_ignored(desk: Desk) -> None:
    desk.conversation = talking(Turn())
    desk.run("run", "hi")
    settings = desk.opened[-1]["settings"]
    assert (settings.project_file, settings.ignored_file) == (None, None)


def test_a_chat_in_a_pipe_asks_nobody_and_one_on_a_terminal_does(desk: Desk) -> None:
    desk.stdin = io.StringIO("")
    assert desk.run("repl", "--tools", "read_file") == 0
    opened = desk.opened[-1]
    assert (opened["can_ask"], opened["settings"].approve) == (False, "auto-read")
    desk.stdin, desk.stdout = Terminal(""), Terminal()
    assert desk.run("repl", "--plain", "--tools", "read_file") == 0
    opened = desk.opened[-1]
    assert (opened["can_ask"], opened["settings"].approve) == (True, "ask")


def test_commands_get_the_environment_the_program_was_started_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[ConversationOptions] = []
    monkeypatch.setattr(opening, "open_conversation", lambda options, on_progress: seen.append(options))
    monkeypatch.setenv("NO_COLOR", "1")
    host = process_host()
    monkeypatch.delenv("NO_COLOR")  # as the app's toolkit does
    host.open_conversation(
        paths=Paths(tmp_path, tmp_path, tmp_path), settings=Settings(), session=None, continue_newest=False, new=True,
        folder=tmp_path, on_progress=lambda what, done, total: None, can_ask=True,
    )  # fmt: skip
    (options,) = seen
    assert (options.environment["NO_COLOR"], options.can_ask) == ("1", True)
