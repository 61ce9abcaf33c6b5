"""The default model: made once on this machine, checked cheaply at every later start.

No hybrid model small enough can be had from a package index, so one is made from one that can: SmolLM2-135M with a
Mamba-2 branch beside every attention layer, which was trained to call tools and comes with this package
(docs/model-card.md). Invariant: a path that is returned holds exactly the bytes that this
version was tested with; anything else under that name is made again. Two processes never make it at once.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from skippy_chat.errors import ModelFileError
from skippy_chat.models.branch_file import read_branch
from skippy_chat.models.digest import DigestCache
from skippy_chat.models.fetch import BASE_FILE, BASE_SHA256, BASE_SIZE, PACKAGE_FILE, FetchBase, install_base
from skippy_chat.models.graft import Label, graft
from skippy_chat.models.writing import PART_SUFFIX, Progress
from skippy_chat.paths import make_private

DEFAULT_FILE = "SmolLM2-135M-Instruct-hybrid.gguf"
DEFAULT_SIZE = 113_952_736
DEFAULT_SHA256 = "07b6bd5cd1f76f3e7f34ecf0a199bc89014f2e0110ec4207d8d92e07a603ddbc"
DEFAULT_NAME = "SmolLM2 135M Instruct hybrid"
DEFAULT_DESCRIPTION = (
    "Made on this machine by skippy-chat from SmolLM2-135M-Instruct (Apache-2.0): the same weights, changed by"
    " reordering the rows of attn_q and attn_k, by a Mamba-2 branch beside every attention layer that was trained to"
    " call tools, and by a chat template that knows them."
)
DEFAULT_BRANCH = Path(__file__).with_name("branch.gguf")

_LOCK_SECONDS = 900


def default_label() -> Label:
    """Return what the default model says of itself, with the chat template that knows tools."""
    template = Path(__file__).with_name("chat_template.jinja").read_text(encoding="utf-8")
    return Label(DEFAULT_NAME, DEFAULT_DESCRIPTION, template)


def model_folder(cache_dir: Path) -> Path:
    """Return the folder that made and fetched models lie in."""
    return cache_dir / "models"


def digest_cache(cache_dir: Path, progress: Progress) -> DigestCache:
    """Return the digests remembered under ``cache_dir``."""
    return DigestCache(cache_dir / "digests.json", progress=progress)


def base_model(cache_dir: Path, *, progress: Progress, fetch_base: FetchBase) -> Path:
    """Return the plain SmolLM2 (dense attention), fetched when it is not in the cache.

    Raises ModelFileError when it cannot be fetched, is not the pinned file, or cannot be written.
    """
    return _Maker(cache_dir, progress, fetch_base).base()


def default_model(cache_dir: Path, *, progress: Progress, fetch_base: FetchBase) -> Path:
    """Return the default hybrid model, made when it is not in the cache.

    Raises ModelFileError when its base cannot be fetched, or it cannot be written.
    """
    return _Maker(cache_dir, progress, fetch_base).hybrid()


class _Maker:
    """Makes what is missing in one cache folder."""

    def __init__(self, cache_dir: Path, progress: Progress, fetch_base: FetchBase) -> None:
        self._folder = model_folder(cache_dir)
        self._progress = progress
        self._fetch_base = fetch_base
        self._digests = digest_cache(cache_dir, progress)

    def base(self) -> Path:
        path = self._folder / BASE_FILE
        if not self._is(path, BASE_SIZE, BASE_SHA256):
            with self._locked():
                self._make_base(path)
        return path

    def hybrid(self) -> Path:
        path = self._folder / DEFAULT_FILE
        if not self._is(path, DEFAULT_SIZE, DEFAULT_SHA256):
            with self._locked():
                self._make_hybrid(path)
        return path

    def _is(self, path: Path, size: int, sha256: str) -> bool:
        try:
            return path.stat().st_size == size and self._digests.sha256(path) == sha256
        except OSError:
            return False

    def _make_base(self, path: Path) -> None:
        if self._is(path, BASE_SIZE, BASE_SHA256):  # another process made it while this one waited
            return
        with tempfile.TemporaryDirectory(prefix=".fetch-", dir=self._folder) as scratch:
            by_hand = self._folder / PACKAGE_FILE
            source = by_hand if by_hand.is_file() else self._fetch_base(Path(scratch))
            install_base(source, path, progress=self._progress)
        self._digests.remember_sha256(path, BASE_SHA256)

    def _make_hybrid(self, path: Path) -> None:
        if self._is(path, DEFAULT_SIZE, DEFAULT_SHA256):
            return
        base = self._folder / BASE_FILE
        self._make_base(base)
        branch = read_branch(DEFAULT_BRANCH)
        written = graft(base, path, branch, default_label(), progress=self._progress)
        if written.sha256 != DEFAULT_SHA256:
            path.unlink()
            raise ModelFileError(
                f"{path}: the default model came out with other bytes than on the machines it was tested on.",
                "This is a fault of skippy-chat or of this machine's memory: please report it. --model takes others.",
            )
        self._digests.remember_sha256(path, written.sha256)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock, and clear what a killed process left behind."""
        try:
            make_private(self._folder)
            lock = FileLock(self._folder / ".lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                self._progress("waiting for another process that makes the model", 0, 0)
                lock.acquire(timeout=_LOCK_SECONDS)
        except Timeout as error:
            raise ModelFileError(
                f"{self._folder}: another process has been making the model for {_LOCK_SECONDS // 60} minutes.",
                "End it, then try again.",
            ) from error
        except OSError as error:
            raise ModelFileError(
                f"{self._folder}: cannot be written ({error.strerror}).",
                "Mend its permissions, or give another folder with --cache-dir.",
            ) from error
        try:
            self._sweep()
            yield
        finally:
            lock.release()

    def _sweep(self) -> None:
        for leftover in self._folder.glob(f".*{PART_SUFFIX}"):
            leftover.unlink(missing_ok=True)
        for leftover in self._folder.glob(".fetch-*"):
            shutil.rmtree(leftover, ignore_errors=True)
