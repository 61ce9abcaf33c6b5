"""The REPL on the default model: from session to session, copies, turns left out, a context that is full."""

from __future__ import annotations

import re

import pytest

from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.native, pytest.mark.model]

FRANCE, ITALY = "What is the capital of France?", "And of Italy?"


def chat(program: Program, *lines: str, options: tuple[str, ...] = ()) -> tuple[str, str]:
    """Type lines into a REPL in a pipe; return what it wrote to both outputs."""
    done = program.call("repl", *program.options, *options, stdin="".join(f"{line}\n" for line in lines))
    return done.stdout, done.stderr


def reused(out: str) -> list[tuple[int, int]]:
    """Return what each turn says it reused, of how many tokens."""
    found = re.findall(r"^Reused ([\d,]+) of ([\d,]+) tokens|^Read ([\d,]+) tokens", out, re.MULTILINE)
    numbers = [tuple(int(each.replace(",", "") or 0) for each in row) for row in found]
    return [(cached, prompt or read) for cached, prompt, read in numbers]


def test_going_to_other_sessions_and_copies_loses_nothing(program: Program) -> None:
    out, err = chat(
        program,
        FRANCE,
        "/fork copy",
        ITALY,
        "/new fresh",
        "Hello",
        "/sessions copy",
        "/regenerate",
        options=("--session", "first"),
    )
    assert err == ""
    (none, prompt), (continued, longer), (_, _), (again, same) = reused(out)
    assert none == 0
    assert continued > prompt  # all of the question and its answer
    assert longer > continued
    assert (again, same) == (longer, longer)
    assert f"You: {ITALY}\n" in out.split("/sessions copy")[1]  # where the person was
    done = program.call("sessions", "show", "first")
    assert FRANCE in done.stdout
    assert ITALY not in done.stdout


def test_what_an_edit_costs_is_what_its_turn_reports(program: Program) -> None:
    out, err = chat(
        program, FRANCE, ITALY, "/edit 2", "Which river is in Rome?", "/back", "/remove 1", "/history"
    )
    assert err == ""
    told = re.search(r"resumes at ([\d,]+), reads", out)
    assert told is not None
    cached, _ = reused(out)[2]
    assert cached >= int(told[1].replace(",", "")) > 0
    left = out.split("/history\n")[1]
    assert left.startswith(f"You 1: {ITALY}\n")
    assert FRANCE not in left


def test_a_full_context_is_gone_on_with_after_a_larger_one(program: Program) -> None:
    long = "Remember this. " * 90
    out, err = chat(program, "Hello", long, "/context 2048", "/regenerate", "/room", options=("--ctx", "256"))
    assert "too many to answer." in err
    assert "/compact goes on with a summary, in a new branch; the old one stays.\n" in out
    assert re.search(r"^The prompt takes [\d,]+ of 2,048 tokens", out, re.MULTILINE)
    assert len(reused(out)) == 2


def test_a_copy_in_which_nothing_was_said_can_be_opened_anew(program: Program) -> None:
    out, err = chat(program, FRANCE, "/fork", "/context 2048", ITALY, "/room", options=("--ctx", "1024"))
    assert err == ""
    assert re.search(r"^The prompt takes [\d,]+ of 2,048 tokens", out, re.MULTILINE)
    (_, prompt), (cached, _) = reused(out)
    assert cached > prompt
