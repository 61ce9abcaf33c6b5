"""/export: which format, which branches, which file; never over another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from skippy_chat.chat.importing import read_import
from skippy_chat.errors import ExportFailed, UsageError
from skippy_chat.exporting import export_here
from tests.fakes.conversation import FakeConversation


@pytest.fixture
def conversation() -> FakeConversation:
    """Two branches; the current one is the older."""
    made = FakeConversation()
    asked = made.add("user", "What colour?", None)
    teal = made.add("assistant", "Teal.", asked.id)
    made.add("assistant", "Red.", asked.id)
    made.switch(teal.id)
    return made


@pytest.mark.parametrize(
    ("argument", "file", "begins"),
    [
        ("", "demo.md", "# demo"),
        ("md", "demo.md", "# demo"),
        ("html", "demo.html", "<!DOCTYPE html>"),
        ("notes of today.html", "notes of today.html", "<!DOCTYPE html>"),
        ("md  notes.txt", "notes.txt", "# demo"),
        ("notes", "notes", "# demo"),
        ("md notes.html", "notes.html", "# demo"),
    ],
)
def test_where_and_in_which_format(
    conversation: FakeConversation, tmp_path: Path, argument: str, file: str, begins: str
) -> None:
    told = export_here(conversation, argument, tmp_path)
    assert told == f"Wrote 2 messages to {tmp_path.resolve() / file}."
    text = (tmp_path / file).read_text("utf-8")
    assert text.lower().startswith(begins.lower())
    assert "Teal." in text
    assert "Red." not in text


def test_json_has_every_branch_and_can_be_imported(conversation: FakeConversation, tmp_path: Path) -> None:
    assert export_here(conversation, "json", tmp_path).startswith("Wrote 3 messages")
    data = (tmp_path / "demo.json").read_bytes()
    tree = read_import(data, now=0, ledgers=False).tree
    assert [each.content for each in tree.messages] == ["What colour?", "Teal.", "Red."]
    assert [each.content for each in tree.branch().messages] == ["What colour?", "Teal."]
    assert json.loads(data)["session"]["title"] == "demo"


def test_a_file_that_is_there_stays(conversation: FakeConversation, tmp_path: Path) -> None:
    (tmp_path / "demo.md").write_text("mine")
    with pytest.raises(ExportFailed, match=r"there already\. Name another file: /export"):
        export_here(conversation, "", tmp_path)
    assert (tmp_path / "demo.md").read_text() == "mine"
    (tmp_path / "link.md").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ExportFailed):
        export_here(conversation, "link.md", tmp_path)
    assert not (tmp_path / "elsewhere").exists()


def test_nothing_said_nothing_written(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="nothing to export yet"):
        export_here(FakeConversation(), "", tmp_path)
    with pytest.raises(UsageError):
        export_here(FakeConversation(), "json", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_told(conversation: FakeConversation, tmp_path: Path) -> None:
    with pytest.raises(ExportFailed, match="cannot be written"):
        export_here(conversation, "gone/notes.md", tmp_path)
