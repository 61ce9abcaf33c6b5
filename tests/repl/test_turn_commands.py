"""/edit with what it costs, /editor, /regenerate with other sampling, /remove."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.cache_wording import edit_line
from skippy_chat.engine.questions import CheckpointTree, EditCost
from skippy_chat.errors import EngineDied
from skippy_chat.repl.services import Services
from skippy_chat.sampling import Sampling
from tests.fakes.conversation import COLD, FakeConversation, Turn
from tests.repl.chatting import Drawing, Person, chat, services
from tests.repl.conftest import Open

pytestmark = pytest.mark.timeout(180)


COST = EditCost(0, 3, 1100, 2.0)


def kept(conversation: FakeConversation) -> Checkpoints:
    """Return checkpoints of a branch whose first message costs something to edit."""
    tree = CheckpointTree((), (COST,), 1105, 1117, 0, 0)
    return Checkpoints(tree, (tuple(conversation.messages()),), ())


def test_what_an_edit_costs_is_told_before_it_is_typed() -> None:
    conversation = FakeConversation([COLD])
    conversation.add("user", "first", None)
    conversation.kept = kept(conversation)
    out = chat(conversation, "/edit 1\nsecond\n").out
    told = edit_line(COST)
    assert "1,100" in told
    assert (
        f"{told[0].upper()}{told[1:]}.\nThe message was: first\nNew text: second\nAssistant: Cold.\n" in out
    )
    conversation = FakeConversation([COLD])
    conversation.add("user", "first", None)
    conversation.kept = kept(conversation)
    assert f"\n{told}\n" in chat(conversation, "/edit\nsecond\n", kind=Drawing).out


def test_an_edit_needs_no_worker_that_tells_its_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_: FakeConversation) -> Checkpoints:
        raise EngineDied("There is no worker to ask.", "The next turn starts one.")

    monkeypatch.setattr(FakeConversation, "checkpoints", gone)
    conversation = FakeConversation([COLD])
    conversation.add("user", "first", None)
    chatted = chat(conversation, "/edit\nsecond\n")
    assert chatted.err == ""
    assert "Assistant: Cold." in chatted.out


def test_regenerate_with_other_sampling() -> None:
    conversation = FakeConversation([Turn(), COLD, Turn()])
    out = chat(conversation, "hello\n/regenerate temperature=1.2 seed=9\n/regenerate\n").out
    assert "Drawn with temperature=1.2 top_k=40 top_p=0.95 min_p=0.05 seed=9.\nAssistant: Cold.\n" in out
    first, second, third = conversation.options
    assert first is None
    assert second is not None
    assert second.sampling == Sampling(temperature=1.2, seed=9)
    assert third is None


def test_sampling_that_cannot_be_regenerates_nothing() -> None:
    conversation = FakeConversation([Turn()])
    chatted = chat(conversation, "hello\n/regenerate temprature=1\n/regenerate top_p=7\n")
    assert "temprature is no part of sampling. Did you mean temperature?" in chatted.err
    assert "top_p: " in chatted.err
    assert conversation.asked == ["hello"]
    assert chatted.ended == 2


def test_remove_leaves_a_turn_out_and_keeps_the_old_branch() -> None:
    conversation = FakeConversation([Turn(("First.",)), Turn(("Second.",))])
    chatted = chat(conversation, "one\ntwo\n/remove 1\n/history\n/branch\n/back\n/history\n/back\n")
    assert "Left out “one” and its answer. The old branch stays: /back\n" in chatted.out
    assert "You 1: two\n\nAssistant: Second.\n" in chatted.out
    assert "You 1: one\n\nAssistant: First.\n\nYou 2: two\n" in chatted.out
    assert [each.content for each in conversation.messages()] == ["two", "Second."]
    assert chatted.ended == 0


def test_remove_of_what_is_not_there() -> None:
    conversation = FakeConversation([Turn(("First.",))])
    chatted = chat(conversation, "/remove\n/back\none\n/remove 2\n/remove x\n")
    assert "There is no message to remove yet. Write one first.\n" in chatted.err
    assert "No other branch was shown before this one." in chatted.err
    assert chatted.err.count("Give a number from 1 to 1.") == 2
    assert len(conversation.messages()) == 2


def editor(folder: Path, script: str) -> Services:
    """Return services whose editor is a shell script; its file is $1."""
    program = folder / "my-editor"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return services(folder, {"PATH": "/bin:/usr/bin", "EDITOR": str(program)})


def test_the_editor_writes_a_message(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("Fine.",))])
    out = chat(conversation, "/editor\n", editor(tmp_path, "printf 'one\\ntwo\\n' > $1"), Person).out
    assert "one\ntwo\nAssistant: Fine.\n" in out
    assert conversation.asked == ["one\ntwo"]


def test_the_editor_changes_a_message(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("Fine.",)), COLD])
    given = editor(tmp_path, "sed -i s/hello/goodbye/ $1")
    chat(conversation, "hello\n/editor 1\n", given, Person)
    assert conversation.messages()[0].content == "goodbye"
    assert len(conversation.leaves()) == 2


@pytest.mark.parametrize(
    ("script", "command", "told"),
    [
        (":", "/editor", "Nothing was written, so nothing is sent."),
        (":", "/editor 1", "The message stays as it was."),
        ("exit 3", "/editor 1", "my-editor ended with code 3, so the text stays as it was."),
    ],
)
def test_an_editor_that_leaves_nothing_sends_nothing(
    tmp_path: Path, script: str, command: str, told: str
) -> None:
    conversation = FakeConversation([Turn(("Fine.",))])
    chatted = chat(conversation, f"hello\n{command}\n", editor(tmp_path, script), Person)
    assert told in chatted.out + chatted.err
    assert conversation.asked == ["hello"]


def test_no_editor_in_a_pipe(tmp_path: Path) -> None:
    conversation = FakeConversation()
    chatted = chat(conversation, "/editor\n", editor(tmp_path, "printf never > $1"))
    assert "An editor needs a terminal." in chatted.err
    assert conversation.asked == []


def test_a_real_terminal_is_right_after_the_editor(terminal: Open, tmp_path: Path) -> None:
    program = tmp_path / "my-editor"
    program.write_text("#!/bin/sh\nstty -a < /dev/tty | grep -q ' icanon' && printf 'in order' > $1\n")
    program.chmod(0o755)
    screen = terminal("answers", "repl", EDITOR=str(program))
    screen.wait_for_prompt(1)
    screen.type("/editor\r")
    screen.wait_for("in order\nFirst answer.")
    screen.wait_for_prompt(2)
    screen.type("typed\x18\x05")
    screen.wait_for(lambda text: text.endswith("> in order"))
    screen.type(" too\r")
    screen.wait_for("Cold.")
    screen.wait_for_prompt(3)
    screen.type("/history\r")
    screen.wait_for("You 2: in order too")


def test_an_editor_that_fails_leaves_the_line_as_it_was(terminal: Open) -> None:
    screen = terminal("answers", "repl", EDITOR="false")
    screen.wait_for_prompt(1)
    screen.type("typed\x18\x05")
    screen.wait_for("false ended with code 1, so the text stays as it was.\n> typed")
    screen.type(" on\r")
    screen.wait_for("First answer.")


def test_what_an_edit_will_resume_at_stands_above_it_while_it_is_typed(terminal: Open) -> None:
    screen = terminal("foretelling")
    screen.wait_for_prompt(1)
    screen.type("question\r")
    screen.wait_for_prompt(2)
    screen.type("/edit\r")
    screen.wait_for(lambda text: text.endswith("> question"))
    screen.type("s")
    screen.wait_for("resumes at 3 of 9\n> questions")
    screen.type(" more")
    screen.wait_for("resumes at 3 of 14\n> questions more")
    screen.type("\r")
    screen.wait_for("Cold.")
    screen.wait_for_prompt(4)
    assert "resumes at 3 of" not in screen.text
    screen.type("not an edit")
    screen.wait_for("> not an edit")
    assert "resumes at" not in screen.text
