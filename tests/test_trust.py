"""Which workspaces' own settings count."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from skippy_chat.errors import ConfigError
from skippy_chat.trust import TrustedProjects


def test_trust_is_kept_by_real_path(tmp_path: Path) -> None:
    real, other = tmp_path / "real", tmp_path / "other"
    real.mkdir()
    other.mkdir()
    (tmp_path / "link").symlink_to(real)
    projects = TrustedProjects(tmp_path / "data" / "trusted.json")
    assert not projects.has(real)
    assert not (tmp_path / "data").exists()
    assert projects.add(tmp_path / "link")
    assert not projects.add(real)
    again = TrustedProjects(tmp_path / "data" / "trusted.json")
    assert again.has(real)
    assert not again.has(other)
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    assert again.remove(real)
    assert not again.remove(real)
    assert not projects.has(tmp_path / "link")


@pytest.mark.parametrize("content", ["", "[]", '{"workspaces": 3}', '{"workspaces": [3]}', "\xff"])
def test_a_damaged_list_trusts_nothing_and_says_so(tmp_path: Path, content: str) -> None:
    file = tmp_path / "trusted.json"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(ConfigError, match="damaged"):
        TrustedProjects(file).has(tmp_path)


def test_a_list_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    file = tmp_path / "trusted.json"
    file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        TrustedProjects(file).add(tmp_path)
