"""The pictures of how reuse works: one conversation, what is kept of it at each step, and what is read again.

Invariant: every figure in a picture is what the program measured in that run, on the default model.
"""

from __future__ import annotations

from scripts.journeys.place import OPTIONS, SMALL, Place, answered, is_ready, keep

SYSTEM = "You answer in one short sentence."
FIRST = "What is a lighthouse for?"
SECOND = "Who keeps it?"
THIRD = "And in fog?"
CHANGED = " Name three."
_TREE = "ctrl+t"


def reuse(place: Place) -> None:
    """Ask, look at what is kept, change a message, look again, start anew."""
    chosen = (*OPTIONS, "--max-tokens", "24", "--session", "reuse", "--system", SYSTEM)
    with place.program(*chosen, size=SMALL) as app:
        app.until(is_ready)
        app.type(FIRST)
        app.until("reads all")
        keep(app, "reuse-1", "Before the first message is sent: all of it has to be read")
        app.press("enter")
        app.until(answered(FIRST))
        for question in (SECOND, THIRD):
            app.type(question)
            app.until("resumes at")
            if question is THIRD:
                keep(app, "reuse-2", "Before the third message is sent: only its own tokens have to be read")
            app.press("enter")
            app.until(answered(question))
        app.press(_TREE)
        app.until("Kept of this session:")
        keep(app, "reuse-3", "What is kept of three turns: a straight line of checkpoints")
        app.press("escape", "up")
        app.until("changed from its start")
        app.press("escape")
        app.say("/goto 2")
        app.rest(1)
        app.press("e")
        app.until("changed from its start")
        app.type(CHANGED)
        app.until("resumes at")
        keep(app, "reuse-4", "An older message in the box, changed: where the answer to it would resume")
        app.press("enter")
        app.until(lambda text: is_ready(text) and "2/2" in text)
        keep(app, "reuse-5", "The answer on the new branch, and how much was reused")
        app.press(_TREE)
        app.until("Kept of this session:")
        keep(app, "reuse-6", "What is kept now: the tree branches where the message was changed")
        app.press("escape")
    with place.program(*OPTIONS, "--max-tokens", "24", "--session", "reuse", size=SMALL) as app:
        app.until(is_ready)
        app.press(_TREE)
        app.until("Kept of this session:")
        keep(app, "reuse-7", "After a new start: the same tree, on disk and not in memory")
        app.press("escape")
        app.say(THIRD)
        app.until(answered(THIRD))
        keep(app, "reuse-8", "The first answer after the start: taken from disk")
