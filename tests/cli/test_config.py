"""``skippy-chat config``: what is in force, and where it comes from."""

from __future__ import annotations

import pytest

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


def test_lists_are_shown_as_they_are_typed(desk: Desk) -> None:
    desk.run("config", "show", "--tools", "read_file,default", "-c", "pass_variables=GH_TOKEN")
    rows = {line.split()[0]: line.split()[1:] for line in desk.out.splitlines()[1:]}
    assert rows["tools"] == ["read_file,default", "--tools"]
    assert rows["pass_variables"][0] == "GH_TOKEN"
    desk.run("config", "show", "--json", "--tools", "none")
    assert desk.json["settings"]["tools"] == {"value": [], "source": "--tools"}


def test_trust_shows_all_of_the_file_and_can_be_taken_back(desk: Desk) -> None:
    (desk.root / ".skippy-chat.toml").write_text('top_k = 3 # \u202e\n[[rule]]\ntool = "*"\naction = "ask"\n')
    desk.run("config", "show")
    assert "is not trusted" in desk.err
    desk.run("config", "show", "--json")
    assert desk.json["settings"]["top_k"]["value"] == 40
    assert desk.json["ignored"] == str(desk.root / ".skippy-chat.toml")
    assert desk.run("config", "trust") == 0
    assert "counts from now on" in desk.out
    assert "top_k = 3 # ⟪U+202E⟫" in desk.out
    desk.run("config", "show", "--json")
    assert desk.json["settings"]["top_k"]["value"] == 3
    assert ".skippy-chat.toml, line 1" in desk.json["settings"]["top_k"]["source"]
    assert desk.run("config", "trust", "--json") == 0
    assert desk.json["changed"] is False
    assert desk.run("config", "untrust") == 0
    assert "counts no longer" in desk.out
    assert desk.run("config", "untrust", "--json") == 0
    assert desk.json == {
        "schema": 1, "file": str(desk.root / ".skippy-chat.toml"), "trusted": False, "changed": False
    }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("tools = ['all']", "a project file may not set this"),
        ("[[rule]]\ntool = 'x'\naction = 'allow'", "may not allow anything"),
        ("temprature = 1", "unknown setting"),
        ("a b", "not valid TOML"),
    ],
)
def test_a_file_that_cannot_be_used_is_not_trusted(desk: Desk, content: str, told: str) -> None:
    (desk.root / ".skippy-chat.toml").write_text(content)
    assert desk.run("config", "trust") == 2
    assert told in desk.err
    assert desk.run("config", "show") == 0


def test_there_must_be_a_file_to_trust(desk: Desk) -> None:
    assert desk.run("config", "trust") == 2
    assert "has no .skippy-chat.toml" in desk.err


def test_init_set_and_unset(desk: Desk) -> None:
    file = desk.root / "config" / "config.toml"
    assert desk.run("config", "init") == 0
    assert desk.out == f"Wrote {file}.\n"
    assert desk.run("config", "init") == 2
    assert "exists" in desk.err
    assert desk.run("config", "set", "max-tokens", "300") == 0
    assert desk.out == f"max_tokens is 300 in {file}.\n"
    assert "# max_tokens = 1024\nmax_tokens = 300\n" in file.read_text("utf-8")
    desk.run("config", "show", "--json")
    assert desk.json["settings"]["max_tokens"]["value"] == 300
    assert desk.run("config", "unset", "max_tokens", "--json") == 0
    assert desk.json == {"schema": 1, "file": str(file), "key": "max_tokens", "changed": True}
    assert desk.run("config", "unset", "max_tokens") == 0
    assert "said nothing" in desk.out


def test_set_checks_first_and_says_what_hides_it(desk: Desk) -> None:
    assert desk.run("config", "set", "temprature", "1") == 2
    assert "Did you mean temperature?" in desk.err
    assert desk.run("config", "set", "ctx", "3") == 2
    assert not (desk.root / "config" / "config.toml").exists()
    assert desk.run("config", "set", "persona", "nobody") == 2
    assert not (desk.root / "config" / "config.toml").exists()
    assert desk.run("config", "set", "ctx", "512", "-c", "ctx=1024") == 0
    assert "It does not count here: -c ctx goes before it." in desk.err


def test_tool_files_are_typed_from_here(desk: Desk) -> None:
    assert desk.run("config", "set", "tool_files", "a.py, /b.py", "--json") == 0
    assert desk.json["value"] == [str(desk.root / "a.py"), "/b.py"]


def test_schema(desk: Desk) -> None:
    assert desk.run("config", "schema") == 0
    assert desk.json["properties"]["ctx"]["default"] == 8192
    assert desk.run("config", "schema", "--project") == 0
    assert "rule" in desk.json["properties"]
    assert "tools" not in desk.json["properties"]


def test_keys_that_the_app_would_refuse_are_not_written(desk: Desk) -> None:
    for value, told in (
        ("tols=f8", "Did you mean tools?"),
        ("tools=ctrl+p", "would be the key of"),
        ("tools=ctrl+i", "terminals send Tab"),
        ("tools", "a table of names and their keys"),
    ):
        assert desk.run("config", "set", "keys", value) == 2
        assert told in desk.err
    assert not (desk.root / "config" / "config.toml").exists()
    assert desk.run("config", "set", "keys", "tools=f8, details=none") == 0
    assert "keys is tools=f8, details=none in" in desk.out
    desk.run("config", "show", "--json")
    assert desk.json["settings"]["keys"]["value"] == {"tools": ["f8"], "details": []}
