"""/amend: a person's version of an answer or a result, on a line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skippy_chat.agent.looking import Checkpoints
from skippy_chat.chat.messages import ToolCall
from skippy_chat.engine.questions import CheckpointTree, EditCost
from tests.fakes.conversation import FakeConversation, Turn
from tests.repl.chatting import chat

pytestmark = pytest.mark.timeout(60)


def test_the_last_answer_is_amended_and_the_next_message_goes_on_from_it() -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",)), Turn(("Three.",))])
    chatted = chat(conversation, "1\n2\n/amend\nZwei.\n/history\n3\n/back\n/history\n")
    assert chatted.err == ""
    assert "The message was: Two.\nNew text: " in chatted.out
    assert (
        "The next message goes on from your version. The old branch stays: /back shows it.\n" in chatted.out
    )
    assert "You 2: 2\n\nAssistant [edited]: Zwei.\n" in chatted.out
    assert conversation.asked == ["1", "2", "amend M4", "3"]
    assert chatted.out.endswith("You 2: 2\n\nAssistant: Two.\nYou: ")
    assert [each.content for each in conversation.messages()] == ["1", "One.", "2", "Two."]


def test_the_answer_to_a_message_of_a_number() -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    kept = CheckpointTree((), (EditCost(1, 1024, 77, 2.0),), 1105, 1117, 0, 0)
    parent = conversation.add("user", "1", None)
    conversation.add("assistant", "One.", parent.id)
    conversation.kept = Checkpoints(kept, (tuple(conversation.messages()),), ())
    out = chat(conversation, "2\n/amend 1\nUno.\n").out
    assert "Changed from its start: the next turn resumes at 1,024 or later.\nThe message was: One.\n" in out
    assert [each.content for each in conversation.messages()] == ["1", "Uno."]


def test_a_result_of_a_number() -> None:
    conversation = FakeConversation()
    asked = conversation.add("user", "look", None)
    answer = conversation.add("assistant", "", asked.id)
    conversation._tree[answer.id] = replace(answer, tool_calls=(ToolCall("c1", "find", "{}"),))
    result = conversation.add("tool", "much", answer.id)
    conversation._tree[result.id] = replace(result, tool_call_id="c1", status="ok")
    conversation.add("assistant", "Done.", result.id)
    chatted = chat(conversation, "/amend result 1\nnothing\n/history\n")
    assert "/continue goes on from your version, and so does the next message." in chatted.out
    assert "Tool 1 [edited]: ✓ nothing\n" in chatted.out
    assert [each.content for each in conversation.messages()] == ["look", "", "nothing"]


def test_what_is_not_there_and_what_is_left_as_it_was() -> None:
    conversation = FakeConversation([Turn(("One.",))])
    chatted = chat(
        conversation,
        "/amend\n/amend result\n1\n/amend 2\n/amend result 1\n/amend x\n/amend 1\nOne.\n/amend\n\n",
    )
    assert "There is no answer to amend yet. Write a message first.\n" in chatted.err
    assert chatted.err.count("No tool has given a result yet.") == 2
    assert "There is no message 2. Give a number from 1 to 1.\n" in chatted.err
    assert "There is no message x." in chatted.err
    assert chatted.out.count("It stays as it was.\n") == 2
    assert conversation.asked == ["1"]


def test_an_answer_without_text_has_none_to_amend() -> None:
    conversation = FakeConversation()
    asked = conversation.add("user", "look", None)
    answer = conversation.add("assistant", "", asked.id)
    conversation._tree[answer.id] = replace(answer, tool_calls=(ToolCall("c1", "find", "{}"),))
    assert "There is no text to amend in it." in chat(conversation, "/amend\n").err
    conversation = FakeConversation()
    conversation.add("user", "look", None)
    assert "Your message 1 has no answer." in chat(conversation, "/amend 1\n").err
