"""The installed program, run as a person would run it: real processes, the default model, folders of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Program:
    """The command line on folders of its own; every call is a new process."""

    home: Path
    model: Path
    options: tuple[str, ...] = ("--temperature", "0", "--threads", "1", "--max-tokens", "12")
    env: dict[str, str] = field(default_factory=dict)

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def cache(self) -> Path:
        return self.home / "cache"

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "skippy_chat", *arguments]

    def environment(self) -> dict[str, str]:
        kept = {key: value for key, value in os.environ.items() if not key.startswith("SKIPPY_")}
        folders = {
            "SKIPPY_DATA_DIR": str(self.data),
            "SKIPPY_CACHE_DIR": str(self.cache),
            "SKIPPY_CONFIG_DIR": str(self.home / "config"),
            "SKIPPY_MODEL": str(self.model),
        }
        return {**kept, **folders, **self.env}

    def call(
        self, *arguments: str, stdin: str | None = None, timeout: float = 100
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            stdin=subprocess.DEVNULL if stdin is None else None,
            capture_output=True,
            text=True,
            encoding="utf-8",
            env=self.environment(),
            cwd=self.home,
            timeout=timeout,
            check=False,
        )

    def held(self, *arguments: str) -> subprocess.Popen[str]:
        """A program that is held open: it hears on stdin, what it says on stdout is kept, its talk is not."""
        return subprocess.Popen(
            self.command(*arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self.environment(),
            cwd=self.home,
        )

    def run(self, *arguments: str) -> dict[str, Any]:
        """``run --json`` that must succeed; return the object."""
        done = self.call("run", *self.options, "--json", *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads(done.stdout)
        return result

    def error(self, *arguments: str, code: int) -> dict[str, str]:
        """``run --json`` that must fail with ``code``; return the error."""
        done = self.call("run", *self.options, "--json", *arguments)
        assert done.returncode == code, done.stdout + done.stderr
        result: dict[str, str] = json.loads(done.stdout)["error"]
        return result


@pytest.fixture
def program(tmp_path: Path, default_model: Path) -> Program:
    return Program(tmp_path, default_model)
