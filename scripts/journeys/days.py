"""The journeys of a first and a second day."""

from __future__ import annotations

from scripts.journeys.place import OPTIONS, SMALL, Place, answered, is_ready, keep

FIRST = "What is a lighthouse for?"
SECOND = "Who works there?"
THIRD = "Write a Python function that adds two numbers, in a code block."


def first_minutes(place: Place) -> None:
    """Start, ask, ask again, look for help, leave."""
    with place.program(*OPTIONS, "--max-tokens", "70", size=SMALL) as app:
        app.until(is_ready)
        keep(
            app, "first-1", "The app has just started: an empty transcript, the box, and two lines of status"
        )
        app.say(FIRST)
        app.until(answered(FIRST))
        keep(
            app, "first-2", "The first question and its answer; the status tells that nothing was stored yet"
        )
        app.say(SECOND)
        app.until(answered(SECOND))
        keep(app, "first-3", "The second answer; the status tells how much of the prompt was reused")
        app.say("/help")
        app.until("/continue")
        keep(app, "first-4", "Help: the commands and the keys")
        app.press("escape")
        app.press("ctrl+d")


def next_day(place: Place) -> None:
    """Come back: choose the session, see it, go on from disk."""
    with place.program(*OPTIONS, "--max-tokens", "70", size=SMALL) as app:
        app.until(lambda text: "lighthouse" in text.lower())
        keep(app, "next-1", "The sessions of this folder, the last used first")
        app.press("down", "enter")
        app.until(lambda text: is_ready(text) and SECOND in text)
        keep(app, "next-2", "Yesterday's conversation")
        app.say(THIRD)
        app.until(answered(THIRD))
        keep(app, "next-3", "The answer; the status tells that the conversation was taken from disk")


def edit_third(place: Place) -> None:
    """In a conversation of twenty messages change the third, look at both branches."""
    questions = (
        "Name a colour.",
        "Name a fruit.",
        "Name a bird.",
        "Name a river.",
        "Name a tree.",
        "Name a city.",
        "Name a metal.",
        "Name a planet.",
        "Name a fish.",
        "Name a flower.",
    )
    with place.program(*OPTIONS, "--max-tokens", "16", "--session", "names", size=SMALL) as app:
        app.until(is_ready)
        for question in questions:
            app.say(question)
            app.until(answered(question))
        keep(app, "edit-1", "A conversation of twenty messages")
        app.say("/goto 2")
        app.rest(1)
        keep(app, "edit-2", "The third message of twenty is marked")
        app.press("e")
        app.type(" It should be yellow.")
        app.rest(2)
        keep(app, "edit-3", "The third message in the box, changed; where the answer to it would resume")
        app.press("enter")
        app.until(lambda text: is_ready(text) and "2/2" in text)
        keep(app, "edit-4", "The new branch, and how much of the prompt was reused")
        app.press("shift+tab", "up", "left")
        app.until(lambda text: is_ready(text) and "1/2" in text)
        keep(app, "edit-5", "The old branch is there as it was")
        app.press("escape")
        app.say("Name a sea.")
        app.until(answered("Name a sea."))
        keep(app, "edit-6", "The old branch goes on, and nothing of it is read again")
