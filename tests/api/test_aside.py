"""Side questions on the default model: the conversation goes first, and nothing of them is kept."""

from __future__ import annotations

import pytest

from skippy_chat import Skippy
from skippy_chat.api.aside import Aside
from skippy_chat.errors import EngineDied, UsageError
from skippy_chat.events import TextDelta
from tests.api.conftest import Open
from tests.fakes.conversation import FakeConversation


@pytest.mark.native
@pytest.mark.model
def test_a_side_question_reads_itself_and_leaves_nothing(open_chat: Open) -> None:
    with open_chat(system="Be brief.") as chat:
        first = chat.ask("Name a colour.")
        before = chat.messages
        side = chat.aside("Give this conversation a title.", max_tokens=4).result(timeout=60)
        assert side.message is None
        assert side.usage.generated_tokens <= 4
        assert side.usage.cached_tokens + side.usage.prefilled_tokens == side.usage.prompt_tokens
        assert side.usage.cached_tokens == first.usage.context_tokens
        assert chat.messages == before
        again = chat.regenerate()
        assert (again.usage.prefilled_tokens, again.content) == (0, first.content)
        once_more = chat.aside("Give this conversation a title.", max_tokens=4).result(timeout=60)
        assert once_more.content == side.content


@pytest.mark.native
@pytest.mark.model
def test_it_waits_for_the_turn_that_runs_and_stands_on_what_was_said_before(open_chat: Open) -> None:
    with open_chat() as chat:
        first = chat.ask("Name a colour.")
        stream = chat.stream("And one more?", max_tokens=30)
        for event in stream:
            if isinstance(event, TextDelta):
                break
        side = chat.aside("Give this conversation a title.", max_tokens=4)
        with pytest.raises(UsageError, match="not there yet"):
            side.result(timeout=0)
        done = [side.done]
        turn = stream.read()
        assert turn.finish_reason in ("length", "stop")
        answer = side.result(timeout=60)
        assert [*done, side.done] == [False, True]
        # It stands behind the first answer; what the second question shares with it is the template's alone.
        assert first.usage.context_tokens <= answer.usage.cached_tokens < first.usage.context_tokens + 8
        assert answer.usage.prefilled_tokens < 30
        assert len(chat.messages) == 4


@pytest.mark.native
@pytest.mark.model
def test_it_may_be_the_first_thing_that_is_asked(open_chat: Open) -> None:
    with open_chat(system="Be brief.") as chat:
        assert chat.aside("Name a colour.", max_tokens=3).result(timeout=60).usage.generated_tokens <= 3
        assert chat.messages == []


@pytest.mark.native
@pytest.mark.model
def test_the_end_of_the_chat_ends_it(open_chat: Open) -> None:
    with open_chat() as chat:
        chat.ask("Name a colour.")
        side = chat.aside("Tell me a very long story.", max_tokens=900)
    try:
        reply = side.result(timeout=60)
    except EngineDied:
        return  # it had not begun
    assert reply.finish_reason == "cancelled"
    assert reply.usage.generated_tokens < 900


def test_what_goes_wrong_is_told_where_the_answer_is_wanted() -> None:
    def die() -> None:
        raise EngineDied("It ended.")

    side = Aside(die)  # type: ignore[arg-type]
    for _ in range(2):
        with pytest.raises(EngineDied, match="It ended"):
            side.result(timeout=10)


def test_it_is_the_conversations() -> None:
    conversation = FakeConversation()
    assert Skippy.over(conversation).aside("Who?").result(timeout=10).content == "Aside."
    assert conversation.asked == ["aside Who?"]
