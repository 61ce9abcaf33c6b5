"""What the app is told of the person's wishes."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.cli.options import Invocation
from skippy_chat.cli.preferences import preferences_of
from skippy_chat.errors import ConfigError
from skippy_chat.tui.preferences import ModelRow
from tests.cli.test_models import write_model
from tests.fakes.host import Desk


def test_theme_and_keys_are_those_of_the_settings(desk: Desk) -> None:
    found = preferences_of(Invocation(desk.host(), assignments=["theme=nord", "keys=tools=f8"]))
    assert (found.theme, dict(found.keys)) == ("nord", {"tools": ("f8",)})
    assert found.file == desk.root / "config" / "config.toml"
    with pytest.raises(ConfigError, match="-c keys: there is no command or action 'tols'"):
        preferences_of(Invocation(desk.host(), assignments=["keys=tols=f8"]))


def test_what_is_kept_is_read_again(desk: Desk) -> None:
    found = preferences_of(Invocation(desk.host()))
    assert found.keep("temperature", "0.2") == 0.2
    assert found.settings({}).temperature == 0.2
    assert found.settings({"temperature": 0.9}).temperature == 0.9
    with pytest.raises(ConfigError, match="persona"):
        found.keep("persona", "nobody")
    assert found.keep("tool_files", "a.py") == [str(desk.host().folder / "a.py")]
    assert found.drop("temperature")
    assert found.settings({}).temperature == 0.7


def test_models_that_are_here_are_told_with_the_built_in_ones(desk: Desk) -> None:
    folder = desk.root / "cache" / "models"
    write_model(folder / "tiny.gguf")
    (folder / "broken.gguf").write_bytes(b"GGUF\x03\x00")
    rows = {each.name: each for each in preferences_of(Invocation(desk.host())).models()}
    assert list(rows)[:2] == ["default", "smollm2"]
    assert rows["default"] == ModelRow("default")
    tiny = rows["tiny"]
    assert (tiny.architecture, tiny.trained, tiny.path) == ("llama", 2048, Path(folder / "tiny.gguf"))
    assert tiny.size > 0
    assert not tiny.fault
    assert rows["broken"].fault


def test_a_model_file_is_looked_at_where_it_is_named(desk: Desk) -> None:
    found = preferences_of(Invocation(desk.host()))
    write_model(desk.host().folder / "here.gguf")
    row = found.model_at("here.gguf")
    assert row is not None
    assert (row.name, row.architecture, row.fault) == (str(desk.host().folder / "here.gguf"), "llama", "")
    assert found.model_at("there.gguf") is None
