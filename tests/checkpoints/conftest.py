"""Settings that many checkpoint tests share."""

from __future__ import annotations

import os

import pytest

from skippy_chat.checkpoints import index


@pytest.fixture
def unsynced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out waiting for the disk, where a test makes hundreds of commits and pulls no plug."""
    monkeypatch.setattr(index, "SYNCHRONOUS", "OFF")
    monkeypatch.setattr(os, "fsync", lambda _: None)
