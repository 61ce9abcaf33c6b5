from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

import pytest

from skippy_chat.errors import ConfigError
from skippy_chat.paths import Paths, as_told, make_private


def test_everything_is_derived_from_three_folders() -> None:
    paths = Paths(Path("/d"), Path("/c"), Path("/f"))
    assert paths.history_db == Path("/d/history.db")
    assert paths.locks_dir == Path("/d/locks")
    assert paths.logs_dir == Path("/d/logs")
    assert paths.checkpoints_dir == Path("/c/checkpoints")
    assert paths.models_dir == Path("/c/models")
    assert paths.builds_dir == Path("/c/builds")
    assert paths.undo_dir == Path("/d/undo")
    assert paths.trusted_projects == Path("/d/trusted.json")
    assert paths.tool_output_dir == Path("/c/tool-output")
    assert paths.approvals_file == Path("/f/approvals.toml")
    assert paths.user_config == Path("/f/config.toml")


def test_an_argument_beats_the_environment_which_beats_the_platform(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = {"SKIPPY_DATA_DIR": "/env/data", "SKIPPY_CACHE_DIR": "/env/cache"}
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    paths = Paths.resolve(data_dir="/typed", env=env)
    assert (paths.data_dir, paths.cache_dir) == (Path("/typed"), Path("/env/cache"))
    assert tmp_path in paths.config_dir.parents
    assert paths.config_dir.name == "skippy-chat"


def test_folders_are_absolute_and_home_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    paths = Paths.resolve(data_dir="here", cache_dir="~/there")
    assert paths.data_dir == tmp_path / "here"
    assert paths.cache_dir == tmp_path / "home/there"


def test_resolving_makes_nothing(tmp_path: Path) -> None:
    Paths.resolve(data_dir=tmp_path / "d", cache_dir=tmp_path / "c", config_dir=tmp_path / "f")
    assert list(tmp_path.iterdir()) == []


def test_what_is_made_is_private(tmp_path: Path) -> None:
    old = os.umask(0)
    try:
        assert make_private(tmp_path / "a" / "b") == tmp_path / "a" / "b"
    finally:
        os.umask(old)
    assert [stat.S_IMODE(each.stat().st_mode) for each in (tmp_path / "a", tmp_path / "a/b")] == [
        0o700,
        0o700,
    ]


@pytest.mark.parametrize("mode", [0o770, 0o702, 0o777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(ConfigError) as told:
        make_private(folder)
    assert str(folder) in told.value.message
    assert "chmod go-w" in told.value.hint


def test_one_that_others_can_only_read_is_fine(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert make_private(tmp_path) == tmp_path


@pytest.mark.parametrize("below", [".", "inner"])
def test_a_file_in_the_way_is_told(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ConfigError, match="file"):
        make_private(tmp_path / "file" / below)


def test_where_nothing_can_be_made_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, mode: int, *, exist_ok: bool) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ConfigError, match=r"Cannot make .* Permission denied") as told:
        make_private(tmp_path / "a")
    assert "--data-dir" in told.value.hint


@pytest.mark.parametrize(
    ("folder", "home", "told"),
    [
        ("/home/me/work", "/home/me", "~/work"),
        ("/home/me", "/home/me", "~"),
        ("/home/mean", "/home/me", "/home/mean"),
        ("/srv/work", "/home/me", "/srv/work"),
        ("/srv/work", "", "/srv/work"),
        ("/srv/work", "/", "/srv/work"),
        ("/srv/work", "srv", "/srv/work"),
    ],
)
def test_a_folder_is_told_from_home_on(folder: str, home: str, told: str) -> None:
    assert as_told(Path(folder), {"HOME": home}) == told
