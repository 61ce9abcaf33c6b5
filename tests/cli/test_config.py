"""``skippy-chat config``: what is in force, and where it comes from."""

from __future__ import annotations

from tests.fakes.host import Desk


def write_config(desk: Desk, text: str) -> None:
    (desk.root / "config").mkdir(mode=0o700)
    (desk.root / "config" / "config.toml").write_text(text, encoding="utf-8")


def test_path(desk: Desk) -> None:
    assert desk.run("config", "path") == 0
    assert desk.out == f"{desk.root}/config/config.toml\n"
    desk.run("config", "path", "--json", "--data-dir", "/elsewhere")
    assert desk.json["paths"]["data"] == "/elsewhere"
    assert desk.json["paths"]["cache"] == f"{desk.root}/cache"


def test_show_names_the_source_of_each_value(desk: Desk) -> None:
    write_config(desk, "temperature = 0.2\ntop_k = 7\n")
    assert desk.run("config", "show", "--json", "--temperature", "0.4", "-c", "min_p=0.1") == 0
    settings = desk.json["settings"]
    assert settings["temperature"] == {"value": 0.4, "source": "--temperature"}
    assert settings["min_p"] == {"value": 0.1, "source": "-c min_p"}
    assert settings["top_k"]["value"] == 7
    assert "config.toml, line 2" in settings["top_k"]["source"]
    assert settings["ctx"]["source"] == "default"


def test_show_as_a_table(desk: Desk) -> None:
    desk.run("config", "show", "--no-cache")
    rows = {line.split()[0]: line.split()[1:] for line in desk.out.splitlines()[1:]}
    assert rows["cache"] == ["false", "--no-cache"]
    assert rows["ctx"] == ["8192", "default"]


def test_a_bad_file_is_one_line_with_its_place(desk: Desk) -> None:
    write_config(desk, "temperature = 'hot'\n")
    assert desk.run("config", "show") == 2
    assert "config.toml, line 1" in desk.err
    assert desk.err.count("\n") == 1
