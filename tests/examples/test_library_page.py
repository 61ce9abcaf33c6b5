"""The library's page tells no tales: its code runs, from top to bottom."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.examples.conftest import FOLDER, Script

PAGE = FOLDER.parent / "docs" / "library.md"


def blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.native
@pytest.mark.model
@pytest.mark.timeout(240)
def test_all_code_on_the_page_runs(run_script: Script, tmp_path: Path) -> None:
    assert len(blocks()) >= 8
    script = tmp_path / "page.py"
    script.write_text("\n\n".join([*blocks(), 'print("to the end")\n']), encoding="utf-8")
    text = run_script(script)
    assert text.splitlines()[-1] == "to the end"
    assert re.search(r"^price \{'fruit': '(apple|pear)'\} ok [34]$", text, re.MULTILINE)
    assert "buy" in text


def test_every_argument_and_method_is_told() -> None:
    import inspect  # noqa: PLC0415

    from skippy_chat import Skippy  # noqa: PLC0415

    text = PAGE.read_text(encoding="utf-8")
    for name in inspect.signature(Skippy).parameters:
        assert name in text, name
    for name in vars(Skippy):
        if not name.startswith("_") and name not in ("close", "over", "session", "model", "tools"):
            assert name in text, name
