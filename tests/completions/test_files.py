"""Which files are offered."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.completions import files as module
from skippy_chat.completions.files import WorkspaceFiles


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    for name in ("src/app/main.py", "src/domain.py", "main.md", ".hidden", "docs/a b.md", ".git/config"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    (root / "node_modules" / "main.js").mkdir(parents=True)
    return root


def test_without_a_name_the_root_is_listed_folders_first(workspace: Path) -> None:
    assert WorkspaceFiles(workspace).offered("") == ["docs/", "node_modules/", "src/", "main.md"]


def test_a_name_is_found_wherever_it_lies_the_best_first(workspace: Path) -> None:
    assert WorkspaceFiles(workspace).offered("main") == ["main.md", "src/app/main.py", "src/domain.py"]
    assert WorkspaceFiles(workspace).offered("MAIN.P") == ["src/app/main.py", "src/domain.py"]
    assert WorkspaceFiles(workspace).offered("sapy") == ["src/domain.py", "src/app/main.py"]
    assert WorkspaceFiles(workspace).offered("zz") == []


def test_a_folder_is_completed_step_by_step(workspace: Path) -> None:
    files = WorkspaceFiles(workspace)
    assert files.offered("sr")[0] == "src/"
    assert files.offered("src/")[:2] == ["src/app/", "src/domain.py"]
    assert files.offered("src/d") == ["src/domain.py"]
    assert files.offered(".h") == [".hidden"]
    assert files.offered(".git/") == [".git/config"]


def test_nothing_outside_is_offered(workspace: Path) -> None:
    (workspace.parent / "secret").mkdir()
    (workspace.parent / "secret" / "key.pem").touch()
    (workspace / "out").symlink_to("../secret")
    files = WorkspaceFiles(workspace)
    for typed in ("../", "../secret/", "out/", str(workspace.parent) + "/", "~/", "key"):
        assert files.offered(typed) == []


def test_names_that_cannot_be_typed_are_left_out(workspace: Path) -> None:
    for name in ("new\nline", 'quo"te', "esc\x1b[2J"):
        (workspace / name).touch()
    assert not {"new\nline", 'quo"te', "esc\x1b[2J"} & set(WorkspaceFiles(workspace).offered(""))
    assert WorkspaceFiles(workspace).offered("quo") == []
    assert WorkspaceFiles(workspace).offered("esc") == []


def test_files_that_came_since_are_found_when_typing_begins_anew(workspace: Path) -> None:
    files = WorkspaceFiles(workspace)
    assert files.offered("later") == []
    (workspace / "src" / "later.py").touch()
    files.offered("")
    assert files.offered("later") == ["src/later.py"]


def test_looking_has_an_end(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = workspace / "deep"
    for number in range(30):
        deep /= f"d{number}"
    deep.mkdir(parents=True)
    (deep / "needle.txt").touch()
    assert WorkspaceFiles(workspace).offered("needle") != []
    monkeypatch.setattr(module, "_MOST_FOLDERS", 10)
    assert WorkspaceFiles(workspace).offered("needle") == []
    monkeypatch.setattr(module, "_MOST_FILES", 1)
    assert WorkspaceFiles(workspace).offered("domain") == []


def test_a_workspace_that_is_gone_offers_nothing(tmp_path: Path) -> None:
    assert WorkspaceFiles(tmp_path / "gone").offered("") == []
    assert WorkspaceFiles(tmp_path / "gone").offered("a") == []
