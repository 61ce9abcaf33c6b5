"""What people get wrong, and what may break: one clear line, the right exit code, nothing lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.native, pytest.mark.model]


def test_a_missing_model(program: Program) -> None:
    error = program.error("--model", str(program.home / "no.gguf"), "hi", code=3)
    assert error["code"] == "model_file"
    assert "no.gguf" in error["message"]
    assert not (program.data / "history.db").exists()


def test_a_truncated_model(program: Program, default_model: Path) -> None:
    short = program.home / "short.gguf"
    with default_model.open("rb") as source:
        short.write_bytes(source.read(50_000_000))
    error = program.error("--model", str(short), "hi", code=3)
    assert error["code"] == "model_file"
    assert "short.gguf" in error["message"]


def test_a_foreign_file(program: Program) -> None:
    page = program.home / "page.gguf"
    page.write_text("<!doctype html><title>Sign in</title>" * 50)
    error = program.error("--model", str(page), "hi", code=3)
    assert "page.gguf" in error["message"]


def test_an_unknown_option(program: Program) -> None:
    done = program.call("run", "--temprature", "0", "hi")
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "--temperature" in done.stderr


def test_a_full_context_keeps_the_message(program: Program) -> None:
    text = "word " * 600
    error = program.error("--session", "S", "--ctx", "512", text, code=4)
    assert error["code"] == "context_full"
    assert "too many" in error["message"]
    shown = program.call("sessions", "show", "S").stdout
    assert "word word" in shown


def test_a_second_writer_is_refused(program: Program) -> None:
    program.run("--session", "S", "hello")
    holder = program.held("repl", "--session", "S", "--plain")
    assert holder.stdin is not None
    assert holder.stdout is not None
    try:
        holder.stdin.write("Say one word.\n")
        holder.stdin.flush()
        while "Assistant" not in holder.stdout.readline():
            pass
        error = program.error("--session", "S", "me too", code=1)
        assert error["code"] == "session_locked"
    finally:
        holder.stdin.close()
        holder.stdout.read()
        holder.stdout.close()
        assert holder.wait(60) == 0
