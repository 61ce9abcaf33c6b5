"""Reading, listing, writing, editing; and that every tool that takes a path takes none outside."""

from __future__ import annotations

import dataclasses
import json
import os
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent.tools.protocol import Limits, Previewing, ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry

OTHER_ARGUMENTS: dict[str, dict[str, Any]] = {
    "read_file": {},
    "list_directory": {},
    "search_files": {"pattern": "."},
    "write_file": {"content": "overwritten"},
    "edit_file": {"old_text": "SECRET", "new_text": "x"},
}


def call(registry: Registry, context: ToolContext, name: str, **arguments: Any) -> ToolResult:
    return registry.run(name, json.dumps(arguments), context)


def test_these_are_all_the_tools_that_take_paths(registry: Registry) -> None:
    assert {each.name for each in registry if each.needs.reads or each.needs.writes} == set(OTHER_ARGUMENTS)


@pytest.mark.parametrize("name", OTHER_ARGUMENTS)
@pytest.mark.parametrize(
    "path",
    [
        "..",
        "../outside",
        "../outside/secret.txt",
        "sub/../../outside/secret.txt",
        "sub/../inside.txt",
        "/etc",
        "/etc/passwd",
        "{outside}",
        "{outside}/secret.txt",
        "link",
        "folder_link",
        "folder_link/secret.txt",
        "folder_link/new.txt",
        "dangling",
        "fifo",
        "~/x",
        "inside.txt\0",
        "\ud800",
    ],
)
def test_every_path_tool_refuses_to_leave(
    registry: Registry, context: ToolContext, workspace: Path, outside: Path, name: str, path: str
) -> None:
    (workspace / "inside.txt").write_text("SECRET of the inside")
    (workspace / "sub").mkdir()
    (workspace / "link").symlink_to(outside / "secret.txt")
    (workspace / "folder_link").symlink_to(outside)
    (workspace / "dangling").symlink_to(outside / "new.txt")
    os.mkfifo(workspace / "fifo")
    given = path.format(outside=outside)
    result = call(registry, context, name, path=given, **OTHER_ARGUMENTS[name])
    assert result.status == "error"
    assert "SECRET" not in result.text
    assert (outside / "secret.txt").read_text() == "SECRET-OF-THE-OUTSIDE\n"
    assert [each.name for each in outside.iterdir()] == ["secret.txt"]


@pytest.mark.parametrize("name", OTHER_ARGUMENTS)
def test_every_path_tool_takes_names_as_they_are_spelt(
    registry: Registry, context: ToolContext, workspace: Path, name: str
) -> None:
    (workspace / "Notes.txt").write_text("SECRET")
    result = call(registry, context, name, path="nOTES.txt", **OTHER_ARGUMENTS[name])
    assert "SECRET" not in result.text
    assert (workspace / "Notes.txt").read_text() == "SECRET"
    if name != "write_file":  # which makes a file of that name, where the file system tells the two apart
        assert result.status == "error"


def test_read_file_returns_the_text_as_it_is(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    (workspace / "x.py").write_bytes("  a = 'ü'\r\n\tb\n".encode())
    assert call(registry, context, "read_file", path="x.py") == ToolResult("ok", "  a = 'ü'\r\n\tb\n")


def test_read_file_gives_lines(registry: Registry, context: ToolContext, workspace: Path) -> None:
    (workspace / "x").write_text("".join(f"line {number}\n" for number in range(1, 101)))
    result = call(registry, context, "read_file", path="x", first_line=3, last_line=5)
    assert result.text == "line 3\nline 4\nline 5\n"
    assert call(registry, context, "read_file", path="x", first_line=100).text == "line 100\n"
    assert call(registry, context, "read_file", path="x", last_line=1).text == "line 1\n"
    assert "100 lines" in call(registry, context, "read_file", path="x", first_line=101).text
    assert call(registry, context, "read_file", path="x", first_line=5, last_line=3).status == "error"


def test_read_file_shortens_a_long_file_and_its_rest_can_be_read(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    lines = [f"this is line {number}\n" for number in range(1, 10_001)]
    (workspace / "long").write_text("".join(lines))
    text = call(registry, context, "read_file", path="long").text
    assert len(text) < 42_000
    assert text.startswith(lines[0])
    assert text.endswith(lines[-1])
    assert "first_line" in text
    found: list[str] = []
    while len(found) < len(lines):
        part = call(registry, context, "read_file", path="long", first_line=len(found) + 1).text
        found += [f"{each}\n" for each in part.splitlines() if each.startswith("this")]
    assert found == lines


def test_read_file_refuses_what_is_no_text(registry: Registry, context: ToolContext, workspace: Path) -> None:
    (workspace / "binary").write_bytes(b"\x7fELF\0\0")
    (workspace / "wide").write_bytes("text".encode("utf-16"))
    (workspace / "latin").write_bytes(b"caf\xe9\n")
    (workspace / "empty").touch()
    assert "binary" in call(registry, context, "read_file", path="binary").text
    assert "UTF-16" in call(registry, context, "read_file", path="wide").text
    assert call(registry, context, "read_file", path="latin").text == "caf\ufffd\n"
    assert call(registry, context, "read_file", path="empty") == ToolResult("ok", "(The file is empty.)")


def test_list_directory(registry: Registry, context: ToolContext, workspace: Path) -> None:
    (workspace / "b.txt").write_text("12345")
    (workspace / "a").mkdir()
    (workspace / "link").symlink_to("/etc")
    (workspace / "two\nlines\x1b[31m").touch()
    os.mkfifo(workspace / "pipe")
    result = call(registry, context, "list_directory")
    assert result.status == "ok"
    lines = result.text.splitlines()
    assert lines[0] == "a/"
    assert lines[1].startswith("b.txt (5")
    assert lines[2:4] == ["link (a link)", "pipe (no file)"]
    assert lines[4].startswith(r"two\nlines\x1b[31m (0")
    assert call(registry, context, "list_directory", path="a").text == "(The folder is empty.)"


def test_write_file_makes_folders_and_keeps_the_mode(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    made = call(registry, context, "write_file", path="new/deep/x.sh", content="one\n")
    assert made.text == "Wrote new/deep/x.sh: 1 lines, 4 bytes."
    (workspace / "new/deep/x.sh").chmod(0o750)
    again = call(registry, context, "write_file", path="new/deep/x.sh", content="two\n")
    assert again.text.startswith("Replaced")
    assert "-one\n+two" in again.more
    assert (workspace / "new/deep/x.sh").stat().st_mode & 0o777 == 0o750
    assert [each.name for each in (workspace / "new/deep").iterdir()] == ["x.sh"]


def test_write_file_replaces_the_file_and_leaves_other_names_of_it(
    registry: Registry, context: ToolContext, workspace: Path, outside: Path
) -> None:
    os.link(outside / "secret.txt", workspace / "hard")
    assert call(registry, context, "write_file", path="hard", content="new").status == "ok"
    assert (outside / "secret.txt").read_text() == "SECRET-OF-THE-OUTSIDE\n"


def test_write_file_through_a_link_inside_writes_its_target(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    (workspace / "real").write_text("old")
    (workspace / "link").symlink_to("real")
    assert "Replaced real" in call(registry, context, "write_file", path="link", content="new").text
    assert (workspace / "link").is_symlink()
    assert (workspace / "real").read_text() == "new"


def test_write_file_refuses_what_cannot_be_text_and_what_is_too_large(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    small = dataclasses.replace(context, limits=Limits(file_bytes=10))
    assert "half a character" in call(registry, context, "write_file", path="x", content="\ud800").text
    assert "larger" in call(registry, small, "write_file", path="x", content="a" * 11).text
    assert not (workspace / "x").exists()


def test_a_file_that_appears_while_it_is_written_is_left_alone(
    registry: Registry, context: ToolContext, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.fsync

    def appear(fd: int) -> None:
        (workspace / "x").write_text("somebody else's")
        real(fd)

    monkeypatch.setattr(os, "fsync", appear)
    assert "appeared" in call(registry, context, "write_file", path="x", content="ours").text
    assert [each.name for each in workspace.iterdir()] == ["x"]
    assert (workspace / "x").read_text() == "somebody else's"


def test_edit_file_replaces_exactly_once(registry: Registry, context: ToolContext, workspace: Path) -> None:
    (workspace / "x").write_bytes(b"one\r\ntwo\nthree\n")
    result = call(registry, context, "edit_file", path="x", old_text="two\n", new_text="2\n")
    assert (result.status, result.text) == ("ok", "Edited x at line 2.")
    assert "-two\n+2" in result.more
    assert (workspace / "x").read_bytes() == b"one\r\n2\nthree\n"


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("aba", "x", "more than once"),  # also where the places overlap
        ("zzz", "x", "is not in"),
        ("", "x", "empty"),
        ("c", "c", "the same"),
        ("c\nd", "x", r"end in \r\n"),
        ("\ud800", "x", "half a character"),
    ],
)
def test_edit_file_refuses(
    registry: Registry, context: ToolContext, workspace: Path, old: str, new: str, complaint: str
) -> None:
    (workspace / "x").write_bytes(b"ababa c\r\nd")
    result = call(registry, context, "edit_file", path="x", old_text=old, new_text=new)
    assert result.status == "error"
    assert complaint in result.text
    assert (workspace / "x").read_bytes() == b"ababa c\r\nd"


def test_previews_tell_what_would_be_written_and_write_nothing(
    registry: Registry, context: ToolContext, workspace: Path
) -> None:
    (workspace / "x").write_text("a\nb")
    edit: Any = registry.get("edit_file")
    write: Any = registry.get("write_file")
    assert isinstance(edit, Previewing)
    assert isinstance(write, Previewing)
    diff = edit.preview({"path": "x", "old_text": "b", "new_text": "c"}, context)
    assert diff.splitlines()[-4:] == [
        "-b",
        "\\ No newline at end of file",
        "+c",
        "\\ No newline at end of file",
    ]
    assert write.preview({"path": "y/z", "content": "n\n"}, context).splitlines()[:2] == [
        "--- /dev/null",
        "+++ b/y/z",
    ]
    assert write.preview({"path": "x", "content": "a\nb"}, context) == ""
    assert (workspace / "x").read_text() == "a\nb"
    assert not (workspace / "y").exists()
