"""Looking for words in a conversation: places in order, counted."""

from __future__ import annotations

import pytest

from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.text_search import Place, Searched

pytestmark = pytest.mark.timeout(30)

BRANCH = (
    Message("1", "S", None, "user", "Where is the **Café** there?"),
    Message(
        "2",
        "S",
        "1",
        "assistant",
        "",
        "A cafe, a cafe.",
        (ToolCall("c1", "find_place", '{"what": "cafe"}'), ToolCall("c2", "late", '{"cafe": 1}')),
    ),
    Message("3", "S", "2", "tool", "Two: cafe\x1b[31m one, CAFE two", tool_call_id="c1"),
    Message("4", "S", "3", "assistant", "In `snake_case` or the *cafe* there: 2 * 3."),
)


def test_places_are_in_the_order_of_the_conversation_with_their_counts() -> None:
    assert Searched(BRANCH).places(" cafe ") == [
        Place("1", "text", 0, 1),
        Place("2", "aside", 0, 2),
        Place("2", "aside", 1, 2),
        Place("2", "aside", 0, 1),
        Place("3", "given", 0, 1),
        Place("3", "text", 0, 2),
        Place("3", "text", 1, 2),
        Place("4", "text", 0, 1),
    ]


@pytest.mark.parametrize(
    ("words", "messages"),
    [
        ("the cafe there", ["1", "4"]),
        ("the *cafe*", ["4"]),
        ("cafe one", ["3"]),
        ("snake_case or", []),
        ("snake_case", ["4"]),
        ("2 * 3", ["4"]),
        ("nowhere", []),
        ("", []),
        ("  ", []),
    ],
)
def test_what_is_found_where(words: str, messages: list[str]) -> None:
    assert [place.message for place in Searched(BRANCH).places(words)] == messages
