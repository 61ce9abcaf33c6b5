"""Undo: a turn's files come back, or nothing is touched."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent.tools import writing
from skippy_chat.agent.tools.journal import Journal
from skippy_chat.agent.tools.protocol import ToolContext
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.errors import UndoRefused


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "data" / "undo")


@pytest.fixture
def turn(context: ToolContext, journal: Journal) -> ToolContext:
    return dataclasses.replace(context, journal=journal.turn("t1"))


def call(registry: Registry, context: ToolContext, name: str, **arguments: Any) -> None:
    result = registry.run(name, json.dumps(arguments), context)
    assert result.status == "ok", result.text


def snapshot(folder: Path) -> dict[str, tuple[bytes, int]]:
    return {
        str(each.relative_to(folder)): (each.read_bytes() if each.is_file() else b"", each.stat().st_mode)
        for each in folder.rglob("*")
    }


def test_a_turn_is_put_back(registry: Registry, turn: ToolContext, journal: Journal, workspace: Path) -> None:
    (workspace / "kept.sh").write_bytes(b"one\r\n\xff")
    (workspace / "kept.sh").chmod(0o740)
    (workspace / "edited").write_text("a\n")
    before = snapshot(workspace)
    call(registry, turn, "write_file", path="kept.sh", content="two")
    call(registry, turn, "write_file", path="kept.sh", content="three")
    call(registry, turn, "edit_file", path="edited", old_text="a", new_text="b")
    call(registry, turn, "write_file", path="new/deep/file", content="x")
    call(registry, turn, "edit_file", path="new/deep/file", old_text="x", new_text="y")
    undone = journal.undo("t1", turn.gate)
    assert (undone.restored, undone.removed) == (("edited", "kept.sh"), ("new/deep/file",))
    assert snapshot(workspace) == before
    with pytest.raises(UndoRefused, match="already"):
        journal.undo("t1", turn.gate)


def test_what_was_changed_since_is_refused_and_nothing_is_touched(
    registry: Registry, turn: ToolContext, journal: Journal, workspace: Path
) -> None:
    (workspace / "mine").write_text("old")
    call(registry, turn, "write_file", path="mine", content="agent")
    call(registry, turn, "write_file", path="new", content="agent")
    (workspace / "mine").write_text("me, afterwards")
    before = snapshot(workspace)
    with pytest.raises(UndoRefused) as caught:
        journal.undo("t1", turn.gate)
    assert caught.value.changed == ("mine",)
    assert "mine" in caught.value.message
    assert snapshot(workspace) == before
    (workspace / "mine").write_text("agent")
    assert journal.undo("t1", turn.gate).removed == ("new",)


def test_a_link_put_there_since_is_not_followed(
    registry: Registry, turn: ToolContext, journal: Journal, workspace: Path, outside: Path
) -> None:
    call(registry, turn, "write_file", path="x", content="agent")
    (outside / "target").write_text("agent")
    (workspace / "x").unlink()
    (workspace / "x").symlink_to(outside / "target")
    with pytest.raises(UndoRefused):
        journal.undo("t1", turn.gate)
    assert (outside / "target").read_text() == "agent"


def test_turns_are_undone_one_by_one(
    registry: Registry, turn: ToolContext, journal: Journal, workspace: Path
) -> None:
    second = dataclasses.replace(turn, journal=journal.turn("t2"))
    call(registry, turn, "write_file", path="x", content="1")
    call(registry, second, "write_file", path="x", content="2")
    with pytest.raises(UndoRefused):
        journal.undo("t1", turn.gate)
    journal.undo("t2", turn.gate)
    assert (workspace / "x").read_text() == "1"
    journal.undo("t1", turn.gate)
    assert not (workspace / "x").exists()


def test_a_crash_before_the_write_is_undone_too(
    registry: Registry, turn: ToolContext, journal: Journal, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (workspace / "x").write_text("old")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(writing, "replace_file", die)
    with pytest.raises(KeyboardInterrupt):
        registry.run("write_file", '{"path": "x", "content": "new"}', turn)
    assert journal.undo("t1", turn.gate).restored == ("x",)
    assert (workspace / "x").read_text() == "old"


def test_without_a_before_image_nothing_is_written(
    registry: Registry, turn: ToolContext, journal: Journal, workspace: Path
) -> None:
    (workspace / "x").write_text("old")
    journal.folder.parent.mkdir(parents=True)
    journal.folder.write_text("a file in the way")
    result = registry.run("write_file", '{"path": "x", "content": "new"}', turn)
    assert "cannot be kept for undo" in result.text
    assert (workspace / "x").read_text() == "old"


def test_damage_is_noticed(registry: Registry, turn: ToolContext, journal: Journal, workspace: Path) -> None:
    (workspace / "x").write_text("old")
    call(registry, turn, "write_file", path="x", content="new")
    image = next(journal.folder.rglob("*.before"))
    image.write_text("bad")
    with pytest.raises(UndoRefused, match="damaged"):
        journal.undo("t1", turn.gate)
    image.with_suffix(".json").write_text("{")
    with pytest.raises(UndoRefused, match="damaged"):
        journal.undo("t1", turn.gate)
    assert (workspace / "x").read_text() == "new"


def test_nothing_to_undo_and_foreign_ids(journal: Journal, turn: ToolContext) -> None:
    with pytest.raises(UndoRefused, match="wrote no files"):
        journal.undo("t9", turn.gate)
    for turn_id in ("", "..", "a/b", "a\0"):
        with pytest.raises(ValueError, match="not the id"):
            journal.turn(turn_id)


def test_old_turns_are_pruned(
    registry: Registry, turn: ToolContext, journal: Journal, workspace: Path
) -> None:
    for number in (1, 2, 3):
        context = dataclasses.replace(turn, journal=journal.turn(f"t{number}"))
        (workspace / "x").write_text("x" * 10_000)
        call(registry, context, "write_file", path="x", content=str(number))
    assert journal.prune(25_000) == 1
    assert sorted(os.listdir(journal.folder)) == ["t2", "t3"]  # noqa: PTH208
