"""llama-server of the unpatched source, over loopback: its context checkpoints as they come, its slot saved by hand.

Invariant: the process that is started here is ended here, whatever happens.
"""

from __future__ import annotations

import http.client
import json
import shlex
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from skippy_chat.bench.stock import Stock
from skippy_chat.bench.systems.system import Asked, PeerFailed, Prompt

MAX_TOKENS = 8
_HOST = "127.0.0.1"
_READY_SECONDS = 300.0
_ANSWER_SECONDS = 3600.0
_PAUSE = 0.05
_FILE = "slot.bin"


class LlamaServer:
    """One llama-server with one slot; ``keep`` saves the slot, ``restart`` restores it."""

    name = "llama-server (stock)"

    def __init__(
        self,
        stock: Stock,
        model: Path,
        folder: Path,
        *,
        threads: int,
        context: int,
        ubatch: int,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Start it and wait until it answers.

        Raises:
            PeerFailed: it does not start.
        """
        self._folder = folder / "slots"
        self._folder.mkdir(parents=True, exist_ok=True)
        self._log = folder / "llama-server.log"
        self._clock, self._sleep = clock, sleep
        self._kept = False
        self._port = _free_port()
        self._words = [str(stock.server), "-m", str(model), "-c", str(context), "-t", str(threads)]
        self._words += ["-ub", str(ubatch), "-fa", "on", "-ngl", "0", "-np", "1"]
        self._words += ["--slot-save-path", f"{self._folder}/", "--host", _HOST, "--port", str(self._port)]
        self.command = shlex.join(self._words)
        self._process = self._start()

    def ask(self, prompt: Prompt) -> Asked:
        """Answer ids; the first line of the stream is the first token."""
        body = {
            "prompt": list(prompt.ids),
            "n_predict": MAX_TOKENS,
            "temperature": 0,
            "cache_prompt": True,
            "stream": True,
        }
        began = self._clock()
        first: float | None = None
        last: dict[str, Any] = {}
        for value in self._stream("/completion", body):
            first = self._clock() - began if first is None else first
            last = value
        timings = last.get("timings", {})
        if first is None or "prompt_n" not in timings:
            raise PeerFailed(f"llama-server answered something else: {str(last)[:200]}")
        read, total = int(timings["prompt_n"]), len(prompt.ids)
        return Asked(total, int(timings.get("cache_n", total - read)), first)

    def keep(self) -> None:
        """Save the slot to its file."""
        self._post("/slots/0?action=save", {"filename": _FILE})
        self._kept = True

    def restart(self) -> None:
        """Start it anew and restore the slot that was kept."""
        self.close()
        self._process = self._start()
        if self._kept:
            self._post("/slots/0?action=restore", {"filename": _FILE})

    def close(self) -> None:
        """End the process."""
        if self._process.poll() is None:
            self._process.terminate()
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(self._words, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._process = process
        end = self._clock() + _READY_SECONDS
        try:
            while not self._healthy():
                if process.poll() is not None:
                    raise PeerFailed(f"llama-server ended with {process.returncode}: {self._last_line()}")
                if self._clock() > end:
                    raise PeerFailed(f"llama-server is not ready after {_READY_SECONDS:.0f} seconds.")
                self._sleep(_PAUSE)
        except BaseException:
            self.close()
            raise
        return process

    def _healthy(self) -> bool:
        try:
            with self._request("GET", "/health", None, 5.0) as response:
                return response.status == http.client.OK
        except (OSError, http.client.HTTPException):
            return False

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        with self._request("POST", path, body, _ANSWER_SECONDS) as response:
            text = response.read().decode("utf-8", "replace")
            if response.status != http.client.OK:
                raise PeerFailed(f"llama-server refused {path}: {text[:200]}")
            value: dict[str, Any] = json.loads(text)
            return value

    def _stream(self, path: str, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
        try:
            with self._request("POST", path, body, _ANSWER_SECONDS) as response:
                if response.status != http.client.OK:
                    raise PeerFailed(f"llama-server refused: {response.read()[:200]!r}")
                while line := response.readline():
                    if line.startswith(b"data: ") and not line.startswith(b"data: [DONE]"):
                        yield json.loads(line[len(b"data: ") :])
        except (OSError, http.client.HTTPException) as error:
            raise PeerFailed(
                f"llama-server broke off: {error}. Its last line: {self._last_line()}"
            ) from error

    @contextmanager
    def _request(
        self, method: str, path: str, body: dict[str, Any] | None, timeout: float
    ) -> Iterator[http.client.HTTPResponse]:
        connection = http.client.HTTPConnection(_HOST, self._port, timeout=timeout)
        try:
            text = None if body is None else json.dumps(body)
            connection.request(method, path, text, {"Content-Type": "application/json"})
            yield connection.getresponse()
        finally:
            connection.close()

    def _last_line(self) -> str:
        lines = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
        return lines[-1] if lines else "none"


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        return int(probe.getsockname()[1])
