"""The doctor's checks: each looks at one thing and says what it found, and how to mend it."""

from __future__ import annotations

import os
import platform
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from skippy_chat.errors import ModelFileError, SkippyError
from skippy_chat.paths import Paths
from skippy_chat.text.sizes import format_size
from skippy_chat.wording import plural

State: TypeAlias = Literal["ok", "note", "wrong"]

_NEEDED_BYTES = 1 << 30
_SET_UP = "Run: python3 build_llama.py"
_PATIENCE = 120
_PROBE = """
import sys
from skippy_chat.errors import NativeError
from skippy_chat.native.library import ABI, load
try:
    library = load()
except NativeError as error:
    print(error.message, error.hint, sep="\\t")
    sys.exit(9)
print(f"llama-cpp-python {library.version}, interface {ABI}, in {library.folder}")
"""


@dataclass(frozen=True, slots=True)
class Check:
    """What one check found; ``mend`` is empty when nothing need be done."""

    name: str
    state: State
    found: str
    mend: str = ""


def checks(paths: Paths, *, model: Callable[[], str | None], env: Mapping[str, str]) -> list[Check]:
    """Carry out every check, in the order in which their mends should be tried."""
    native = check_native([sys.executable, "-c", _PROBE])
    return [
        check_python(sys.version_info[:3]),
        native,
        check_compiler(env, needed=native.state == "wrong"),
        check_config(model),
        *(
            check_folder(name, folder)
            for name, folder in (
                ("data folder", paths.data_dir),
                ("cache folder", paths.cache_dir),
                ("config folder", paths.config_dir),
            )
        ),
        check_space(paths.cache_dir),
        check_model(paths, model),
        check_history(paths.history_db),
        check_checkpoints(paths.checkpoints_dir),
        check_proofs(paths.proofs_dir),
        check_ripgrep(env),
        check_bubblewrap(env),
    ]


def check_python(version: tuple[int, ...]) -> Check:
    """Check that this Python is new enough."""
    found = f"{'.'.join(map(str, version))} ({platform.machine()}, {sys.platform})"
    if version < (3, 10):
        return Check("Python", "wrong", found, "Python 3.10 or newer is needed.")
    return Check("Python", "ok", found)


def check_native(probe: list[str]) -> Check:
    """Check that the patched library loads, in a process of its own."""
    name = "patched llama.cpp"
    try:
        done = subprocess.run(probe, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "wrong", f"could not be tried: {error}", _SET_UP)
    if done.returncode == 0:
        return Check(name, "ok", done.stdout.strip().splitlines()[-1])
    if done.returncode == 9:
        message, _, hint = done.stdout.strip().splitlines()[-1].partition("\t")
        return Check(name, "wrong", message, hint)
    last = (done.stderr.strip().splitlines() or ["without a word"])[-1]
    return Check(name, "wrong", f"loading it ended with {done.returncode}: {last}", _SET_UP)


def check_compiler(env: Mapping[str, str], *, needed: bool) -> Check:
    """Check for a C++ compiler; it is only needed until the library is built."""
    names = [env["CXX"]] if env.get("CXX") else ["c++", "g++", "clang++"]
    found = next((path for name in names if (path := shutil.which(name, path=env.get("PATH")))), None)
    if found:
        return Check("C++ compiler", "ok", found)
    mend = "Install one: build-essential on Debian, the command line tools on macOS."
    return Check(
        "C++ compiler", "wrong" if needed else "note", f"none of {', '.join(names)} was found.", mend
    )


def check_config(model: Callable[[], str | None]) -> Check:
    """Check that the settings can be read."""
    try:
        model()
    except SkippyError as error:
        return Check("config", "wrong", error.message, error.hint)
    return Check("config", "ok", "readable")


def check_folder(name: str, folder: Path) -> Check:
    """Check that a folder is ours alone and can be written, or can be made."""
    try:
        info = folder.stat()
    except FileNotFoundError:
        return _check_makeable(name, folder)
    except OSError as error:
        return Check(name, "wrong", f"{folder}: {error.strerror}.", "Mend its rights, or choose another.")
    if not stat.S_ISDIR(info.st_mode):
        return Check(name, "wrong", f"{folder} is not a folder.", "Move it away, or choose another.")
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        mode = f"{stat.S_IMODE(info.st_mode):04o}"
        return Check(
            name, "wrong", f"{folder}: others can write to it (mode {mode}).", f"chmod 700 '{folder}'"
        )
    if not writable(folder):
        return Check(name, "wrong", f"{folder} cannot be written.", "Mend its rights, or choose another.")
    return Check(name, "ok", str(folder))


def _check_makeable(name: str, folder: Path) -> Check:
    parent = next(each for each in folder.parents if each.exists())
    if writable(parent):
        return Check(name, "ok", f"{folder} (made at first use)")
    return Check(
        name, "wrong", f"{folder} cannot be made in {parent}.", "Mend its rights, or choose another."
    )


def writable(folder: Path) -> bool:
    """Tell whether a file can be made in a folder, without making one."""
    return os.access(folder, os.W_OK | os.X_OK)


def check_space(folder: Path) -> Check:
    """Check that there is room for a model and checkpoints."""
    there = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(there).free
    found = f"{format_size(free)} free for {folder}"
    if free < _NEEDED_BYTES:
        mend = "Free some, or choose another folder with --cache-dir."
        return Check("disk", "wrong", f"{found}, {format_size(_NEEDED_BYTES)} are needed.", mend)
    return Check("disk", "ok", found)


def check_model(paths: Paths, model: Callable[[], str | None]) -> Check:
    """Check that the model which would be loaded is here and whole."""
    from skippy_chat.cli.located import locate  # noqa: PLC0415 - each check imports what it looks at
    from skippy_chat.models.inspect import inspect_model  # noqa: PLC0415

    try:
        path = locate(model(), paths)
        if path is None:
            return Check("model", "note", "not made yet.", "It is made at first use: skippy-chat run hello")
        found = inspect_model(path)
    except ModelFileError as error:
        return Check("model", "wrong", error.message, error.hint)
    except SkippyError:
        return Check("model", "note", "not looked at: the settings cannot be read.")
    return Check("model", "ok", f"{found.name} ({found.architecture}), {format_size(found.size)}, {path}")


def check_history(database: Path) -> Check:
    """Check that stored conversations can be read."""
    from skippy_chat.chat.history import History  # noqa: PLC0415

    if not database.exists():
        return Check("conversations", "ok", "none yet")
    try:
        with History.open(database, now=lambda: 0) as history:
            count = len(history.sessions())
    except SkippyError as error:
        return Check("conversations", "wrong", error.message, error.hint)
    return Check("conversations", "ok", plural(count, "session"))


def check_checkpoints(root: Path) -> Check:
    """Check that stored checkpoints can be read."""
    from skippy_chat.checkpoints.survey import store_stats  # noqa: PLC0415

    try:
        found = store_stats(root)
    except SkippyError as error:
        mend = error.hint or "Run: skippy-chat cache clear"
        return Check("checkpoints", "wrong", error.message, mend)
    trouble = [text for each in found for text in (each.notice, each.last_quarantine) if text]
    if trouble:
        mend = "Nothing is lost but time; skippy-chat cache clear starts afresh."
        return Check("checkpoints", "note", trouble[0], mend)
    nodes, size = sum(each.nodes for each in found), sum(each.allocated_bytes for each in found)
    return Check("checkpoints", "ok", f"{plural(nodes, 'checkpoint')}, {format_size(size)}")


def check_proofs(folder: Path) -> Check:
    """Say of which models the state was found to come back exactly, and of which not."""
    from skippy_chat.engine.selftest import Verdicts  # noqa: PLC0415

    found = list(Verdicts(folder).all())
    off = sorted(
        {f"{subject.name} ({verdict.fault})" for subject, verdict in found if verdict.method == "off"}
    )
    proven = sorted({subject.name for subject, verdict in found if verdict.method != "off"})
    if off:
        return Check(
            "exact state", "note", f"checkpoints are off for {'; '.join(off)}.", "Answers are not touched."
        )
    return Check(
        "exact state", "ok", f"proven for {', '.join(proven)}" if proven else "no model was tried yet"
    )


def check_ripgrep(env: Mapping[str, str]) -> Check:
    """Check for ripgrep, which ``search_files`` uses where it is there."""
    found = shutil.which("rg", path=env.get("PATH"))
    if found is None:
        missing = "not installed: search_files uses Python, which is slower and knows other expressions."
        return Check("ripgrep", "note", missing, "Install ripgrep if models search large folders.")
    return _answers("ripgrep", [found, "--version"], "search_files will fail.")


def check_bubblewrap(env: Mapping[str, str]) -> Check:
    """Check for bubblewrap, which ``--sandbox`` needs, and that it may make a sandbox here."""
    from skippy_chat.agent.tools.sandbox import find_bubblewrap  # noqa: PLC0415

    found = find_bubblewrap(env)
    if found is None:
        missing = "not installed: --sandbox is refused."
        return Check(
            "bubblewrap", "note", missing, "Install bubblewrap (Linux only) for run_command in a sandbox."
        )
    version = _answers("bubblewrap", [str(found), "--version"], "--sandbox will fail.")
    if version.state != "ok":
        return version
    trial = [str(found), "--unshare-all", "--ro-bind", "/", "/", "true"]
    made = _answers("bubblewrap", trial, "--sandbox will fail: does this system let users make namespaces?")
    return version if made.state == "ok" else made


def _answers(name: str, line: list[str], without: str) -> Check:
    """Run a small program; what it says first is what was found."""
    try:
        done = subprocess.run(line, capture_output=True, text=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name, "note", f"{line[0]} cannot be run: {error}.", without)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return Check(name, "note", f"{line[0]} fails: {said}.", without)
    return Check(name, "ok", f"{(done.stdout.strip().splitlines() or ['works'])[0]}, {line[0]}")
