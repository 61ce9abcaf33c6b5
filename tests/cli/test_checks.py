"""The doctor's checks, each on something whole and on something broken."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from skippy_chat.chat.history import History
from skippy_chat.cli import checks
from skippy_chat.errors import ConfigError


def test_python() -> None:
    assert checks.check_python((3, 10, 0)).state == "ok"
    assert checks.check_python((3, 9, 9)).state == "wrong"


def probe(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_library_that_loads() -> None:
    check = checks.check_native(probe("print('llama-cpp-python 1.2, interface 1')"))
    assert (check.state, check.found) == ("ok", "llama-cpp-python 1.2, interface 1")


def test_a_stock_library_is_told_with_its_mend() -> None:
    check = checks.check_native(probe("print('It is a stock build.\\tRun: x'); raise SystemExit(9)"))
    assert (check.state, check.found, check.mend) == ("wrong", "It is a stock build.", "Run: x")


def test_a_library_that_crashes_does_not_take_the_doctor_along() -> None:
    check = checks.check_native(probe("import os; os.abort()"))
    assert check.state == "wrong"
    assert "-6" in check.found


def test_a_library_that_cannot_be_tried(tmp_path: Path) -> None:
    assert checks.check_native([str(tmp_path / "none")]).state == "wrong"


def test_compiler(tmp_path: Path) -> None:
    nothing = {"PATH": str(tmp_path)}
    assert checks.check_compiler(nothing, needed=True).state == "wrong"
    assert checks.check_compiler(nothing, needed=False).state == "note"
    compiler = tmp_path / "g++"
    compiler.write_text("#!/bin/sh\n", encoding="utf-8")
    compiler.chmod(0o755)
    assert checks.check_compiler(nothing, needed=True).found == str(compiler)
    assert checks.check_compiler({**nothing, "CXX": "icpx"}, needed=True).state == "wrong"


def test_config() -> None:
    def bad() -> str | None:
        raise ConfigError("config.toml, line 1: bad.", "Mend it.")

    assert checks.check_config(lambda: None).state == "ok"
    check = checks.check_config(bad)
    assert (check.state, check.found, check.mend) == ("wrong", "config.toml, line 1: bad.", "Mend it.")


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    assert checks.check_folder("f", folder).state == "ok"
    assert not folder.exists()
    folder.mkdir(mode=0o700)
    assert checks.check_folder("f", folder).state == "ok"
    folder.chmod(0o770)
    check = checks.check_folder("f", folder)
    assert (check.state, check.mend) == ("wrong", f"chmod 700 '{folder}'")
    file = tmp_path / "file"
    file.touch()
    assert checks.check_folder("f", file).state == "wrong"
    assert checks.check_folder("f", file / "below").state == "wrong"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert checks.check_folder("f", tmp_path).state == "wrong"
    assert checks.check_folder("f", tmp_path / "below").state == "wrong"
    tmp_path.chmod(0o700)


def test_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage(tmp_path)
    for free, state in ((1 << 30, "ok"), ((1 << 30) - 1, "wrong")):
        shown = usage._replace(free=free)
        monkeypatch.setattr(shutil, "disk_usage", lambda _path, shown=shown: shown)
        assert checks.check_space(tmp_path / "not" / "yet").state == state


def test_history(tmp_path: Path) -> None:
    database = tmp_path / "history.db"
    assert checks.check_history(database).state == "ok"
    assert not database.exists()
    with History.open(database, now=lambda: 0) as history:
        history.create_session(folder=tmp_path)
    assert checks.check_history(database).found == "1 session"
    database.write_bytes(b"no database" * 1000)
    check = checks.check_history(database)
    assert check.state == "wrong"
    assert check.mend


def test_checkpoints(tmp_path: Path) -> None:
    assert checks.check_checkpoints(tmp_path / "none").state == "ok"


def program(folder: Path, name: str, script: str) -> dict[str, str]:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return {"PATH": str(folder)}


def test_ripgrep(tmp_path: Path) -> None:
    missing = checks.check_ripgrep({"PATH": str(tmp_path)})
    assert (missing.state, "Python" in missing.found) == ("note", True)
    found = checks.check_ripgrep(program(tmp_path, "rg", "echo ripgrep 14.1.0; echo features"))
    assert (found.state, found.found) == ("ok", f"ripgrep 14.1.0, {tmp_path / 'rg'}")
    broken = checks.check_ripgrep(program(tmp_path, "rg", "echo wrong library >&2; exit 1"))
    assert (broken.state, "wrong library" in broken.found) == ("note", True)


def test_bubblewrap_must_be_able_to_make_a_sandbox(tmp_path: Path) -> None:
    missing = checks.check_bubblewrap({"PATH": str(tmp_path)})
    assert (missing.state, "--sandbox is refused" in missing.found) == ("note", True)
    found = checks.check_bubblewrap(program(tmp_path, "bwrap", "echo bubblewrap 0.8.0"))
    assert (found.state, found.found) == ("ok", f"bubblewrap 0.8.0, {tmp_path / 'bwrap'}")
    refused = 'test "$1" = --version && echo bubblewrap 0.8.0 && exit; echo No permissions >&2; exit 1'
    check = checks.check_bubblewrap(program(tmp_path, "bwrap", refused))
    assert (check.state, "No permissions" in check.found) == ("note", True)
    assert "namespaces" in check.mend
