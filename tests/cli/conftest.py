"""A desk of its own for every test of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes.host import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)
