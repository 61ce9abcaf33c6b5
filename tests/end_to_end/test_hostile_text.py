"""Escape sequences in every place text can come from; on a real terminal, no byte of them gets through."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from tests.end_to_end.hostile import EVIL, PAYLOADS
from tests.models.small import small_llama
from tests.repl.screen import Screen

pytestmark = pytest.mark.timeout(180)

ROOT = Path(__file__).parents[2]
# What may come out of a program that moves no cursor: line breaks and text. C1 bytes only count as characters.
LIVE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
LINES = f"{EVIL}\n/history\n/branch\n/session\n/model\n/{EVIL}\nagain\nand again\n"

Shown = Callable[..., str]


@pytest.fixture
def shown(tmp_path: Path) -> Shown:
    """Run a program on a terminal (its input a pipe if ``typed`` is given) and return all that it wrote there."""
    folders = {f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}

    def run(*arguments: str, module: str = "skippy_chat", typed: str | None = None) -> str:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=ROOT,
            env={
                "PATH": os.environ["PATH"],
                "TERM": "xterm-256color",
                "LANG": "C.UTF-8",
                "NO_COLOR": "1",  # so that no escape of our own stands beside one that came through
                **folders,
            },
            stdin=slave if typed is None else subprocess.PIPE,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)
        if process.stdin is not None:
            with process.stdin as pipe:
                pipe.write((typed or "").encode())
        data = b""
        with process, contextlib.suppress(OSError):  # how Linux tells that the other end is closed
            while select.select([master], [], [], 40)[0] and (piece := os.read(master, 65536)):
                data += piece
        os.close(master)
        return data.decode("utf-8")

    return run


def clean(text: str, *wanted: str) -> None:
    """Hold that something was shown, and nothing in it was live."""
    assert LIVE.search(text) is None, ascii(text)
    for each in wanted:
        assert each in text, ascii(text)


def test_an_answer_and_all_that_is_told_about_it(shown: Shown) -> None:
    text = shown("run", EVIL, module="tests.end_to_end.hostile")
    clean(text, "evilend", "Nothing was recorded: evilend", "damaged")


@pytest.mark.parametrize("shape", [(), ("--json",), ("--jsonl",)])
@pytest.mark.parametrize("skipped", ["1", "2"])
def test_a_death_and_a_fault(shown: Shown, skipped: str, shape: tuple[str, ...]) -> None:
    clean(shown(skipped, "run", *shape, "hi", module="tests.end_to_end.hostile"), "evil", "end")


@pytest.mark.parametrize("shape", ["--json", "--jsonl"])
def test_an_answer_as_json(shown: Shown, shape: str) -> None:
    text = shown("run", shape, EVIL, module="tests.end_to_end.hostile")
    clean(text, "evil")
    objects = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    texts = [each["text"] for each in objects if each.get("type") == "text_delta"] or [objects[0]["content"]]
    assert "".join(texts) == EVIL  # data is whole, and only escaped


def test_a_chat_in_a_pipe(shown: Shown) -> None:
    text = shown("repl", module="tests.end_to_end.hostile", typed=LINES)
    clean(
        text,
        "You: evilend",
        "Assistant: evilend",
        "Reasoning: evilend",
        "There is no command /evilend",
        "Model: evilend",
    )
    assert "A fault in the program" in text or "ValueError" in text


def test_a_chat_on_a_terminal(tmp_path: Path) -> None:
    folders = {f"SKIPPY_{name}_DIR": str(tmp_path / name.lower()) for name in ("DATA", "CACHE", "CONFIG")}
    with Screen("repl", program="tests.end_to_end.hostile", env=folders) as screen:
        screen.wait_for_prompt(1)
        screen.paste(EVIL)
        screen.type("\r")
        screen.wait_for("Nothing was recorded")
        prompts = 2
        for line in ("/history", "/branch", "/session", "/model", "again"):
            screen.wait_for_prompt(prompts)
            screen.type(f"{line}\r")
            prompts += 1
        screen.wait_for_prompt(prompts)
        screen.type("/quit\r")
        assert screen.ended() == 0
        text, raw = screen.text, screen.raw
    assert text.count("evilend") > 8
    # The face moves the cursor itself; what it is given to show must add nothing to that.
    for payload in PAYLOADS:
        assert payload.encode() not in raw, payload


def test_stored_sessions(shown: Shown, tmp_path: Path) -> None:
    with History.open(tmp_path / "data" / "history.db", now=lambda: 1_700_000_000_000) as history:
        session = history.create_session(folder=ROOT, title="plain")
        asked = history.append(session.id, None, "user", EVIL)
        history.append(session.id, asked.id, "assistant", EVIL)
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / "history.db")) as raw, raw:
        # No command stores such a title; another program, or an older version, may have.
        raw.execute("UPDATE sessions SET title = ?, folder = folder || ?, model = ?", (EVIL, EVIL, EVIL))
    clean(shown("sessions", "list", "--all"), "evilend")
    clean(shown("sessions", "list", "--all", "--json"), "evil")
    clean(shown("sessions", "show", session.id), "You:\r\nevilend", "Assistant:\r\nevilend", "evilend · ")
    clean(shown("sessions", "show", session.id, "--json"), "evil")
    clean(shown("sessions", "search", "evil", "--all"), "evil")
    clean(shown("sessions", "show", f"evi{EVIL}"), "No session is called", "Close to it: evil")
    clean(shown("sessions", "fork", session.id), "Copied 2 messages of evilend")
    clean(shown("sessions", "rename", session.id, EVIL), "skippy-chat: ")
    clean(shown("sessions", "rm", session.id, "--yes"), "Removed evilend")


def test_models(shown: Shown, tmp_path: Path) -> None:
    folder = tmp_path / "cache" / "models"
    folder.mkdir(parents=True)
    name = EVIL.replace("/", "")
    path = folder / f"{name}.gguf"
    small_llama(path, name=EVIL)
    clean(shown("models", "list"), "evilend")
    clean(shown("models", "list", "--json"), "evil")
    clean(shown("models", "info", str(path)), "Name: evilend", "File: ")
    clean(shown("models", "info", str(path), "--json"), "evil")
    (folder / f"broken{name}.gguf").write_bytes(b"GGUF" + bytes(3))
    clean(shown("models", "list"), "brokenevilend")
    clean(shown("models", "info", f"broken{name}"), "skippy-chat: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "--model", f"/no/{EVIL}", "hi"),
        ("run", f"--{EVIL}", "hi"),
        ("run", "--temperature", EVIL, "hi"),
        ("run", "--session", EVIL, "--continue", "hi"),
        ("run", "-c", f"{EVIL}=1", "hi"),
        ("run", "--system", f"@/no/{EVIL}", "hi"),
        (EVIL,),
        ("sessions", EVIL),
        ("models", "info", EVIL),
        ("run", "--debug", "--model", f"/no/{EVIL}", "hi"),
    ],
)
def test_errors(shown: Shown, arguments: tuple[str, ...]) -> None:
    clean(shown(*arguments), "skippy-chat: ")
