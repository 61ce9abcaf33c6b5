"""llama-cpp-python with its LlamaDiskCache, in a process of its own that can be ended and started again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from skippy_chat.bench.systems.system import Asked, PeerFailed, Prompt

MAX_TOKENS = 8
_GOODBYE_SECONDS = 30.0


class DiskCache:
    """llama-cpp-python's high-level class with a disk cache set."""

    name = "llama-cpp-python, LlamaDiskCache"

    def __init__(self, model: Path, folder: Path, *, threads: int, context: int, ubatch: int) -> None:
        """Start its process and load the model.

        Raises:
            PeerFailed: it does not load.
        """
        self._log = folder / "llama-cpp-python.log"
        self._settings = {
            "model": str(model),
            "cache": str(folder / "disk-cache"),
            "threads": threads,
            "context": context,
            "ubatch": ubatch,
        }
        self.command = (
            f"Llama(n_ctx={context}, n_batch={ubatch}, n_ubatch={ubatch}, n_threads={threads}, flash_attn=True), "
            "LlamaDiskCache(folder)"
        )
        self._process = self._start()

    def ask(self, prompt: Prompt) -> Asked:
        """Answer ids."""
        value = self._talk({"ids": list(prompt.ids), "max_tokens": MAX_TOKENS})
        return Asked(len(prompt.ids), len(prompt.ids) - int(value["read"]), float(value["first_token"]))

    def keep(self) -> None:
        """Nothing to do: each answer is stored when it is complete."""

    def restart(self) -> None:
        """End its process and start another on the same cache folder."""
        self.close()
        self._process = self._start()

    def close(self) -> None:
        """End its process."""
        if self._process.poll() is None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            try:
                self._process.wait(_GOODBYE_SECONDS)
            except subprocess.TimeoutExpired:
                self._process.kill()
        self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _start(self) -> subprocess.Popen[str]:
        with self._log.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "skippy_chat.bench.systems.disk_cache_process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                encoding="utf-8",
            )
        self._process = process
        try:
            self._talk(self._settings)
        except BaseException:
            self.close()
            raise
        return process

    def _talk(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            line = ""
        if not line:
            words = self._log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            raise PeerFailed(f"llama-cpp-python ended: {words[-1] if words else 'without a word'}")
        value: dict[str, Any] = json.loads(line)
        if "error" in value:
            raise PeerFailed(f"llama-cpp-python failed: {value['error']}")
        return value
