"""Text that comes in quick succession goes as one event, and says the same."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from skippy_chat.engine.pacing import PacedEvents
from skippy_chat.events import Event, ReasoningDelta, StepFinished, TextDelta, ToolCallDelta

ANY = st.one_of(
    st.builds(TextDelta, text=st.text(max_size=3)),
    st.builds(ReasoningDelta, text=st.text(max_size=3)),
    st.builds(
        ToolCallDelta,
        call=st.sampled_from("ab"),
        name=st.sampled_from(["", "", "calculator"]),
        arguments=st.text(max_size=3),
    ),
    st.builds(StepFinished),
)


def paced(events: Sequence[Event], gaps: Sequence[float], *, every: float = 1.0) -> list[Event]:
    """Return what is sent of ``events``, each of which comes so long after the one before."""
    now = 0.0
    sent: list[Event] = []
    pacing = PacedEvents(sent.append, lambda: now, every)
    for event, gap in zip(events, gaps, strict=True):
        now += gap
        pacing.take(event)
    pacing.flush()
    return sent


def said(events: Sequence[Event]) -> list[tuple[str, ...]]:
    """Return what the events say letter by letter, in order."""
    letters: list[tuple[str, ...]] = []
    for event in events:
        if isinstance(event, ToolCallDelta):
            letters += [("name", event.call, event.name)] if event.name else []
            letters += [("arguments", event.call, letter) for letter in event.arguments]
        elif isinstance(event, TextDelta | ReasoningDelta):
            letters += [(event.type, letter) for letter in event.text]
        else:
            letters.append((event.type,))
    return letters


@given(st.lists(st.tuples(ANY, st.floats(0, 2)), max_size=30))
def test_joined_events_say_what_the_single_ones_said(came: list[tuple[Event, float]]) -> None:
    events, gaps = [event for event, _ in came], [gap for _, gap in came]
    assert said(paced(events, gaps)) == said(events)


def test_the_first_word_goes_at_once_and_what_follows_soon_is_joined() -> None:
    words = [TextDelta(text=word) for word in ("One", " two", " three", " four", " five")]
    sent = paced(words, [0.0, 0.4, 0.4, 0.4, 0.4])
    assert [event.text for event in sent if isinstance(event, TextDelta)] == [
        "One",
        " two three four",
        " five",
    ]


def test_slow_words_are_not_held_back() -> None:
    sent: list[Event] = []
    now = 0.0
    pacing = PacedEvents(sent.append, lambda: now, 1.0)
    for count in range(1, 4):
        now += 1.5
        pacing.take(TextDelta(text="word"))
        assert len(sent) == count


def test_what_is_no_text_goes_at_once_behind_what_was_held() -> None:
    sent: list[Event] = []
    pacing = PacedEvents(sent.append, lambda: 0.0, 1.0)
    pacing.take(TextDelta(text="One"))
    pacing.take(TextDelta(text=" two"))
    pacing.take(StepFinished())
    assert sent == [TextDelta(text="One"), TextDelta(text=" two"), StepFinished()]


def test_a_second_call_and_a_name_begin_an_event_of_their_own() -> None:
    calls = [
        ToolCallDelta(call="a", name="calculator"),
        ToolCallDelta(call="a", arguments="{"),
        ToolCallDelta(call="a", arguments="}"),
        ToolCallDelta(call="b", name="calculator"),
    ]
    assert paced(calls, [0.0] * 4) == [
        calls[0],
        ToolCallDelta(call="a", arguments="{}"),
        calls[3],
    ]
