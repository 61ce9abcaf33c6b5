"""The set-up command's own logic: no network, no compiler, no llama.cpp."""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import io
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import tarfile
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import build_llama

ROOT = Path(build_llama.__file__).parent
LINUX = "Linux"


def options(*argv: str, environ: dict[str, str] | None = None, system: str = LINUX) -> build_llama.Options:
    return build_llama.parse_options(argv, environ or {"HOME": "/home/someone"}, system)


def make_setup(tmp_path: Path, *argv: str) -> build_llama.Setup:
    """Return a set-up whose cache and virtual environment lie in ``tmp_path``."""
    got = options("--cache-dir", str(tmp_path / "cache"), "--venv", str(tmp_path / "venv"), *argv)
    console = build_llama.Console(io.StringIO(), time.monotonic, live=False)
    (tmp_path / "cache").mkdir()
    runner = build_llama.Runner(console, tmp_path / "log", False, dict(os.environ))
    return build_llama.Setup(
        got, build_llama.Places(got.cache_dir, "digest", "family"), "cc 1", console, runner
    )


class TestPythonVersion:
    def test_parses_on_python_3_8(self) -> None:
        ast.parse((ROOT / "build_llama.py").read_text(encoding="utf-8"), feature_version=(3, 8))

    def test_nothing_newer_runs_before_the_version_is_looked_at(self) -> None:
        body = ast.parse((ROOT / "build_llama.py").read_text(encoding="utf-8")).body
        check = next(
            i for i, node in enumerate(body) if isinstance(node, ast.If) and "NEEDED" in ast.dump(node.test)
        )
        simple = (ast.Import, ast.ImportFrom, ast.Expr, ast.If, ast.Assign, ast.FunctionDef)
        assert all(isinstance(node, simple) for node in body[:check])

    def test_uses_the_standard_library_only(self) -> None:
        tree = ast.parse((ROOT / "build_llama.py").read_text(encoding="utf-8"))
        names = {
            alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
        }
        names |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {name.split(".")[0] for name in names} <= sys.stdlib_module_names

    def test_names_a_newer_python(self) -> None:
        text = build_llama.too_old_message((3, 8, 18), "/usr/bin/python3", "python3.12")
        assert "3.10 or newer" in text
        assert "3.8.18 (/usr/bin/python3)" in text
        assert "mend: run it with python3.12" in text

    def test_says_what_to_install_when_there_is_none(self) -> None:
        assert "install Python 3.10" in build_llama.too_old_message((3, 9, 1), "python", None)


class TestOptions:
    def test_default_is_set_up(self) -> None:
        got = options()
        assert (got.command, got.backend, got.extras) == ("setup", "cpu", ("app",))
        assert got.venv == ROOT / ".venv"
        assert got.cache_dir == Path("/home/someone/.cache/skippy-chat-build")

    def test_own_defines_come_last(self) -> None:
        got = options("--backend", "cuda", "-DGGML_CUDA=OFF", "-D", "X=a b")
        assert got.cmake_options[-3:] == ("-DGGML_CUDA=ON", "-DGGML_CUDA=OFF", "-DX=a b")

    def test_rest_goes_on_untouched(self) -> None:
        got = options("test", "--jobs", "3", "--", "-k", "one", "--jobs", "--", "x")
        assert got.rest == ("-k", "one", "--jobs", "--", "x")
        assert (got.jobs, got.extras) == (3, ("app", "test"))

    def test_active_environment_is_used_unless_another_is_named(self) -> None:
        environ = {"HOME": "/h", "VIRTUAL_ENV": "/active"}
        assert options(environ=environ).venv == Path("/active")
        assert options("--venv", "/named", environ=environ).venv == Path("/named")

    def test_check_is_a_flag_and_a_command(self) -> None:
        assert options("check").check
        assert options("demo", "--check").check
        assert not options("demo").check

    @pytest.mark.parametrize(
        ("argv", "system", "message"),
        [
            (["--jobs", "0"], LINUX, "--jobs must be 1 or more, not 0"),
            (["--backend", "metal"], LINUX, "macOS only"),
            (["--backend", "cpu"], "Darwin", "always builds Metal"),
            (["--offline", "/no/such/folder"], LINUX, "/no/such/folder is not a folder"),
            (["fetch"], LINUX, "fetch needs to know where to"),
        ],
    )
    def test_wrong_use(self, argv: list[str], system: str, message: str) -> None:
        with pytest.raises(build_llama.WrongUseError, match=message) as caught:
            options(*argv, system=system)
        assert caught.value.exit_code == 2

    def test_unknown_option_exits_2(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as caught:
            options("--no-such-option")
        assert caught.value.code == 2
        assert "--no-such-option" in capsys.readouterr().err

    @pytest.mark.parametrize(
        ("environ", "system", "path"),
        [
            ({"HOME": "/h", "XDG_CACHE_HOME": "/x"}, LINUX, "/x/skippy-chat-build"),
            ({"HOME": "/h", "XDG_CACHE_HOME": "relative"}, LINUX, "/h/.cache/skippy-chat-build"),
            ({"HOME": "/h"}, "Darwin", "/h/Library/Caches/skippy-chat-build"),
            ({"HOME": "/h", "LOCALAPPDATA": "/l"}, "Windows", "/l/skippy-chat-build"),
        ],
    )
    def test_cache_folder(self, environ: dict[str, str], system: str, path: str) -> None:
        assert build_llama.default_cache_dir(environ, system) == Path(path)

    def test_jobs_follow_cpus_and_memory(self) -> None:
        assert build_llama.default_jobs(8, None) == 8
        assert build_llama.default_jobs(8, 3 * 2**30) == 3
        assert build_llama.default_jobs(8, 2**20) == 1


class TestDigest:
    def inputs(self, *argv: str, environ: dict[str, str] | None = None, **change: str) -> str:
        compiler, cpu = change.get("compiler", "cc 12"), change.get("cpu", "x86_64 avx2")
        return build_llama.digest_of(build_llama.wheel_inputs(options(*argv), environ or {}, compiler, cpu))

    def test_same_inputs_same_name(self) -> None:
        assert self.inputs() == self.inputs("demo", "--jobs", "7", "--verbose")

    def test_every_input_counts(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        names = [
            self.inputs(),
            self.inputs("--backend", "cuda"),
            self.inputs("-DGGML_NATIVE=OFF"),
            self.inputs(environ={"CXXFLAGS": "-O1"}),
            self.inputs(compiler="cc 13"),
            self.inputs(cpu="x86_64 avx2 avx512f"),
        ]
        (tmp_path / "0001-a.patch").write_text("other")
        monkeypatch.setattr(build_llama, "PATCHES", tmp_path)
        names.append(self.inputs())
        (tmp_path / "0001-a.patch").write_text("another")
        names.append(self.inputs())
        monkeypatch.setattr(build_llama, "SOURCE_SHA256", "0" * 64)
        names.append(self.inputs())
        monkeypatch.setattr(build_llama, "RECIPE", -1)
        names.append(self.inputs())
        assert len(set(names)) == len(names)

    def test_unrelated_variables_do_not_count(self) -> None:
        assert self.inputs(environ={"EDITOR": "vi"}) == self.inputs()

    def test_order_of_keys_does_not_count(self) -> None:
        assert build_llama.digest_of({"a": 1, "b": 2}) == build_llama.digest_of({"b": 2, "a": 1})

    def test_cpu_features_leave_out_mitigations(self) -> None:
        text = "processor : 0\nmodel name : X\nflags : fpu sse4_2 avx2 md_clear ssbd fma\nbugs : spectre\n"
        assert build_llama.cpu_features(text) == ("avx2", "fma", "sse4_2")
        assert build_llama.cpu_features("Features : fp asimd sve\n") == ("asimd", "sve")
        assert build_llama.cpu_features("nothing here") == ()


def git(folder: Path, *arguments: str) -> str:
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(
        ["git", *arguments], cwd=folder, env=environ, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.fixture
def patched(tmp_path: Path) -> tuple[Path, Path]:
    """Return an unpatched tree and a patch that changes one file, adds one and removes one."""
    work = tmp_path / "work"
    work.mkdir()
    git(work, "init", "-q")
    (work / "changed.txt").write_text("one\n")
    (work / "removed.txt").write_text("gone\n")
    git(work, "add", ".")
    (work / "changed.txt").write_text("two\n")
    (work / "removed.txt").unlink()
    (work / "added.txt").write_text("new\n")
    git(work, "add", "-N", "added.txt")
    patch = tmp_path / "0001-change.patch"
    patch.write_text(git(work, "diff", "--full-index"))
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "changed.txt").write_text("one\n")
    (tree / "removed.txt").write_text("gone\n")
    return tree, patch


class TestPatches:
    def test_reads_what_a_patch_changes(self, patched: tuple[Path, Path]) -> None:
        changes = {c.path: (c.before, c.after) for c in build_llama.patch_changes(patched[1].read_text())}
        assert set(changes) == {"changed.txt", "added.txt", "removed.txt"}
        assert changes["added.txt"] == ("0" * 40, build_llama.blob_id(b"new\n"))
        assert changes["removed.txt"][1] == "0" * 40

    def test_blob_id_is_what_git_says(self) -> None:
        assert build_llama.blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"

    def test_applies(self, patched: tuple[Path, Path]) -> None:
        tree, patch = patched
        build_llama.apply_patch(patch, tree, os.environ)
        assert sorted(file.name for file in tree.iterdir()) == ["added.txt", "changed.txt"]
        assert (tree / "changed.txt").read_text() == "two\n"

    def test_applies_below_an_ignored_folder_of_a_work_tree(self, patched: tuple[Path, Path]) -> None:
        tree, patch = patched
        git(tree.parent, "init", "-q")
        (tree.parent / ".gitignore").write_text("tree/\n")
        environ = {**os.environ, "GIT_DIR": str(tree.parent / ".git"), "GIT_WORK_TREE": str(tree.parent)}
        build_llama.apply_patch(patch, tree, environ)
        assert (tree / "changed.txt").read_text() == "two\n"

    def test_a_git_that_does_nothing_is_caught(
        self, patched: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree, patch = patched
        done: subprocess.CompletedProcess[str] = subprocess.CompletedProcess([], 0, "", "")
        monkeypatch.setattr(subprocess, "run", lambda *_a, **_k: done)
        with pytest.raises(build_llama.SetupError, match=r"not what the patch says after 0001-change\.patch"):
            build_llama.apply_patch(patch, tree, os.environ)

    def test_another_source_is_refused_before_anything_changes(self, patched: tuple[Path, Path]) -> None:
        tree, patch = patched
        (tree / "changed.txt").write_text("three\n")
        with pytest.raises(build_llama.SetupError, match=r"changed\.txt is not what the patch says before"):
            build_llama.apply_patch(patch, tree, os.environ)
        assert (tree / "removed.txt").exists()

    def test_a_patch_whose_hunks_do_not_fit(self, patched: tuple[Path, Path]) -> None:
        tree, patch = patched
        patch.write_text(patch.read_text().replace("-one", "-four"))
        with pytest.raises(build_llama.SetupError, match="does not apply"):
            build_llama.apply_patch(patch, tree, os.environ)

    def test_a_file_that_is_no_patch(self, tmp_path: Path) -> None:
        empty = tmp_path / "0001-empty.patch"
        empty.write_text("nothing\n")
        with pytest.raises(build_llama.SetupError, match="names no changed file"):
            build_llama.apply_patch(empty, tmp_path, os.environ)

    def test_version_is_the_last_one_set(self) -> None:
        texts = [
            '+__version__ = "0.3.36+skippy.1"\n',
            '-__version__ = "x"\n+__version__ = "0.3.36+skippy.2"\n',
        ]
        assert build_llama.patched_version(texts) == "0.3.36+skippy.2"

    @pytest.mark.parametrize("text", ["", '+__version__ = "0.3.36"\n', ' __version__ = "0.3.36+skippy.1"\n'])
    def test_version_must_be_ours(self, text: str) -> None:
        with pytest.raises(build_llama.SetupError, match="set no version"):
            build_llama.patched_version([text])

    def test_this_repository_has_a_series(self) -> None:
        texts = [patch.read_text(encoding="utf-8") for patch in build_llama.patch_files(ROOT / "patches")]
        assert all(build_llama.patch_changes(text) for text in texts)
        assert build_llama.patched_version(texts).startswith("0.3.36+skippy.")


class TestSource:
    def archive(self, folder: Path) -> Path:
        path = folder / build_llama.SOURCE_ARCHIVE
        with tarfile.open(path, "w:gz") as tar:
            for name, data in (
                ("top/a/b.txt", b"text"),
                ("top/.git/config", b"[core]"),
                ("top/.github", b"kept"),
            ):
                member = tarfile.TarInfo(name)
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        return path

    def test_unpacks_without_top_folder_and_git_files(self, tmp_path: Path) -> None:
        build_llama.unpack(self.archive(tmp_path), tmp_path / "tree", lambda _note: None)
        assert (tmp_path / "tree" / "a" / "b.txt").read_bytes() == b"text"
        assert sorted(file.name for file in (tmp_path / "tree").rglob("*")) == [".github", "a", "b.txt"]

    def test_offline_archive_is_taken(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        given = self.archive(tmp_path)
        monkeypatch.setattr(build_llama, "SOURCE_SHA256", hashlib.sha256(given.read_bytes()).hexdigest())
        setup = make_setup(tmp_path, "--offline", str(tmp_path))
        setup.ensure_archive()
        assert setup.places.archive.read_bytes() == given.read_bytes()
        given.unlink()
        setup.ensure_archive()

    def test_other_archive_is_refused(self, tmp_path: Path) -> None:
        self.archive(tmp_path)
        setup = make_setup(tmp_path, "--offline", str(tmp_path))
        with pytest.raises(build_llama.SetupError, match="is not the pinned source release"):
            setup.ensure_archive()
        assert not any(setup.places.archive.parent.iterdir())

    def test_a_changed_patch_touches_only_what_it_changes(
        self, tmp_path: Path, patched: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree, patch = patched
        with tarfile.open(tmp_path / build_llama.SOURCE_ARCHIVE, "w:gz") as tar:
            tar.add(tree, "top")
        digest = build_llama.file_sha256(tmp_path / build_llama.SOURCE_ARCHIVE)
        monkeypatch.setattr(build_llama, "SOURCE_SHA256", digest)
        monkeypatch.setattr(build_llama, "PATCHES", patch.parent)
        monkeypatch.setattr(build_llama, "BUILD_BYTES", 1)
        first = make_setup(tmp_path, "--offline", str(tmp_path))
        first.ensure_source()
        source = first.places.source
        os.utime(source / "added.txt", (1, 1))
        (source / "built.so").write_text("left by the build")
        changed = patch.read_text().replace("+two", "+three")
        before, after = (build_llama.blob_id(data) for data in (b"two\n", b"three\n"))
        patch.write_text(changed.replace(before, after))
        second = replace(first, places=replace(first.places, digest="other"))
        assert not second.places.is_patched()
        second.ensure_source()
        assert second.places.is_patched()
        assert (source / "changed.txt").read_text() == "three\n"
        assert (source / "added.txt").stat().st_mtime == 1
        assert not (source / "built.so").exists()

    def test_a_patch_that_fails_leaves_the_tree_as_it_was(
        self, tmp_path: Path, patched: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tree, patch = patched
        patch.write_text(patch.read_text().replace("-one", "-four"))
        with tarfile.open(tmp_path / build_llama.SOURCE_ARCHIVE, "w:gz") as tar:
            tar.add(tree, "top")
        digest = build_llama.file_sha256(tmp_path / build_llama.SOURCE_ARCHIVE)
        monkeypatch.setattr(build_llama, "SOURCE_SHA256", digest)
        monkeypatch.setattr(build_llama, "PATCHES", patch.parent)
        monkeypatch.setattr(build_llama, "BUILD_BYTES", 1)
        setup = make_setup(tmp_path, "--offline", str(tmp_path))
        with pytest.raises(build_llama.SetupError, match="does not apply"):
            setup.ensure_source()
        assert not any(setup.places.build_folder.iterdir())
        assert not any((setup.places.cache / "build").glob("tmp-*"))

    def test_pin_is_the_real_release(self) -> None:
        assert len(build_llama.SOURCE_SHA256) == 64
        assert build_llama.SOURCE_VERSION in build_llama.SOURCE_ARCHIVE


class TestConsole:
    def console(self, *, live: bool) -> tuple[build_llama.Console, io.StringIO, Callable[[float], None]]:
        now = [0.0]
        stream = io.StringIO()

        def move(seconds: float) -> None:
            now[0] += seconds

        return build_llama.Console(stream, lambda: now[0], live=live), stream, move

    def test_plain_output_has_a_line_every_ten_seconds(self) -> None:
        console, stream, move = self.console(live=False)
        with console.step("compile") as tick:
            for count in range(25):
                move(1)
                tick(f"{count}/25")
        lines = stream.getvalue().splitlines()
        assert lines == ["  compile 9/25 10 s", "  compile 19/25 20 s", "  compile: done, 25 s"]

    def test_terminal_output_renews_one_line(self) -> None:
        console, stream, move = self.console(live=True)
        with console.step("compile") as tick:
            move(0.5)
            tick("1/2")
        assert stream.getvalue().count("\n") == 1
        assert "\r\x1b[2K  compile 1/2 0.5 s\r\x1b[2K  compile: done, 0.5 s\n" in stream.getvalue()

    @pytest.mark.parametrize(
        ("seconds", "text"), [(0.84, "0.8 s"), (41.2, "41 s"), (223, "3 min 43 s"), (60, "1 min 00 s")]
    )
    def test_durations(self, seconds: float, text: str) -> None:
        assert build_llama.seconds_text(seconds) == text

    def test_ninja_lines(self) -> None:
        assert build_llama.ninja_progress("[12/345] Building CXX object x.o") == "12/345"
        assert build_llama.ninja_progress("note [1/2]") is None


class TestRunner:
    def test_failure_shows_the_log_and_the_mend(self, tmp_path: Path) -> None:
        runner = make_setup(tmp_path).runner
        program = "print('first'); print('fatal: No space left on device'); raise SystemExit(3)"
        with pytest.raises(build_llama.SetupError) as caught:
            runner.run("compile", [sys.executable, "-c", program])
        shown = io.StringIO()
        build_llama.report(caught.value, shown)
        assert "compile failed: the disk is full" in caught.value.message
        assert "  | fatal: No space left on device\n" in shown.getvalue()
        assert f"log: {tmp_path / 'log'}" in shown.getvalue()
        assert "mend: free about 2 GB" in shown.getvalue()
        assert "first" in (tmp_path / "log").read_text()

    def test_unknown_failure_names_the_exit_code(self, tmp_path: Path) -> None:
        with pytest.raises(build_llama.SetupError, match=r"failed \(exit code 3\)"):
            make_setup(tmp_path).runner.run("x", [sys.executable, "-c", "raise SystemExit(3)"])

    def test_a_command_that_does_not_end_is_ended(self, tmp_path: Path) -> None:
        runner = make_setup(tmp_path).runner
        program = "print('here', flush=True); import time; time.sleep(100)"
        with pytest.raises(build_llama.SetupError, match=r"hang took more than 0\.5 s"):
            runner.run("hang", [sys.executable, "-c", program], limit=0.5)

    @pytest.mark.parametrize(
        ("line", "why"),
        [
            (
                "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.",
                "not the pinned file",
            ),
            ("socket.gaierror: Temporary failure in name resolution", "network cannot be reached"),
            ("ERROR: No matching distribution found for cmake", "not where it was looked for"),
            ("c++: fatal error: Killed signal terminated program cc1plus", "out of memory"),
            ("CMake Error: No CMAKE_CXX_COMPILER could be found.", "compiler does not work"),
            ("g++: error: unrecognized command-line option '-std=gnu++17'", "too old"),
            (
                "CMake Error: Could NOT find Vulkan (missing: Vulkan_LIBRARY)",
                "library that this backend needs",
            ),
        ],
    )
    def test_known_failures(self, line: str, why: str) -> None:
        got = build_llama.explain_failure(["building", line, "and so on"])
        assert why in got[0]
        assert got[1]

    @pytest.mark.skipif(os.name == "nt", reason="process groups")
    def test_a_stopped_run_takes_its_children_along(self, tmp_path: Path) -> None:
        child = "import os, sys, time; print(os.getpid(), flush=True); time.sleep(100)"
        script = (
            "import build_llama, io, os, pathlib, signal, sys, time\n"
            "signal.signal(signal.SIGTERM, build_llama.interrupted)\n"
            "console = build_llama.Console(sys.stdout, time.monotonic, live=False)\n"
            f"runner = build_llama.Runner(console, pathlib.Path({str(tmp_path / 'log')!r}), True, os.environ)\n"
            f"runner.run('wait', [sys.executable, '-c', {child!r}])\n"
        )
        with subprocess.Popen([sys.executable, "-c", script], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                              stderr=subprocess.DEVNULL) as process:  # fmt: skip
            assert process.stdout is not None
            pid = int(process.stdout.readline())
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) != 0
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


class TestLock:
    def test_two_runs_wait_for_each_other(self, tmp_path: Path) -> None:
        lock = tmp_path / "lock"
        holder = (
            "import build_llama, pathlib, sys, time\n"
            "console = build_llama.Console(sys.stderr, time.monotonic, live=False)\n"
            f"with build_llama.exclusive(pathlib.Path({str(lock)!r}), console):\n"
            "    print('held', flush=True); sys.stdin.readline()\n"
        )
        console = build_llama.Console(io.StringIO(), time.monotonic, live=False)
        got = threading.Event()

        def wait() -> None:
            with build_llama.exclusive(lock, console):
                got.set()

        with subprocess.Popen([sys.executable, "-c", holder], cwd=ROOT, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as process:  # fmt: skip
            assert process.stdout is not None
            assert process.stdout.readline() == "held\n"
            with lock.open("a+") as file:
                assert not build_llama.try_lock(file)
            waiter = threading.Thread(target=wait, daemon=True)
            waiter.start()
            assert not got.is_set()
            process.communicate("go on\n", timeout=60)
        assert got.wait(60)


class TestFiles:
    def test_temporary_folder_is_gone_after_a_failure(self, tmp_path: Path) -> None:
        def fail() -> None:
            with build_llama.temporary_folder(tmp_path) as folder:
                (folder / "half").write_text("x")
                raise InterruptedError

        with pytest.raises(InterruptedError):
            fail()
        assert not any(tmp_path.iterdir())

    def test_temporary_folder_stays_under_the_name_it_was_given(self, tmp_path: Path) -> None:
        with build_llama.temporary_folder(tmp_path) as folder:
            (folder / "whole").write_text("x")
            folder.replace(tmp_path / "named")
        assert [file.name for file in tmp_path.iterdir()] == ["named"]

    def test_remove_tree_leaves_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "a" / "b").mkdir(parents=True)
        build_llama.remove_tree(tmp_path / "a")
        build_llama.remove_tree(tmp_path / "a")
        assert not any(tmp_path.iterdir())

    def test_too_little_room(self, tmp_path: Path) -> None:
        build_llama.require_space(tmp_path / "not" / "there", 1)
        with pytest.raises(build_llama.SetupError, match="too little room"):
            build_llama.require_space(tmp_path / "not" / "there", 10**18)

    def test_prune_keeps_the_newest(self, tmp_path: Path) -> None:
        setup = make_setup(tmp_path)
        for number in range(7):
            for name in ("wheels", "build", "logs"):
                folder = setup.places.cache / name / f"{number}"
                folder.mkdir(parents=True)
                os.utime(folder, (number, number))
        setup.places.source.mkdir(parents=True)
        setup.prune()
        assert {path.name for path in (setup.places.cache / "wheels").iterdir()} == {"3", "4", "5", "6"}
        assert {path.name for path in (setup.places.cache / "build").iterdir()} == {"family"}
        assert len(list((setup.places.cache / "logs").iterdir())) == 7


class TestNativeTests:
    def test_models_of_a_test(self, tmp_path: Path) -> None:
        for name in (
            "llama-dense",
            "llama-moe",
            "llama4-moe",
            "mamba-dense",
            "mamba2-dense",
            "falcon-h1-dense",
        ):
            (tmp_path / f"{name}.gguf").touch()
        names = [model.stem for model in build_llama.models_for("test-skippy-cancel", tmp_path)]
        assert names == ["llama-dense", "llama-moe", "falcon-h1-dense", "mamba-dense"]
        assert build_llama.models_for("test-skippy-chat", tmp_path) == []
        assert build_llama.models_for("test-skippy-new", tmp_path)


@pytest.fixture
def installed(tmp_path: Path) -> build_llama.Setup:
    """Return a set-up whose virtual environment looks finished."""
    setup = make_setup(tmp_path)
    site = setup.options.venv / "lib" / "python3.11" / "site-packages"
    for name in ("llama_cpp_python-0.3.36+skippy.1", "skippy_chat-0.1.0"):
        folder = site / f"{name}.dist-info"
        folder.mkdir(parents=True)
        (folder / "RECORD").write_text(name)
    (setup.options.venv / "bin").mkdir()
    setup.python.symlink_to(sys.executable)
    stamp = build_llama.stamp_of(setup.options.venv, "digest", ("app", "test"))
    build_llama.write_whole(
        build_llama.stamp_path(setup.options.venv), json.dumps({**(stamp or {}), "compiler": "cc 1"})
    )
    return setup


@pytest.mark.skipif(os.name == "nt", reason="another layout")
class TestReady:
    def test_finished(self, installed: build_llama.Setup) -> None:
        assert build_llama.is_ready(installed.options, "digest")

    def test_another_wheel_is_wanted(self, installed: build_llama.Setup) -> None:
        assert not build_llama.is_ready(installed.options, "other")

    def test_more_extras_are_wanted(self, installed: build_llama.Setup) -> None:
        assert build_llama.is_ready(replace(installed.options, extras=("app", "test")), "digest")
        assert not build_llama.is_ready(replace(installed.options, extras=("app", "dev")), "digest")

    def test_stock_wheel_was_installed_over_ours(self, installed: build_llama.Setup) -> None:
        folder = build_llama.distribution(installed.options.venv, "llama_cpp_python")
        assert folder is not None
        (folder / "RECORD").write_text("stock")
        assert not build_llama.is_ready(installed.options, "digest")

    def test_python_is_gone(self, installed: build_llama.Setup) -> None:
        installed.python.unlink()
        assert not build_llama.is_ready(installed.options, "digest")

    def test_damaged_mark(self, installed: build_llama.Setup) -> None:
        build_llama.stamp_path(installed.options.venv).write_text("{")
        assert not build_llama.is_ready(installed.options, "digest")

    def test_a_compiler_is_not_needed_to_run(self, installed: build_llama.Setup, tmp_path: Path) -> None:
        environ = {"PATH": str(tmp_path)}
        assert build_llama.start(installed.options, installed.console, environ).compiler == "cc 1"
        build_llama.stamp_path(installed.options.venv).unlink()
        with pytest.raises(build_llama.SetupError, match="no C compiler"):
            build_llama.start(installed.options, installed.console, environ)


@pytest.mark.skipif(os.name == "nt", reason="shell scripts stand for the programs")
class TestPeers:
    """The stock programs, with a cmake that only notes what it is asked and makes what it would make."""

    CMAKE = """#!/bin/sh
echo "$*" >> {said}
if [ "$1" = --build ]; then
    test -f {fail} && exit 1
    mkdir -p "$2/bin"
    for name in llama-server llama-bench; do
        printf '#!/bin/sh\\necho usage\\n' > "$2/bin/$name"
        chmod +x "$2/bin/$name"
    done
elif [ "$1" = --version ]; then
    echo "cmake version 3.99.0"
fi
"""

    @pytest.fixture
    def setup(
        self, installed: build_llama.Setup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> build_llama.Setup:
        tools = tmp_path / "tools"
        tools.mkdir()
        said, fail = tmp_path / "said", tmp_path / "fail"
        (tools / "cmake").write_text(self.CMAKE.format(said=said, fail=fail))
        (tools / "ninja").write_text("#!/bin/sh\necho 1.12.0\n")
        for tool in tools.iterdir():
            tool.chmod(0o755)
        archive = tmp_path / build_llama.SOURCE_ARCHIVE
        with tarfile.open(archive, "w:gz") as tar:
            file = tmp_path / "CMakeLists.txt"
            file.write_text("project(stock)")
            tar.add(file, "llama_cpp_python/vendor/llama.cpp/CMakeLists.txt")
        monkeypatch.setattr(build_llama, "SOURCE_SHA256", build_llama.file_sha256(archive))
        (installed.places.cache / "downloads").mkdir()
        archive.replace(installed.places.archive)
        monkeypatch.setattr(build_llama, "distribution", lambda _venv, _name: Path("there"))
        path = f"{tools}{os.pathsep}{os.environ['PATH']}"
        return replace(installed, runner=installed.runner.with_environ(PATH=path, CMAKE_ARGS="-DGIVEN=1"))

    def test_they_are_built_once_without_patches_and_found_by_the_environment(
        self, setup: build_llama.Setup, tmp_path: Path
    ) -> None:
        build_llama.peers(setup)
        folder = Path(build_llama.peers_note(setup.options.venv).read_text().strip())
        assert folder == setup.places.peers
        assert {file.name for file in folder.iterdir()} == set(build_llama.PEER_TARGETS)
        configure, compile_ = [
            line for line in (tmp_path / "said").read_text().splitlines() if line != "--version"
        ]
        assert {"-DGIVEN=1", "-DGGML_RPC=ON", "-DCMAKE_BUILD_TYPE=Release"} <= set(configure.split())
        assert compile_.endswith("--target llama-server llama-bench")
        assert not setup.places.peers_build.exists()
        build_llama.peers(setup)
        assert len((tmp_path / "said").read_text().splitlines()) <= 4

    def test_patches_do_not_change_what_they_are_called(self, setup: build_llama.Setup) -> None:
        other = replace(setup.places, digest="other patches")
        assert other.peers == setup.places.peers
        assert replace(setup.places, family="other compiler").peers != setup.places.peers

    def test_a_failed_compile_leaves_nothing_to_be_mistaken_and_goes_on_next_time(
        self, setup: build_llama.Setup, tmp_path: Path
    ) -> None:
        (tmp_path / "fail").touch()
        with pytest.raises(build_llama.SetupError, match="compile llama-server and llama-bench failed"):
            build_llama.peers(setup)
        assert not setup.places.peers.exists()
        assert not build_llama.peers_note(setup.options.venv).exists()
        (tmp_path / "fail").unlink()
        build_llama.peers(setup)
        assert setup.places.peers.is_dir()

    def test_older_ones_go(self, setup: build_llama.Setup) -> None:
        old = setup.places.peers.parent / "older"
        old.mkdir(parents=True)
        build_llama.peers(setup)
        assert not old.exists()


class TestMissing:
    def run(self, tmp_path: Path, *argv: str, path: Path) -> subprocess.CompletedProcess[str]:
        environ = {
            name: value for name, value in os.environ.items() if name not in {"CC", "CXX", "VIRTUAL_ENV"}
        }
        environ["PATH"] = str(path)
        folders = ["--cache-dir", str(tmp_path / "cache"), "--venv", str(tmp_path / "venv")]
        return subprocess.run(
            [sys.executable, ROOT / "build_llama.py", *argv, *folders],
            env=environ, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip

    @pytest.mark.skipif(os.name == "nt", reason="cmake finds the compiler there")
    def test_no_compiler(self, tmp_path: Path) -> None:
        done = self.run(tmp_path, "setup", path=tmp_path)
        assert done.returncode == 1
        assert "error: no C compiler: none of cc, gcc, clang is on PATH." in done.stderr
        assert "mend: " in done.stderr
        assert "Traceback" not in done.stderr
        assert not any(tmp_path.iterdir())

    @pytest.mark.skipif(platform.system() != "Linux", reason="a compiler by this name")
    def test_no_cxx_compiler(self, tmp_path: Path) -> None:
        fake = tmp_path / "bin" / "cc"
        fake.parent.mkdir()
        fake.write_text("#!/bin/sh\necho 'cc 1.2'\n")
        fake.chmod(0o755)
        done = self.run(tmp_path, "setup", path=fake.parent)
        assert done.returncode == 1
        assert "error: no C++ compiler" in done.stderr

    @pytest.mark.skipif(platform.system() != "Linux", reason="compilers by these names")
    def test_check_changes_nothing_and_exits_1(self, tmp_path: Path) -> None:
        folder = tmp_path / "bin"
        folder.mkdir()
        for name in ("cc", "c++"):
            (folder / name).write_text(f"#!/bin/sh\necho '{name} 1.2'\n")
            (folder / name).chmod(0o755)
        done = self.run(tmp_path, "--check", path=folder)
        assert done.returncode == 1
        assert "cc 1.2; c++ 1.2" in done.stdout
        assert done.stdout.endswith("not ready: run build_llama.py\n")
        assert [file.name for file in tmp_path.iterdir()] == ["bin"]

    def test_no_venv_module(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        setup = make_setup(tmp_path)
        monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
        with pytest.raises(build_llama.SetupError, match="lacks its venv and ensurepip module") as caught:
            setup.ensure_venv()
        assert caught.value.hint
        assert not setup.options.venv.exists()

    def test_a_folder_that_is_no_environment_is_left_alone(self, tmp_path: Path) -> None:
        setup = make_setup(tmp_path)
        setup.options.venv.mkdir()
        (setup.options.venv / "thesis.txt").write_text("mine")
        with pytest.raises(build_llama.SetupError, match="has no Python that runs"):
            setup.ensure_venv()
        assert (setup.options.venv / "thesis.txt").read_text() == "mine"

    def test_no_git(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(shutil, "which", lambda *_a, **_k: None)
        with pytest.raises(build_llama.SetupError, match="git is not on PATH"):
            make_setup(tmp_path).ensure_source()

    def test_no_gpu_compiler(self, tmp_path: Path) -> None:
        with pytest.raises(build_llama.SetupError, match="--backend cuda needs nvcc"):
            build_llama.require_backend("cuda", {"PATH": str(tmp_path)})
        build_llama.require_backend("cuda", {"PATH": str(tmp_path), "CUDACXX": "/somewhere/nvcc"})
        build_llama.require_backend("cpu", {"PATH": str(tmp_path)})

    @pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not hold root back")
    def test_read_only_cache(self, tmp_path: Path) -> None:
        setup = make_setup(tmp_path)
        setup.places.cache.chmod(0o500)
        with pytest.raises(build_llama.SetupError, match="cannot be written"), build_llama.working(setup):
            pass

    def test_cache_is_a_file(self, tmp_path: Path) -> None:
        setup = make_setup(tmp_path)
        setup.places.cache.rmdir()
        setup.places.cache.write_text("")
        with pytest.raises(build_llama.SetupError, match="cannot be written"), build_llama.working(setup):
            pass


def test_make_only_calls_the_set_up_command_and_the_tools() -> None:
    lines = [line.strip() for line in (ROOT / "Makefile").read_text().splitlines() if line.startswith("\t")]
    assert lines
    assert all(line.startswith(("$(SETUP)", "$(BIN)/")) for line in lines)
