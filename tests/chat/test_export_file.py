"""An export is there whole, its owner's alone, and never over another file unasked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from skippy_chat.chat.export import file_name, format_of
from skippy_chat.chat.export_file import write_export
from skippy_chat.errors import ExportFailed


def test_a_new_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    old = os.umask(0)
    try:
        write_export(path, "é\n")
    finally:
        os.umask(old)
    assert path.read_bytes() == "é\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["out.md"]


def test_another_file_is_left_alone_unless_asked(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    path.write_text("mine")
    path.chmod(0o644)
    with pytest.raises(ExportFailed, match="there already") as told:
        write_export(path, "new")
    assert "--force" in told.value.hint
    assert path.read_text() == "mine"
    write_export(path, "new", replace=True)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in tmp_path.iterdir()] == ["out.md"]


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    link = tmp_path / "link.md"
    link.symlink_to(target)
    with pytest.raises(ExportFailed, match="there already"):
        write_export(link, "new")
    assert not target.exists()
    target.write_text("kept")
    write_export(link, "new", replace=True)
    assert (target.read_text(), link.read_text(), link.is_symlink()) == ("kept", "new", False)


def test_a_file_that_appears_meanwhile_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.md"
    real = os.fsync

    def meanwhile(handle: int) -> None:
        real(handle)
        if not path.exists():
            path.write_text("theirs")

    monkeypatch.setattr("skippy_chat.chat.export_file.os.fsync", meanwhile)
    with pytest.raises(ExportFailed, match="there already"):
        write_export(path, "new")
    assert path.read_text() == "theirs"
    assert [each.name for each in tmp_path.iterdir()] == ["out.md"]


def test_a_file_system_without_links_keeps_the_same_promises(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise OSError(1, "Operation not permitted")

    monkeypatch.setattr("skippy_chat.chat.export_file.os.link", refuse)
    path = tmp_path / "out.md"
    write_export(path, "new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(ExportFailed, match="there already"):
        write_export(path, "newer")
    assert [each.name for each in tmp_path.iterdir()] == ["out.md"]


def test_what_cannot_be_written_is_told_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ExportFailed, match="is a folder"):
        write_export(tmp_path, "new", replace=True)
    with pytest.raises(ExportFailed, match="No such file"):
        write_export(tmp_path / "missing" / "out.md", "new")

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    old = tmp_path / "out.md"
    old.write_text("old")
    monkeypatch.setattr("skippy_chat.chat.export_file.os.fsync", full)
    with pytest.raises(ExportFailed, match="No space left") as told:
        write_export(old, "new", replace=True)
    assert "-o" in told.value.hint
    assert old.read_text() == "old"
    assert [each.name for each in tmp_path.iterdir()] == ["out.md"]


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("a trip", "a-trip.md"),
        ("../../etc/passwd", "etc-passwd.md"),
        ("-rf", "rf.md"),
        ("…", "session.md"),
        (".hidden", "hidden.md"),
        ("Füße 1.2", "Füße-1.2.md"),
        ("x" * 200, f"{'x' * 60}.md"),
    ],
)
def test_the_name_of_a_file_stays_in_its_folder(name: str, made: str) -> None:
    assert file_name(name, "md") == made


def test_the_ending_tells_the_format() -> None:
    assert [format_of(Path(each)) for each in ("a.JSON", "b.htm", "c.markdown", "d.txt")] == [
        "json",
        "html",
        "md",
        None,
    ]
