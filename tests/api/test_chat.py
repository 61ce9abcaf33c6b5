"""What a script can do with a conversation, on the default model."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat import Reply
from skippy_chat.errors import ConfigError, ContextFull, SessionLocked, UsageError
from skippy_chat.events import PrefillStarted, StepFinished, TextDelta, TurnFinished
from tests.api.conftest import Open

pytestmark = [pytest.mark.native, pytest.mark.model]


def honest(reply: Reply) -> bool:
    return all(
        step.usage.cached_tokens + step.usage.prefilled_tokens == step.usage.prompt_tokens
        for step in reply.steps
    )


def test_a_question_is_answered_and_kept(open_chat: Open) -> None:
    with open_chat(system="Be brief.") as chat:
        first = chat.ask("Name a colour.", max_tokens=2)
        second = chat.ask("And one more?")
        assert first.content == chat.messages[2].content
        assert first.finish_reason == "length"
        assert first.message == chat.messages[2].id
        assert [message.role for message in chat.messages] == [
            "system", "user", "assistant", "user", "assistant",
        ]  # fmt: skip
        assert honest(first)
        assert honest(second)
        # Only the new question is read: all that was fed before is there.
        assert second.usage.cached_tokens == first.usage.context_tokens
        assert chat.model.kind == "hybrid"


def test_the_same_seed_gives_the_same_words(open_chat: Open) -> None:
    with open_chat(temperature=1.0, seed=7) as chat:
        first = chat.ask("Name a colour.", max_tokens=12)
        assert chat.regenerate(max_tokens=12).content == first.content


def test_an_edited_message_begins_another_branch(open_chat: Open) -> None:
    with open_chat() as chat:
        chat.ask("Name a colour.")
        old = chat.ask("And one more?")
        question = chat.messages[2]
        edited = chat.edit(question, "And a fish?")
        assert honest(edited)
        assert edited.usage.cached_tokens > 0
        assert [message.content for message in chat.siblings(chat.messages[2])] == [
            "And one more?",
            "And a fish?",
        ]
        assert {leaf.id for leaf in chat.branches()} == {old.message, edited.message}
        assert old.message is not None
        chat.switch(old.message)
        assert chat.messages[2] == question
        assert [message.id for message in chat.branch(old.message)] == [each.id for each in chat.messages]


def test_an_amended_answer_is_read_and_its_prefix_reused(open_chat: Open) -> None:
    with open_chat() as chat:
        chat.ask("Name a colour.")
        said = chat.messages[-1]
        chat.amend(said, "Teal.")
        assert [(each.content, each.edited) for each in chat.siblings(chat.messages[-1])] == [
            (said.content, False),
            ("Teal.", True),
        ]
        reply = chat.ask("And one more?")
        assert honest(reply)
        assert reply.usage.cached_tokens > 0
        assert chat.replay().same_ids
        assert {leaf.id for leaf in chat.branches()} == {said.id, reply.message}


def test_an_answer_again_reads_nothing(open_chat: Open) -> None:
    with open_chat() as chat:
        first = chat.ask("Name a colour.")
        again = chat.regenerate()
        assert again.usage.prefilled_tokens == 0
        assert again.usage.cached_tokens == first.usage.prompt_tokens
        assert again.content == first.content
        assert again.message != first.message
        report = chat.replay()
        assert (report.message, report.same_ids) == (again.message, True)


def test_a_session_goes_on_in_another_program(open_chat: Open) -> None:
    with open_chat(session="trip", temperature=0.0) as chat:
        first = chat.ask("Name a colour.")
    with open_chat(session="trip", temperature=None) as chat:
        second = chat.ask("And one more?")
        assert len(chat.messages) == 4
        assert second.usage.cached_tokens == first.usage.context_tokens
        assert second.steps[0].cache.source == "disk"
        with pytest.raises(SessionLocked):
            open_chat(session="trip")


def test_a_stream_yields_the_events_and_then_the_reply(open_chat: Open) -> None:
    with open_chat() as chat:
        stream = chat.stream("Name a colour.")
        with pytest.raises(UsageError):
            _ = stream.reply
        events = [*stream]
        kinds = [type(event) for event in events]
        assert kinds.index(PrefillStarted) < kinds.index(TextDelta) < kinds.index(StepFinished)
        assert kinds[-1] is TurnFinished
        text = "".join(event.text for event in events if isinstance(event, TextDelta))
        assert stream.reply.content == text


def test_a_stream_left_in_the_middle_is_stopped_and_kept(open_chat: Open) -> None:
    with open_chat() as chat:
        stream = chat.stream("Tell me a very long story.", max_tokens=500)
        for event in stream:
            if isinstance(event, TextDelta):
                break
        reply = chat.ask("Name a colour.")
        states = [(message.role, message.state) for message in chat.messages]
        assert states[1] == ("assistant", "interrupted")
        assert states[-1] == ("assistant", "complete")
        assert honest(reply)
        with pytest.raises(UsageError):
            _ = stream.reply


def test_a_stream_that_nobody_reads_is_ended_before_the_next_turn(open_chat: Open) -> None:
    with open_chat() as chat:
        chat.stream("Anybody?")
        reply = chat.ask("Name a colour.")
        assert [message.role for message in chat.messages] == ["user", "user", "assistant"]
        assert honest(reply)


def test_cancel_ends_a_turn_with_what_there_is(open_chat: Open) -> None:
    with open_chat() as chat:
        stream = chat.stream("Tell me a very long story.", max_tokens=500)
        for event in stream:
            if isinstance(event, TextDelta):
                chat.cancel()
        assert stream.reply.finish_reason == "cancelled"
        assert stream.reply.usage.generated_tokens < 500


def test_a_question_that_does_not_fit_is_told_and_the_next_one_goes_on(open_chat: Open) -> None:
    with open_chat(ctx=256) as chat:
        with pytest.raises(ContextFull):
            chat.ask("word " * 400)
        assert honest(chat.ask("Name a colour."))
        assert len(chat.messages) == 2


def test_what_is_typed_wrong_is_told_before_anything_is_opened(open_chat: Open, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="temperatur"):
        open_chat(settings={"temperatur": 1})
    with pytest.raises(UsageError, match="not a folder"):
        open_chat(workspace=tmp_path / "nowhere")
    assert not (tmp_path / "data").exists()


def test_settings_come_from_argument_environment_and_file(open_chat: Open, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.mkdir(mode=0o700)
    (config / "config.toml").write_text('system = "From the file."\nmax_tokens = 3\n')
    with open_chat(max_tokens=None, env={"SKIPPY_MAX_TOKENS": "4"}) as chat:
        assert chat.ask("Name a colour.").usage.generated_tokens == 4
        assert chat.messages[0].content == "From the file."
    with open_chat(max_tokens=2, env={"SKIPPY_MAX_TOKENS": "4"}, system="Typed.") as chat:
        assert chat.ask("Name a colour.").usage.generated_tokens == 2
        assert chat.messages[0].content == "Typed."
