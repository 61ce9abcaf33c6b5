"""Journeys with a tool, with too little room, with another model, and with a second terminal."""

from __future__ import annotations

from scripts.journeys.place import OPTIONS, SMALL, Place, answered, is_ready, keep

_FULL = "The context is full"


def asked_to_run(place: Place) -> None:
    """An agent wants to run a command: look, allow it once, see what came of it."""
    options = ("--tools", "run_command", "-c", "tool_choice=required", "--max-tokens", "80", "--new")
    with place.program(*OPTIONS, *options, size=SMALL) as app:
        app.until(is_ready)
        app.say("Run the command: wc -l notes.txt")
        app.until("once")
        app.rest(1)
        keep(
            app, "tool-1", "The question whether a command may run, with all of it and the answers there are"
        )
        app.press("y")
        app.until(lambda text: is_ready(text) or "asking" in text)
        keep(app, "tool-2", "The command ran; its result stands under the call")


def context_full(place: Place) -> None:
    """A conversation outgrows its context: what is said, and a way out."""
    with place.program(
        *OPTIONS, "--ctx", "512", "--max-tokens", "60", "--session", "full", size=SMALL
    ) as app:
        app.until(is_ready)
        for part in range(1, 9):
            question = (
                f"Part {part}: " + "the keeper trims the wick and writes the weather into his log. " * 5
            )
            app.say(question)
            app.until(answered(f"Part {part}: the", otherwise=_FULL))
            if _FULL in app.text:
                break
        app.rest(1)
        keep(app, "full-1", "A message does not fit: by how much, and the ways out")
        app.press("c")
        app.until(lambda text: is_ready(text) and _FULL not in text)
        app.rest(2)
        app.until(is_ready)
        keep(
            app,
            "full-2",
            "A summary stands for the older turns, on a new branch, and the message was answered",
        )


def other_model(place: Place) -> None:
    """The same session with another model, and back."""
    with place.program(*OPTIONS, "--session", "names", "--max-tokens", "16") as app:
        app.until(is_ready)
        app.say("/model")
        app.until("smollm2")
        keep(app, "model-1", "The models there are")
        app.press("escape")
        app.say("/model smollm2")
        app.until(lambda text: is_ready(text) and "dense" in text)
        app.say("Name a lake.")
        app.until(answered("Name a lake."))
        keep(app, "model-2", "The other model reads the conversation once, and the status tells why")
        app.say("Name a hill.")
        app.until(answered("Name a hill."))
        keep(app, "model-3", "From then on it has checkpoints of its own")
        app.say("/model default")
        app.until(lambda text: is_ready(text) and "hybrid" in text)
        app.say("Name a wind.")
        app.until(answered("Name a wind."))
        keep(app, "model-4", "Back on the first model: what it read before is found again")


def two_terminals(place: Place) -> None:
    """A second terminal opens the session that the first one has."""
    with place.program(*OPTIONS, "--session", "names") as first:
        first.until(is_ready)
        with place.program(*OPTIONS, "--max-tokens", "24", "--session", "names") as second:
            second.until("read-only")
            keep(second, "two-1", "The second terminal shows the session read-only, and who writes it")
            second.press("f")
            second.until(is_ready)
            keep(second, "two-2", "A copy goes on in the second terminal")
            second.say("Name a cloud.")
            second.until(answered("Name a cloud."))
            keep(second, "two-3", "The copy resumes where the other session stands")
