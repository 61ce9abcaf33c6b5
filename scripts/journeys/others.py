"""Journeys with a tool, with too little room, with another model, and with a second terminal."""

from __future__ import annotations

from scripts.journeys.place import OPTIONS, SMALL, Place, answered, is_ready, keep


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
    """A conversation outgrows its context: what is said, and what can be done."""
    with place.program(
        *OPTIONS, "--ctx", "512", "--max-tokens", "60", "--session", "full", size=SMALL
    ) as app:
        app.until(is_ready)
        for part in range(1, 9):
            app.say(f"Part {part}: " + "the keeper trims the wick and writes the weather into his log. " * 5)
            app.until(answered(f"Part {part}: the"))
            if "did not fit" in app.text:
                break
        keep(app, "full-1", "A message that does not fit: by how much, and what can be done")


def other_model(place: Place) -> None:
    """The same session with another model, and back."""
    with place.program(*OPTIONS, "--session", "names", "--model", "smollm2", "--max-tokens", "16") as app:
        app.until(is_ready)
        app.say("Name a lake.")
        app.until(answered("Name a lake."))
        keep(app, "model-1", "The other model reads the conversation once, and the status tells why")
        app.say("Name a hill.")
        app.until(answered("Name a hill."))
        keep(app, "model-2", "From then on it has checkpoints of its own")
    with place.program(*OPTIONS, "--session", "names", "--model", "default", "--max-tokens", "16") as app:
        app.until(is_ready)
        app.say("Name a wind.")
        app.until(answered("Name a wind."))
        keep(app, "model-3", "Back on the first model: what it read before is found again")


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
