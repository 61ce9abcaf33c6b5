"""``skippy-chat cache``: figures of a real store, and a clear that asks."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Edge, Identity, Mode
from tests.fakes.host import Desk, Terminal


@pytest.fixture
def filled(desk: Desk) -> Path:
    """Store one checkpoint with 100,000 bytes of attention rows."""
    root = desk.root / "cache" / "checkpoints"
    identity = Identity.of(weights="w", name="tiny")
    store = CheckpointStore.open(root, identity, budget_bytes=1 << 30, now=lambda: 1.0)
    recording = store.recording()
    recording.add(None, Edge(b"\x01\x00\x00\x00" * 4, Mode.BATCH), kv=b"k" * 100_000, state=b"s" * 100)
    recording.commit()
    store.close()
    return root


def test_stats_of_nothing(desk: Desk) -> None:
    assert desk.run("cache", "stats") == 0
    assert desk.out == f"0 B in {desk.root}/cache/checkpoints\n"
    assert not (desk.root / "cache").exists()


def test_stats(desk: Desk, filled: Path) -> None:
    assert desk.run("cache", "stats", "--json") == 0
    (model,) = desk.json["models"]
    assert (model["nodes"], model["states"], model["segments"]) == (1, 1, 1)
    assert model["parts"]["name"] == "tiny"
    assert desk.json["allocated_bytes"] == model["allocated_bytes"] > 100_000
    assert desk.run("cache", "stats") == 0
    assert "tiny" in desk.out


def test_clear_never_asks_without_a_terminal(desk: Desk, filled: Path) -> None:
    desk.stdin = io.StringIO("y\n")
    assert desk.run("cache", "clear") == 2
    desk.run("cache", "stats", "--json")
    assert desk.json["models"][0]["nodes"] == 1


def test_clear_frees_the_bytes(desk: Desk, filled: Path) -> None:
    assert desk.run("cache", "clear", "--yes", "--json") == 0
    assert desk.json["freed_bytes"] > 100_000
    desk.run("cache", "stats", "--json")
    assert sum(model["nodes"] for model in desk.json["models"]) == 0


@pytest.mark.parametrize(("reply", "code", "left"), [("n", 1, 1), ("yes", 0, 0)])
def test_clear_asks_on_a_terminal(desk: Desk, filled: Path, reply: str, code: int, left: int) -> None:
    desk.stdin, desk.stdout = Terminal(f"{reply}\n"), Terminal()
    assert desk.run("cache", "clear") == code
    desk.run("cache", "stats", "--json")
    assert sum(model["nodes"] for model in desk.json["models"]) == left
