"""What a model said or a tool gave, in a person's words: a version beside it, the old branch whole, the prefix read."""

from __future__ import annotations

import dataclasses
import sqlite3
import subprocess
import sys

import pytest

from skippy_chat.agent.protocol import ReplayReport, TurnOptions
from skippy_chat.agent.tools.function import tool
from skippy_chat.cache_wording import cost_of
from skippy_chat.chat.messages import Message
from skippy_chat.errors import HistoryError, UsageError
from skippy_chat.events import PrefillStarted
from tests.agent.conftest import Talks, Turn, play
from tests.agent.loops import Place
from tests.fakes.engine import Said, call


@tool
def report(topic: str) -> str:
    """Tell all about something."""
    return f"All about {topic}."


def amended(old: Message, text: str) -> Message:
    return dataclasses.replace(
        old, content=text, edited=True, state="complete", finish_reason=None, id="", parent=None, created=0
    )


def placeless(message: Message) -> Message:
    return dataclasses.replace(message, id="", parent=None, created=0)


def test_an_answer_is_amended_beside_what_the_model_said(place: Place) -> None:
    talk, engine = place.open([Said("One."), Said("Two.", reasoning="Hm."), Said("Three."), Said("Four.")])
    for text in ("1", "2", "3"):
        play(talk.send(text))
    before = list(talk.messages())
    talk.amend(before[3].id, "Zwei.\ud800")
    after = list(talk.messages())
    assert after[:3] == before[:3]
    assert [placeless(each) for each in after[3:]] == [amended(before[3], "Zwei.\ufffd")]
    assert after[3].created > before[-1].created
    assert list(talk.siblings(after[3].id)) == [before[3], after[3]]
    assert talk.branch(before[-1].id) == before
    assert [each.id for each in talk.leaves()] == [after[-1].id, before[-1].id]
    assert len(engine.requests) == 3  # nothing was asked
    with pytest.raises(UsageError, match="came to its end"):
        talk.go_on()
    play(talk.send("4"))
    asked = engine.requests[-1]
    assert [each["content"] for each in asked.messages] == ["1", "One.", "2", "Zwei.\ufffd", "4"]
    assert list(asked.answers) == [1]  # nobody sampled what a person wrote
    talk.switch(before[-1].id)
    assert list(talk.messages()) == before


def test_an_amended_answer_is_amended_once_more_and_answered_anew(place: Place) -> None:
    talk, _ = place.open([Said("One."), Said("Again.")])
    play(talk.send("1"))
    talk.amend(talk.messages()[-1].id, "Uno.")
    talk.amend(talk.messages()[-1].id, "Eins.")
    assert [each.content for each in talk.siblings(talk.messages()[-1].id)] == ["One.", "Uno.", "Eins."]
    play(talk.regenerate())
    assert [each.edited for each in talk.siblings(talk.messages()[-1].id)] == [False, True, True, False]


def test_the_text_of_an_answer_with_calls_leaves_them_and_what_they_gave(place: Place) -> None:
    said = Said("I look.", (call("c1", "report", topic="tea"), call("c2", "report", topic="rice")))
    talk, engine = place.open(
        [said, Said("Done."), Said("Now done.")], place.box(tools=[report], parallel=True)
    )
    play(talk.send("1"))
    before = list(talk.messages())
    talk.amend(before[1].id, "I see.")
    after = list(talk.messages())
    assert after[0] == before[0]
    assert placeless(after[1]) == amended(before[1], "I see.")
    assert [placeless(each) for each in after[2:]] == [placeless(each) for each in before[2:4]]
    assert after[1].tool_calls == before[1].tool_calls
    play(talk.go_on())
    assert [each.get("tool_call_id") for each in engine.requests[-1].messages[2:]] == ["c1", "c2"]
    assert talk.messages()[-1].content == "Now done."
    assert talk.branch(before[-1].id) == before


def test_a_result_is_amended_and_the_others_of_its_answer_stay(place: Place) -> None:
    said = Said("", (call("c1", "report", topic="tea"), call("c2", "report", topic="rice")))
    talk, engine = place.open([said, Said("Done."), Said("New.")], place.box(tools=[report], parallel=True))
    play(talk.send("1"))
    before = list(talk.messages())
    talk.amend(before[2].id, "Nothing about tea.")
    after = list(talk.messages())
    assert after[:2] == before[:2]
    assert placeless(after[2]) == amended(before[2], "Nothing about tea.")
    assert placeless(after[3]) == placeless(before[3])
    assert len(after) == 4
    play(talk.go_on())
    contents = [each["content"] for each in engine.requests[-1].messages]
    assert contents == ["1", "", "Nothing about tea.", "All about rice."]
    new, old = talk.messages()[-1].turn, before[2].turn
    assert new not in ("", old)  # what it writes is not undone with what the old turn wrote


def test_what_was_written_before_and_behind_an_amended_result_is_undone_one_after_the_other(
    place: Place,
) -> None:
    def writes(text: str) -> Said:
        return Said("", (call(f"c{text}", "write_file", path=f"{text}.txt", content=text),))

    talk, _ = place.open([writes("one"), Said("Done."), writes("two"), Said("Done, too.")], place.box())
    play(talk.send("1"))
    first, second = place.workspace / "one.txt", place.workspace / "two.txt"
    assert first.exists()
    talk.amend(talk.messages()[2].id, "Written, and now another one.")
    play(talk.go_on())
    assert second.exists()
    talk.undo()
    assert (first.exists(), second.exists()) == (True, False)
    talk.undo()
    assert not first.exists()


def test_a_message_goes_on_behind_an_amended_result(place: Place) -> None:
    script = [Said("", (call("c1", "report", topic="tea"),)), Said("Done."), Said("New.")]
    talk, engine = place.open(script, place.box(tools=[report]))
    play(talk.send("1"))
    talk.amend(talk.messages()[2].id, "Nothing.")
    play(talk.send("2"))
    roles = [(each["role"], each["content"]) for each in engine.requests[-1].messages]
    assert roles == [("user", "1"), ("assistant", ""), ("tool", "Nothing."), ("assistant", ""), ("user", "2")]


def test_what_is_no_answer_or_result_of_this_branch_or_says_it_already_is_refused(place: Place) -> None:
    talk, _ = place.open([Said("One."), Said("Two.")])
    play(talk.send("1"))
    question, answer = talk.messages()
    with pytest.raises(UsageError, match="the user's"):
        talk.amend(question.id, "x")
    with pytest.raises(UsageError, match="is the old one"):
        talk.amend(answer.id, "One.")
    play(talk.edit(question.id, "2"))
    stood = list(talk.messages())
    for message in (answer.id, "nothing"):
        with pytest.raises(UsageError, match="not in this branch"):
            talk.amend(message, "x")
    assert list(talk.messages()) == stood
    assert len(talk.leaves()) == 2


def test_nothing_is_amended_while_a_turn_runs(place: Place) -> None:
    refused: list[str] = []

    def try_it() -> None:
        with pytest.raises(UsageError, match="still running"):
            talk.amend(talk.messages()[1].id, "x")
        refused.append("")

    talk, _ = place.open([Said("One."), Said("Two.", during=try_it)])
    play(talk.send("1"))
    play(talk.send("2"))
    assert refused
    assert not any(each.edited for each in talk.messages())


def test_an_amended_answer_is_not_replayed(place: Place) -> None:
    talk, _ = place.open([Said("One.")])
    play(talk.send("1"))
    talk.amend(talk.messages()[-1].id, "Uno.")
    with pytest.raises(UsageError, match="edited by a person"):
        list(talk.replay())


KILLED = """
import itertools, os, signal, sys
from pathlib import Path
from skippy_chat.chat import message_rows
from tests.agent.loops import Place
place = Place(Path(sys.argv[1]))
talk, _ = place.open()
insert, count = message_rows.insert, itertools.count(1)
def insert_and_die(connection, message):
    insert(connection, message)
    if next(count) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
message_rows.insert = insert_and_die
talk.amend(talk.messages()[1].id, "I see.")
"""


def test_a_program_killed_while_it_stores_leaves_the_old_branch_whole(place: Place) -> None:
    """It dies behind the amended answer, before what its call gave is copied."""
    script = [Said("I look.", (call("c1", "report", topic="tea"),)), Said("Done.")]
    talk, _ = place.open(script, place.box(tools=[report]))
    play(talk.send("1"))
    before = list(talk.messages())
    place.close()
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(place.root)], capture_output=True, timeout=60, check=False
    )
    assert killed.returncode == -9, killed.stderr.decode()
    talk, _ = place.open(box=place.box(tools=[report]))
    assert list(talk.messages()) == before
    assert [each.id for each in talk.leaves()] == [before[-1].id]


def test_a_history_that_cannot_be_written_keeps_the_branch(place: Place) -> None:
    talk, _ = place.open([Said("One.")])
    play(talk.send("1"))
    before = list(talk.messages())
    with sqlite3.connect(place.root / "history.db") as other:
        other.execute("CREATE TRIGGER full BEFORE INSERT ON messages BEGIN SELECT RAISE(FAIL, 'full'); END")
    with pytest.raises(HistoryError):
        talk.amend(before[-1].id, "Uno.")
    assert list(talk.messages()) == before


def started(turn: Turn) -> PrefillStarted:
    return next(each for each in turn.events if isinstance(each, PrefillStarted))


def same(talk_replay: list[object]) -> bool:
    report = talk_replay[-1]
    assert isinstance(report, ReplayReport)
    return report.same_ids


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
@pytest.mark.parametrize("anew", [False, True])
def test_everything_before_an_amended_answer_is_reused(talks: Talks, anew: bool) -> None:
    """With the lane as it is, and from disk in a new process; the next answer replays to the same ids."""
    tides = "Tell me about the sea, its tides, its colours and its storms. " * 4
    talk = talks.open(max_tokens=12)
    for text in ("Hello there.", tides, "And the wind?"):
        play(talk.send(text))
    said = talk.messages()[-3]
    assert said.role == "assistant"
    cost = cost_of(talk.checkpoints(), said.id)
    assert cost is not None
    assert cost.resumes > 60
    talk.amend(said.id, "It is salty.")
    told = talk.foresee("Why?")
    assert cost.resumes <= told.cached_tokens < told.prompt_tokens
    if anew:
        talk.close()
        talk = talks.open(max_tokens=12)
        assert talk.messages()[-1].content == "It is salty."
    first = started(play(talk.send("Why?")))
    assert (first.cached, first.prompt) == (told.cached_tokens, told.prompt_tokens)
    assert same(list(talk.replay()))
    # What was read of the person's text is kept as any other: the next turn finds all of it.
    assert started(play(talk.send("So?"))).cached >= first.prompt
    assert same(list(talk.replay()))


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_everything_before_an_amended_result_is_reused(talks: Talks) -> None:
    talk = talks.open(max_tokens=64, functions=(report,), context=2048)
    play(talk.send("Call report with the topic tea.", TurnOptions(tool_choice="required")))
    result = next(each for each in talk.messages() if each.role == "tool")
    cost = cost_of(talk.checkpoints(), result.id)
    assert cost is not None
    talk.amend(result.id, "Tea is a drink.")
    assert talk.messages()[-1].content == "Tea is a drink."
    turn = play(talk.go_on())
    assert started(turn).cached >= cost.resumes > 100
    assert talk.messages()[-1].role == "assistant"
    assert same(list(talk.replay(next(e.id for e in reversed(talk.messages()) if e.role == "assistant"))))
