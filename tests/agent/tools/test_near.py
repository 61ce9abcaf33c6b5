"""A name that is not there is answered with the names close to it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.agent.tools.near import meant
from skippy_chat.agent.tools.protocol import ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.errors import PathRefused


def call(registry: Registry, context: ToolContext, name: str, **arguments: Any) -> ToolResult:
    return registry.run(name, json.dumps(arguments), context)


@pytest.fixture
def open_folder() -> Iterator[Callable[[Path], int]]:
    opened: list[int] = []

    def opens(folder: Path) -> int:
        opened.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
        return opened[-1]

    yield opens
    for each in opened:
        os.close(each)


@pytest.mark.parametrize(
    ("tool", "path", "told"),
    [
        ("read_file", "timetrail.txt", '"timetable.txt"'),
        ("read_file", "reports/QUARTER_1.md", '"reports/quarter_1.md", "reports/quarter_2.md"'),
        ("read_file", "report/quarter_1.md", '"reports/quarter_1.md"'),
        ("edit_file", "reports/quarter1.md", '"reports/quarter_1.md", "reports/quarter_2.md"'),
        ("list_directory", "report", '"reports"'),
        ("search_files", "reprots", '"reports"'),
        ("edit_file", "time_table.txt", '"timetable.txt"'),
    ],
)
def test_close_names_are_told(
    registry: Registry, context: ToolContext, workspace: Path, tool: str, path: str, told: str
) -> None:
    (workspace / "timetable.txt").write_text("Monday: art")
    (workspace / "reports").mkdir()
    for number in (1, 2):
        (workspace / "reports" / f"quarter_{number}.md").write_text("x")
    others = {"search_files": {"pattern": "x"}, "edit_file": {"old_text": "a", "new_text": "b"}}.get(tool, {})
    result = call(registry, context, tool, path=path, **others)
    assert result.status == "error"
    assert f"Close to it: {told}." in result.text


def test_where_nothing_is_close_a_few_names_are_told(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    (workspace / "beds").mkdir()
    for name in ("roses.md", "beds/tulips.txt", ".hidden"):
        (workspace / name).write_text("x")
    there = call(registry, context, "read_file", path="compost.csv").text
    assert there == 'There is no file "compost.csv". There: "beds", "roses.md".'
    assert 'There: "beds/tulips.txt".' in call(registry, context, "read_file", path="beds/plan").text


@pytest.mark.parametrize("wrong", ["tulips.txt", "garden/tulips.txt", "bed/tulips.txt", "north/tulips.txt"])
@pytest.mark.parametrize("tool", ["read_file", "edit_file"])
def test_a_folder_that_was_forgotten_is_told(
    registry: Registry, context: ToolContext, workspace: Path, tool: str, wrong: str
) -> None:
    for folder in ("garden/north/beds", "garden/south", ".hidden", "north"):
        (workspace / folder).mkdir(parents=True)
    (workspace / "garden" / "north" / "beds" / "tulips.txt").write_text("red")
    (workspace / ".hidden" / "tulips.txt").write_text("x")
    (workspace / "loop").symlink_to(workspace / "garden" / "north")
    for number in range(9):
        (workspace / f"other_{number}.md").write_text("x")
    others = {"old_text": "a", "new_text": "b"} if tool == "edit_file" else {}
    text = call(registry, context, tool, path=wrong, **others).text
    assert 'Close to it: "garden/north/beds/tulips.txt"' in text


def test_the_same_name_comes_before_names_that_are_close(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    for folder in ("a", "b/c", "d"):
        (workspace / folder).mkdir(parents=True)
        (workspace / folder / "plan.md").write_text("x")
    (workspace / "plans.md").write_text("x")
    text = call(registry, context, "read_file", path="plan.md").text
    assert text.endswith('Close to it: "a/plan.md", "d/plan.md", "b/c/plan.md".')


def test_only_so_many_folders_are_looked_into(
    tmp_path: Path, open_folder: Callable[[Path], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skippy_chat.agent.tools.near._MOST_FOLDERS", 3)
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    (tmp_path / "c" / "zebra.txt").write_text("x")
    top = open_folder(tmp_path)
    assert "zebra" not in meant("zebra.txt", top, top=(top, ()))
    (tmp_path / "b" / "zebra.txt").write_text("x")
    assert meant("zebra.txt", top, top=(top, ())) == 'Close to it: "b/zebra.txt".'


def test_outside_the_workspace_the_whole_path_is_told(tmp_path: Path) -> None:
    kept = tmp_path.resolve() / "kept"
    for folder in (tmp_path / "workspace", kept / "one"):
        folder.mkdir(parents=True)
    (kept / "one" / "result.txt").write_text("x")
    gate = PathGate(tmp_path / "workspace", [kept])
    for wrong in ("one/reslt.txt", "oen/result.txt", "result.txt"):
        with pytest.raises(PathRefused) as refused, gate.open_file(f"{kept}/{wrong}"):
            pass
        assert refused.value.hint == f'Close to it: "{kept}/one/result.txt".'


def test_where_nothing_is_close_the_model_is_told_how_to_look(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    for number in range(9):
        (workspace / f"quarter_{number}.md").write_text("x")
    assert "list_directory shows what there is." in call(registry, context, "read_file", path="zzz").text
    edited = call(registry, context, "edit_file", path="zzz", old_text="a", new_text="b")
    assert "write_file makes new files." in edited.text


def test_names_that_cannot_be_written_down_are_left_out(
    tmp_path: Path, open_folder: Callable[[Path], int]
) -> None:
    for name in (b"note\n1.txt", b"note\xff.txt", b"notes.txt"):
        (tmp_path / name.decode("utf-8", "surrogateescape")).write_text("x")
    assert meant("note.txt", open_folder(tmp_path)) == 'Close to it: "notes.txt".'


def test_a_huge_folder_is_not_searched(
    tmp_path: Path, open_folder: Callable[[Path], int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skippy_chat.agent.tools.near._MOST_NAMES", 2)
    for name in ("a.txt", "b.txt", "c.txt"):
        (tmp_path / name).write_text("x")
    assert meant("a.tx", open_folder(tmp_path), "Look.") == "Look."


def test_long_names_are_not_compared(tmp_path: Path, open_folder: Callable[[Path], int]) -> None:
    long = "a" * 90
    (tmp_path / f"{long}b").write_text("x")
    assert meant(long, open_folder(tmp_path), "Look.") == "Look."
    assert meant(long[:80], open_folder(tmp_path), "Look.") == "Look."
    (tmp_path / "notes.txt").write_text("x")
    assert meant(long, open_folder(tmp_path)) == 'There: "notes.txt".'
