"""``skippy-chat cache``: figures of a real store, and a clear that asks."""

from __future__ import annotations

import io
import itertools
import re
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from skippy_chat.checkpoints.model_note import ModelNote, write_note
from skippy_chat.checkpoints.shelf import FORMAT, Shelf
from skippy_chat.checkpoints.store import CheckpointStore
from skippy_chat.checkpoints.types import Edge, Identity, Mode
from skippy_chat.cli import main
from skippy_chat.talk import Talk
from tests.checkpoints.trees import flip
from tests.fakes.host import Desk, Terminal


@pytest.fixture
def filled(desk: Desk) -> Path:
    """Store one checkpoint with 100,000 bytes of attention rows."""
    root = desk.root / "cache" / "checkpoints"
    record(root, b"\x01\x00\x00\x00" * 4)
    return root


def record(root: Path, ids: bytes) -> None:
    store = CheckpointStore.open(
        root, Identity.of(weights="w", name="tiny"), budget_bytes=1 << 30, now=lambda: 1.0
    )
    recording = store.recording()
    recording.add(None, Edge(ids, Mode.BATCH), kv=b"k" * 100_000, state=b"s" * 100)
    recording.commit()
    store.close()


def spoil(root: Path) -> None:
    """Flip a byte of the rows."""
    (path,) = root.glob(f"{FORMAT}/*/*/segments/*/*.seg")
    flip(path, path.read_bytes().index(b"k" * 1000))


def test_stats_of_nothing(desk: Desk) -> None:
    assert desk.run("-c", "disk_budget=1GiB", "cache", "stats") == 0
    assert desk.out == f"0 B of 1.0 GiB in {desk.root}/cache/checkpoints\n"
    assert not (desk.root / "cache").exists()


def test_stats(desk: Desk, filled: Path) -> None:
    assert desk.run("cache", "stats", "--json") == 0
    (model,) = desk.json["models"]
    assert (model["nodes"], model["states"], model["segments"]) == (1, 1, 1)
    assert model["parts"]["name"] == "tiny"
    assert desk.json["allocated_bytes"] == model["allocated_bytes"] > 100_000
    assert desk.run("cache", "stats") == 0
    assert f"unknown  {model['identity'][:12]}  1 " in desk.out


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


def test_stats_tell_the_model_the_budget_and_what_is_set_aside(desk: Desk, filled: Path) -> None:
    (home,) = filled.glob(f"{FORMAT}/*/*")
    note = ModelNote("Tiny\x1b[31m Model", "llama", "dense", "4096 tokens, q8_0 cache", 5.0)
    write_note(Shelf(home), note)
    spoil(filled)
    (filled / "v1").mkdir()
    assert desk.run("-c", "disk_budget=64MiB", "cache", "verify") == 1
    assert desk.run("-c", "disk_budget=64MiB", "cache", "stats", "--json") == 0
    (model,) = desk.json["models"]
    assert model["model"] == asdict(note)
    assert desk.json["budget_bytes"] == model["budget_bytes"] == 64 << 20
    assert desk.json["quarantine_bytes"] == model["quarantine_bytes"] > 100_000
    assert desk.json["other_versions"] == [{"name": "v1", "allocated_bytes": 4096, "newer": False}]
    assert desk.run("-c", "disk_budget=64MiB", "cache", "stats") == 0
    assert "Tiny Model (llama, dense)" in desk.out
    assert f"{home.name[:12]} " in desk.out
    assert "of 64.0 MiB in" in desk.out
    assert "damaged, set aside" in desk.out
    assert "4.0 KiB more of an older version (v1), left alone" in desk.out
    assert "Tiny Model: wrong digest of the KV bytes" in desk.err


def test_a_note_that_is_damaged_costs_the_name_only(desk: Desk, filled: Path) -> None:
    (home,) = filled.glob(f"{FORMAT}/*/*")
    for text in ("", "[]", "{}", '{"name": 1}', "\udcff"):
        (home / "model.json").write_text(text, encoding="utf-8", errors="surrogateescape")
        assert desk.run("cache", "stats", "--json") == 0
        assert desk.json["models"][0]["model"] is None


def test_verify_of_what_is_sound(desk: Desk, filled: Path) -> None:
    assert desk.run("cache", "verify") == 0
    assert desk.out == "1 checkpoint in 1 file, 98.3 KiB read: sound.\n"
    assert desk.run("cache", "verify", "--json") == 0
    assert desk.json["sound"] is True
    (model,) = desk.json["models"]
    assert (model["nodes"], model["segments"], model["problems"], model["mended"]) == (1, 1, [], 0)


@pytest.mark.parametrize(("delete", "kept"), [((), 1), (("--delete",), 0)])
def test_verify_finds_damage_once(desk: Desk, filled: Path, delete: tuple[str, ...], kept: int) -> None:
    spoil(filled)
    assert desk.run("cache", "verify", "--json", *delete) == 1
    assert desk.json["sound"] is False
    assert "wrong digest of the KV bytes" in desk.json["models"][0]["problems"][0]
    assert len(list(filled.glob(f"{FORMAT}/*/*/quarantine/*"))) == kept
    assert desk.run("cache", "verify") == 0


def test_verify_tells_what_became_of_it(desk: Desk, filled: Path) -> None:
    spoil(filled)
    assert desk.run("cache", "verify") == 1
    assert "wrong digest of the KV bytes" in desk.out
    assert desk.out.endswith("1 problem, 1 set aside or put right.\n")


@pytest.mark.parametrize("command", ["verify", "prune"])
def test_an_identity_that_no_store_has_is_refused(desk: Desk, filled: Path, command: str) -> None:
    assert desk.run("cache", command, "--identity", "zz") == 2
    assert "No store's identity begins with zz. List them: skippy-chat cache stats" in desk.err


def test_prune_says_first_and_then_does(desk: Desk, filled: Path) -> None:
    (home,) = filled.glob(f"{FORMAT}/*/*")
    assert desk.run("cache", "prune", "--identity", home.name[:5], "--dry-run") == 0
    assert re.fullmatch(r"Would free about \d+ KiB \(1 checkpoint, 1 model\)\.\n", desk.out)
    assert home.exists()
    assert desk.run("cache", "prune", "--identity", home.name[:5], "--json") == 0
    assert (desk.json["dry_run"], desk.json["checkpoints"], desk.json["models"]) == (False, 1, [home.name])
    assert desk.json["freed_bytes"] > 100_000
    assert not home.exists()


def test_prune_by_age_counts_from_now(desk: Desk, filled: Path) -> None:
    """The checkpoint was last used one second after the epoch; now is in 2023."""
    assert desk.run("cache", "prune", "--older-than", "9999w", "--json") == 0
    assert desk.json["checkpoints"] == 0
    assert desk.run("cache", "prune", "--older-than", "30d", "--json") == 0
    assert desk.json["checkpoints"] == 1


def test_prune_to_a_size_that_cannot_be_reached_says_so(desk: Desk, filled: Path) -> None:
    assert desk.run("cache", "prune", "--to", "1KiB") == 1
    assert "in use by what cannot go" in desk.err
    assert "Freed" in desk.out


def test_prune_of_other_versions(desk: Desk, filled: Path) -> None:
    (filled / "v1").mkdir()
    assert desk.run("cache", "prune") == 0
    assert desk.out == "Freed 0 B.\n"
    assert desk.run("cache", "prune", "--all-versions") == 0
    assert desk.out == "Freed 4.0 KiB (version v1).\n"


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [("--to", "much", "is not a size: write 500MB or 2GiB"), ("--older-than", "30", "write 12h, 30d or 8w")],
)
def test_amounts_that_mean_nothing_are_refused(desk: Desk, option: str, value: str, said: str) -> None:
    assert desk.run("cache", "prune", option, value) == 2
    assert said in desk.err


def test_verify_shows_how_far_it_is_on_a_terminal(desk: Desk, filled: Path) -> None:
    record(filled, b"\x02\x00\x00\x00")
    seconds = itertools.count(0.0, 1.5)
    terminal = Terminal()
    desk.stderr = terminal
    host = replace(desk.host(), talk=Talk(terminal, lambda: next(seconds)), monotonic=lambda: next(seconds))
    assert main(["cache", "verify"], host) == 0
    assert re.search(r"reading: 197 KiB of 197 KiB, [\d.]+ [KM]?i?B/s", terminal.getvalue())
    assert terminal.getvalue().endswith("\r\x1b[K")  # and takes it away again
