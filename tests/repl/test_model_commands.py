"""/model, /reasoning and /settings, AGENTS.md, and the notification after long work."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from skippy_chat.agent.agents_file import AgentsText
from skippy_chat.chat.messages import Session
from skippy_chat.errors import ModelFileError
from skippy_chat.events import Notice
from skippy_chat.notifying import Notifier
from skippy_chat.repl.going import GoOn
from tests.fakes.conversation import MODEL, Call, FakeConversation, Question, Step, Turn
from tests.repl.chatting import Drawing, Person, chat, services

pytestmark = pytest.mark.timeout(60)

AGENTS = AgentsText("Use tabs.\x1b[2J", Notice())


def test_another_model_opens_the_session_anew() -> None:
    given = replace(services(), models=lambda: ["tiny  qwen35 F16, 3.0 MiB"])
    chatted = chat(FakeConversation([Turn()]), "one\n/model\n/model tiny\nnever\n", given)
    assert "Model: fake-135m\n" in chatted.out
    assert "Models that are here, for /model NAME:\n  tiny  qwen35 F16, 3.0 MiB\n" in chatted.out
    assert chatted.ended == GoOn(session="01FAKE", changes={"model": "tiny"})


def test_a_model_that_is_not_there_leaves_the_session_open() -> None:
    def missing(name: str) -> None:
        raise ModelFileError(f"There is no model named {name}.", "See: skippy-chat models list")

    conversation = FakeConversation([Turn()])
    chatted = chat(conversation, "/model none\none\n", replace(services(), check_model=missing))
    assert "There is no model named none." in chatted.err
    assert conversation.asked == ["one"]
    assert chatted.ended == 3


def test_reasoning() -> None:
    conversation = FakeConversation()
    conversation.loaded = replace(MODEL, thinks=True)
    out = chat(conversation, "/reasoning\n/reasoning off\n").out
    assert "Reasoning is on.\n" in out
    assert "Reasoning is off.\n" in out
    assert not conversation.settings.reasoning
    chatted = chat(FakeConversation(), "/reasoning off\n/reasoning maybe\n")
    assert "This model's template knows none, so it makes no difference.\n" in chatted.out
    assert "Reasoning cannot be maybe. Give on or off." in chatted.err


def test_settings_are_shown_and_changed_for_the_session() -> None:
    conversation = FakeConversation()
    chatted = chat(
        conversation,
        "/settings\n/settings temperature\n/settings temperature 0.2\n/settings ctx 9\n",
        services(),
    )
    assert "\ntemperature is 0.7, by default.\n" in chatted.out
    assert "\ntools is not set, by default.\n" in chatted.out
    drawn = chat(FakeConversation(), "/settings\n", services(), Drawing).out
    assert re.search(r"^temperature +0\.7 · default$", drawn, re.MULTILINE)
    assert "temperature is 0.7 (default). How much chance decides;" in chatted.out
    assert "temperature is 0.2 (session setting temperature)." in chatted.out
    assert conversation.settings.temperature == 0.2
    assert "ctx cannot be changed while a session is open." in chatted.err
    wrong = chat(conversation, "/settings temperature hot\n/settings temprature\n").err
    assert "key temperature" in wrong
    assert "temprature" in wrong


def test_agents_md_is_told_and_shown() -> None:
    session = Session("01FAKE", "demo", "/work", 0, 0, "m", AGENTS.kept())
    out = chat(FakeConversation(session=session), "/agents\n").out
    assert "is part of the system prompt; /agents shows it.\n" in out
    assert "Use tabs.\n" in out
    assert "\x1b" not in out
    assert "No AGENTS.md is part" in chat(FakeConversation(), "/agents\n").out


@pytest.mark.parametrize(("after", "told"), [(5.0, ["\x07"]), (500.0, [])])
def test_the_end_of_long_work_is_told(after: float, told: list[str]) -> None:
    rung: list[str] = []
    ticks = iter(range(0, 1000, 10))
    given = replace(
        services(), notifier=Notifier("bell", after, {}, rung.append), monotonic=lambda: float(next(ticks))
    )
    chat(FakeConversation([Turn()]), "one\n", given)
    assert rung == told


def test_a_question_is_told_too() -> None:
    rung: list[str] = []
    ticks = iter(range(0, 1000, 10))
    clock: Callable[[], float] = lambda: float(next(ticks))  # noqa: E731
    given = replace(services(), notifier=Notifier("bell", 5.0, {}, rung.append), monotonic=clock)
    turn = Turn(steps=(Step((Call("c1", question=Question()),)),))
    chat(FakeConversation([turn]), "one\nno\n", given, Person)
    assert rung == ["\x07", "\x07"]
