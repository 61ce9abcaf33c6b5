"""A session that another program writes can be gone on with in a copy, which reads nothing again."""

from __future__ import annotations

import pytest

from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.native, pytest.mark.model]


def test_a_fork_of_a_session_in_use_hits_the_cache(program: Program) -> None:
    first = program.run("--session", "S", "What is the capital of France?")
    holder = program.held("repl", "--session", "S", "--plain")
    assert holder.stdin is not None
    assert holder.stdout is not None
    with holder:
        assert "S" in holder.stdout.readline()  # it greets, so the session is open and locked
        error = program.error("--session", "S", "me too", code=1)
        assert error["code"] == "session_locked"
        named = error["hint"].split("(", 1)[1].split(")", 1)[0]
        assert named.startswith("skippy-chat sessions fork ")
        done = program.call(*named.split()[1:], "copy")
        assert done.returncode == 0, done.stderr
        second = program.run("--session", "copy", "And of Italy?")
        holder.stdin.close()
        holder.stdout.read()
        assert holder.wait(60) == 0
    assert second["steps"][0]["cached_tokens"] == first["steps"][0]["context_tokens"]
    assert second["steps"][0]["cache"]["source"] == "disk"
    assert program.run("--session", "copy", "--replay")["replay"]["same_ids"] is True
    assert "Italy" not in program.call("sessions", "show", "S").stdout
