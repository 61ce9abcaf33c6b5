"""Measure the app: streaming beside headless, opening a long session, a key while text streams.

Run it on a quiet machine from the project's folder: ``.venv/bin/python -m scripts.measure_app``. Every program runs in
a terminal of its own; the terminal's reader only looks for bytes, so that it costs next to nothing itself.
"""

from __future__ import annotations

import argparse
import json
import os
import pty
import re
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from typing import Any

from skippy_chat.chat.messages import Message, ToolCall
from skippy_chat.cli import main as skippy_chat
from skippy_chat.cli.host import process_host
from skippy_chat.events import Event, TextDelta
from tests.fakes.conversation import Call, FakeConversation, Step, Turn

ROOT = Path(__file__).parents[1]
PATIENCE = 120.0
TEXT = (
    "The tide comes in twice a day and nobody on the whole island can say for sure why it does so but the **keeper**"
    " writes it down in his `log`, line after line, and goes to bed when the lamp is lit. \n\n"
)
WORDS = TEXT.split(" ")
QUESTION = "Write a long story about a lighthouse keeper and the sea."
RESULT = "a line of what a tool gave\n" * 1300
OUTPUT = "".join(f"\x1b[32mline {n}\x1b[0m of what a build says as it goes on\r\n" for n in range(100))
FLOOD = 4000  # times the output
READY = re.compile(rb"(?<!l)ready")  # no "already"
SPEED = re.compile(rb"([\d,]+\.\d) tok/s")


class Paced(FakeConversation):
    """Streams tokens on a fixed schedule and notes when the last one was taken."""

    def __init__(self, tokens: int, per_second: float, history: int, report: Path) -> None:
        super().__init__([Turn(tuple(f"{WORDS[n % len(WORDS)]} " for n in range(tokens)))])
        self._per_second = per_second
        self._report = report
        parent = None
        for number in range(history):
            text = f"message {number}\n\nwith **two** paragraphs and `code`"
            role = "assistant" if number % 2 else "user"
            parent = self.add(role, text, parent).id  # type: ignore[arg-type] # a Role, by turns

    def _answer(self, question: Message) -> Iterator[Event]:
        began, used, count = 0.0, 0.0, 0
        for event in super()._answer(question):
            if isinstance(event, TextDelta):
                began, used = began or time.monotonic(), used or time.process_time()
                time.sleep(max(0.0, began + count / self._per_second - time.monotonic()))
                count += 1
            yield event
        seconds = time.monotonic() - began
        found = {"rate": (count - 1) / seconds, "cpu": (time.process_time() - used) / seconds}
        self._report.write_text(json.dumps(found))


def called(history: int) -> FakeConversation:
    """Return a session of so many messages, every fourth a result of 35 KB."""
    conversation = FakeConversation()
    parent = None
    for number in range(0, history, 4):
        asked = conversation.add("user", f"message {number}", parent)
        answer = conversation.add("assistant", "Let me look.", asked.id)
        call = ToolCall(f"c{number}", "read_file", '{"path": "a.txt"}')
        conversation._tree[answer.id] = replace(answer, tool_calls=(call,), finish_reason="tool_calls")
        result = conversation.add("tool", RESULT, answer.id)
        conversation._tree[result.id] = replace(result, tool_call_id=call.id, status="ok")
        parent = conversation.add("assistant", f"message {number + 3}\n\n{TEXT}", result.id).id
    return conversation


def flooding() -> FakeConversation:
    """Return a conversation whose first turn runs a tool that says 22 MB at once, and goes on."""
    call = Call("c1", "run_command", output=(OUTPUT,) * FLOOD, endless=True)
    return FakeConversation([Turn(("Done.",), steps=(Step((call,)),))])


class Terminal:
    """A program in a terminal of its own; ``seen`` is everything it wrote since it was last cleared."""

    def __init__(self, *arguments: str, env: Mapping[str, str] | None = None) -> None:
        master, slave = pty.openpty()
        ioctl(master, TIOCSWINSZ, pack("HHHH", 40, 120, 0, 0))
        self._master = master
        self.seen = b""
        self.process = subprocess.Popen(
            arguments,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            cwd=ROOT,
            start_new_session=True,
            env={**os.environ, "TERM": "xterm-256color", **(env or {})},
        )
        os.close(slave)

    def type(self, keys: str) -> None:
        """Send keys and forget what was seen."""
        self.seen = b""
        os.write(self._master, keys.encode())

    def wait_for(self, wanted: bytes | re.Pattern[bytes]) -> float:
        """Read until it shows; return the seconds that took."""
        pattern = wanted if isinstance(wanted, re.Pattern) else re.compile(re.escape(wanted))
        began = time.monotonic()
        while not pattern.search(self.seen):
            left = began + PATIENCE - time.monotonic()
            if left <= 0 or not select.select([self._master], [], [], left)[0]:
                raise SystemExit(f"never showed {wanted!r}: {self.seen[-800:]!r}")
            self.seen += os.read(self._master, 65536)
        return time.monotonic() - began

    def drain(self) -> None:
        """Read what has been written and not been read."""
        while select.select([self._master], [], [], 0)[0]:
            os.read(self._master, 65536)

    def end(self) -> None:
        """Leave by SIGTERM, reading what is still written."""
        self.process.send_signal(signal.SIGTERM)
        while self.process.poll() is None:
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    os.read(self._master, 65536)
                except OSError:
                    break
        self.process.wait()
        os.close(self._master)


def paced(report: Path, *, app: bool, tokens: int, history: int = 0) -> Terminal:
    """Start the app, or headless, on a paced stream of 60 tokens a second."""
    return scripted("app" if app else "run", report, tokens, history)


def scripted(kind: str, report: Path, tokens: int = 1, history: int = 0) -> Terminal:
    """Start the program on a scripted conversation."""
    return Terminal(
        sys.executable, "-m", "scripts.measure_app", "--child", kind, str(tokens), str(history), str(report)
    )


def child(kind: str, tokens: int, history: int, report: Path) -> int:
    """Be the program that ``paced`` starts."""
    conversation: FakeConversation
    if kind == "flood":
        conversation = flooding()
    else:
        conversation = called(history) if kind == "called" else Paced(tokens, 60.0, history, report)
    host = replace(process_host(), open_conversation=lambda **_asked: conversation)
    return skippy_chat(["run", "--new", QUESTION] if kind == "run" else ["--new"], host)


def fake_stream(folder: Path, pairs: int, tokens: int) -> dict[str, Any]:
    """Stream on a fixed schedule through both faces, taking turns."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    shares: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * pairs):
        app = number % 2 == 0
        report = folder / "report.json"
        report.unlink(missing_ok=True)
        terminal = paced(report, app=app, tokens=tokens)
        if app:
            terminal.wait_for(READY)
            terminal.type("go\r")
        terminal.wait_for(b"tok/s")
        terminal.end()
        found = json.loads(report.read_text())
        rates[app].append(found["rate"])
        shares[app].append(found["cpu"])
    used = {
        f"{face}_cpu_share": round(statistics.median(shares[face == "app"]), 3)
        for face in ("app", "headless")
    }
    return {**compared(rates[True], rates[False]), **used}


def real_stream(pairs: int, tokens: int, threads: int, model: str | None) -> dict[str, Any]:
    """Stream the same answer from the real model through both faces, taking turns; speeds are the engine's own."""
    chosen = ["--model", model] if model else []
    options = ["--new", "--temperature", "0", "--max-tokens", str(tokens), "--threads", str(threads), *chosen]
    program = [sys.executable, "-m", "skippy_chat"]
    rates: dict[bool, list[float]] = {True: [], False: []}
    for number in range(2 * pairs):
        with tempfile.TemporaryDirectory() as data:
            if number % 2:
                done = subprocess.run(
                    [*program, "run", *options, "--json", "--data-dir", data, QUESTION],
                    cwd=ROOT,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    check=True,
                )
                rates[False].append(json.loads(done.stdout)["steps"][0]["timings"]["tokens_per_second"])
                continue
            terminal = Terminal(*program, *options, "--data-dir", data)
            terminal.wait_for(READY)
            terminal.type(f"{QUESTION}\r")
            terminal.wait_for(SPEED)
            found = SPEED.search(terminal.seen)
            assert found is not None
            rates[True].append(float(found[1].replace(b",", b"")))
            terminal.end()
    return compared(rates[True], rates[False])


def compared(app: list[float], headless: list[float]) -> dict[str, Any]:
    """Return both medians, and the median of the pairs' ratios."""
    ratios = [ours / theirs for ours, theirs in zip(app, headless, strict=True)]
    return {
        "app_tokens_per_second": round(statistics.median(app), 2),
        "headless_tokens_per_second": round(statistics.median(headless), 2),
        "ratio_median": round(statistics.median(ratios), 4),
        "ratios": [round(ratio, 3) for ratio in ratios],
    }


def opening(folder: Path, times: int) -> dict[str, Any]:
    """Time from the program's start until the session's end shows, for no and for 300 messages, taking turns."""
    seconds: dict[int, list[float]] = {0: [], 300: []}
    for number in range(2 * times):
        history = 300 if number % 2 else 0
        terminal = paced(folder / "report.json", app=True, tokens=1, history=history)
        seconds[history].append(terminal.wait_for(b"message 299" if history else READY))
        terminal.end()
    empty, full = (statistics.median(seconds[history]) for history in (0, 300))
    return {
        "empty_seconds": round(empty, 2),
        "300_messages_seconds": round(full, 2),
        "beyond_empty_seconds": round(full - empty, 2),
    }


def calls(folder: Path, times: int) -> dict[str, Any]:
    """Time opening 300 messages with results among them beside 300 of text, and a flood of a tool's output."""
    seconds: dict[str, list[float]] = {"app": [], "called": []}
    for number in range(2 * times):
        kind = "called" if number % 2 else "app"
        terminal = scripted(kind, folder / "report.json", history=300)
        seconds[kind].append(terminal.wait_for(b"message 299"))
        terminal.end()
    terminal = scripted("flood", folder / "report.json")
    terminal.wait_for(READY)
    terminal.type("go\r")
    flood = terminal.wait_for(f"{100 * FLOOD:,} lines".encode())
    terminal.type("Q")
    key = terminal.wait_for(b"Q")
    terminal.end()
    return {
        "300_messages_seconds": round(statistics.median(seconds["app"]), 2),
        "300_with_results_seconds": round(statistics.median(seconds["called"]), 2),
        "flood_megabytes": round(len(OUTPUT) * FLOOD / 1e6),
        "flood_seconds": round(flood, 2),
        "key_after_flood_ms": round(1000 * key, 1),
    }


def keys(folder: Path, history: int) -> dict[str, Any]:
    """Time from a key to its paint while text streams under a long session."""
    terminal = paced(folder / "report.json", app=True, tokens=3000, history=history)
    terminal.wait_for(b"message 299" if history else READY)
    terminal.type("go\r")
    terminal.wait_for(b"writing")
    waits = []
    for number in range(40):
        time.sleep(0.11 + 0.007 * (number % 13))  # at all phases of the drain
        key = "QXZJ"[number % 4]
        terminal.type(key)
        waits.append(terminal.wait_for(key.encode()))
    terminal.end()
    waits.sort()
    return {
        "median_ms": round(1000 * statistics.median(waits), 1),
        "p95_ms": round(1000 * waits[37], 1),
        "worst_ms": round(1000 * waits[-1], 1),
    }


def main() -> int:
    """Measure everything and print one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=3)
    parser.add_argument("--tokens", type=int, default=600)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--model")
    parser.add_argument("--only", choices=["fake", "real", "opening", "keys", "calls"])
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        kind, tokens, history, report = options.child
        return child(kind, int(tokens), int(history), Path(report))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ.update({f"SKIPPY_{each}_DIR": str(folder / each.lower()) for each in ("DATA", "CONFIG")})
        steps: dict[str, Callable[[], dict[str, Any]]] = {
            "opening": lambda: opening(folder, options.pairs),
            "keys": lambda: {"empty": keys(folder, 0), "300 messages": keys(folder, 300)},
            "calls": lambda: calls(folder, options.pairs),
            "fake": lambda: fake_stream(folder, options.pairs, options.tokens),
            "real": lambda: real_stream(options.pairs, options.tokens, options.threads, options.model),
        }
        found = {what: step() for what, step in steps.items() if options.only in (None, what)}
    print(json.dumps(found, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
