"""Starting a command again where torch is, and apart from the terminal."""

from __future__ import annotations

import ctypes.util
import importlib.util
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from training import environment


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """A stand-in for the environment's Python that writes down how it was called."""
    script = tmp_path / "python"
    said = "$@ entered=$SKIPPY_TRAINING_ENTERED wait=$OMP_WAIT_POLICY heap=${GLIBC_TUNABLES%%=*}$LD_PRELOAD"
    script.write_text(f'#!/bin/sh\necho "{said}"\nexit 7\n')
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return script


@pytest.fixture(autouse=True)
def without_torch(monkeypatch: pytest.MonkeyPatch, python: Path) -> None:
    monkeypatch.delenv("SKIPPY_TRAINING_ENTERED", raising=False)
    monkeypatch.delenv("GLIBC_TUNABLES", raising=False)
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    monkeypatch.setattr(ctypes.util, "find_library", lambda name: None)
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(environment, "make", lambda say: python)
    monkeypatch.setattr(sys, "argv", ["training", "train", "--minutes", "3"])


def test_the_command_is_started_again_and_its_end_is_this_ones(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        environment.enter()
    assert ended.value.code == 7
    assert (
        capfd.readouterr().out
        == "-m training train --minutes 3 entered=1 wait=PASSIVE heap=glibc.malloc.hugetlb\n"
    )


@pytest.mark.skipif(
    sys.platform != "linux", reason="libraries are loaded before others in this way on Linux only"
)
def test_tcmalloc_keeps_the_heap_where_it_is_installed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(ctypes.util, "find_library", "lib{}.so.2".format)
    with pytest.raises(SystemExit):
        environment.enter()
    assert "heap=libtcmalloc_minimal.so.2\n" in capfd.readouterr().out


def test_where_it_was_started_again_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKIPPY_TRAINING_ENTERED", "1")
    environment.enter()


def test_in_the_background_this_one_ends_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []

    class Watched(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Watched)
    log = tmp_path / "run" / "train.log"
    with pytest.raises(SystemExit) as ended:
        environment.enter(background=log)
    assert ended.value.code == 0
    assert len(started) == 1
    assert started[0].wait(60) == 7
    assert (
        log.read_text() == "-m training train --minutes 3 entered=1 wait=PASSIVE heap=glibc.malloc.hugetlb\n"
    )
