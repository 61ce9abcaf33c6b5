"""The package's names: there for scripts, and not loaded for anybody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

import skippy_chat
import skippy_chat.api


def test_every_name_that_is_promised_is_there() -> None:
    assert set(skippy_chat.__all__) - {"__version__"} == set(skippy_chat.api.__all__)
    for name in skippy_chat.api.__all__:
        assert getattr(skippy_chat, name) is getattr(skippy_chat.api, name)
        assert name in dir(skippy_chat)


def test_other_names_are_refused_as_usual() -> None:
    with pytest.raises(AttributeError, match="Skipy"):
        _ = skippy_chat.Skipy  # type: ignore[attr-defined]


def test_the_package_alone_loads_nothing() -> None:
    program = (
        "import sys; before = set(sys.modules); import skippy_chat; after = set(sys.modules) - before;"
        "print(*sorted(after - {'skippy_chat', '__future__', 'typing'} - set(sys.stdlib_module_names)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert [
        name for name in done.stdout.split() if name.partition(".")[0] not in sys.stdlib_module_names
    ] == []
