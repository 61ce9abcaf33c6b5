"""Personas: what they may say, where they are found, and what goes before what."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.config import load_settings
from skippy_chat.errors import ConfigError
from skippy_chat.paths import Paths
from skippy_chat.personas import NamedFolder, find_persona, named_files, read_persona
from skippy_chat.trust import TrustedProjects, personas_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "personas"
    made.mkdir()
    return made


def write(folder: Path, name: str, text: str) -> Path:
    (folder / f"{name}.md").write_text(text, "utf-8")
    return folder / f"{name}.md"


REVIEWER = """\
+++
description = "Reads code"
temperature = 0.2
tools = ["read_file"]
seed = "auto"
+++

Be strict.
"""


def test_a_file_with_front_matter(folder: Path) -> None:
    write(folder, "reviewer", REVIEWER)
    found = find_persona("reviewer", [NamedFolder(folder)], "--persona")
    assert (found.system, found.description) == ("Be strict.", "Reads code")
    assert found.values == {"temperature": 0.2, "tools": ["read_file"], "seed": "auto"}
    settings = load_settings(flags={"persona": "reviewer"}, personas=[NamedFolder(folder)])
    assert (settings.system, settings.temperature, settings.tools) == ("Be strict.", 0.2, ("read_file",))
    assert settings.sources["temperature"] == f"{folder}/reviewer.md, line 3, key temperature"
    assert settings.sources["system"] == "persona reviewer"


def test_text_alone_is_the_system_prompt_and_settings_alone_leave_it(folder: Path) -> None:
    write(folder, "plain", "\ufeffBe plain.\r\n+++ is no end here\r\n")
    write(folder, "cold", "+++\ntemperature = 0\n+++\n")
    folders = [NamedFolder(folder)]
    assert find_persona("plain", folders, "x").system == "Be plain.\n+++ is no end here"
    settings = load_settings(flags={"persona": "cold", "system": "Mine."}, personas=folders)
    assert (settings.system, settings.temperature) == ("Mine.", 0.0)


@pytest.mark.parametrize(
    ("text", "line", "told", "hint"),
    [
        ("+++\n\ntemprature = 1\n+++\nx", 3, "unknown setting", "temperature"),
        ("+++\ntemperature = 'hot'\n+++\nx", 2, "a number is wanted", "Mend"),
        ("+++\napprove = 'all'\n+++\nx", 2, "a persona may not set this", "temperature"),
        ("+++\npersona = 'other'\n+++\nx", 2, "a persona may not set this", "temperature"),
        ("+++\nsystem = 'a'\n+++\nx", 2, "a persona may not set this", "temperature"),
        ("+++\ntool_files = ['a.py']\n+++\nx", 2, "a persona may not set this", "temperature"),
        ("+++\ndescription = 1\n+++\nx", 2, "text is wanted", "description"),
        ("+++\nseed = 1\nb c\n+++\nx", 3, "not valid TOML", "Lines look like"),
        ("+++\nseed = 1\n", 1, "has no end", "+++"),
        ("---\nmodel: x\n---\nx", 1, "front matter is TOML", "key = value"),
    ],
)
def test_a_mistake_is_told_with_its_line(folder: Path, text: str, line: int, told: str, hint: str) -> None:
    file = write(folder, "bad", text)
    with pytest.raises(ConfigError) as raised:
        read_persona("bad", file, of_project=False)
    assert raised.value.message.startswith(f"{file}, line {line}")
    assert told in raised.value.message
    assert hint in raised.value.hint


def test_a_file_that_is_no_text_or_too_long_is_told(folder: Path) -> None:
    (folder / "bytes.md").write_bytes(b"a\n\xff")
    with pytest.raises(ConfigError, match="line 2: not UTF-8"):
        read_persona("bytes", folder / "bytes.md", of_project=False)
    write(folder, "long", "x" * (256 * 1024 + 1))
    with pytest.raises(ConfigError, match="longer than 256 KiB"):
        read_persona("long", folder / "long.md", of_project=False)


def test_an_unknown_name_names_the_closest_or_the_file_to_write(folder: Path) -> None:
    write(folder, "reviewer", "x")
    with pytest.raises(ConfigError, match="--persona: there is no persona reviever") as raised:
        load_settings(flags={"persona": "reviever"}, personas=[NamedFolder(folder)])
    assert raised.value.hint == "Did you mean reviewer?"
    with pytest.raises(ConfigError) as raised:
        load_settings(flags={}, env={"SKIPPY_PERSONA": "x"}, personas=[NamedFolder(folder)])
    assert f"{folder}/x.md" in raised.value.hint
    for name in ("../x", "a/b", "", "."):
        if name:
            with pytest.raises(ConfigError):
                load_settings(flags={"persona": name}, personas=[NamedFolder(folder)])


def test_what_goes_before_what(folder: Path, tmp_path: Path) -> None:
    folders = [NamedFolder(folder)]
    write(folder, "p", "+++\ntop_k = 1\ntop_p = 0.1\n+++\nP.")
    write(folder, "q", "+++\ntop_k = 2\n+++\nQ.")
    user = tmp_path / "config.toml"
    user.write_text('persona = "p"\ntop_k = 9\nmin_p = 0.9\n')
    found = load_settings(flags={}, user_file=user, personas=folders)
    assert (found.top_k, found.min_p, found.persona, found.system) == (1, 0.9, "p", "P.")
    found = load_settings(flags={"persona": "q"}, user_file=user, personas=folders)
    assert (found.top_k, found.top_p, found.persona, found.system) == (2, 0.95, "q", "Q.")
    found = load_settings(flags={"top_k": 5}, assignments=["persona=q"], user_file=user, personas=folders)
    assert found.top_k == 5
    found = load_settings(flags={"persona": "none"}, user_file=user, personas=folders)
    assert (found.top_k, found.persona, found.system) == (9, None, None)


def test_a_session_brings_its_persona_back_without_the_file(folder: Path, tmp_path: Path) -> None:
    folders = [NamedFolder(folder)]
    file = write(folder, "p", "+++\ntop_k = 1\ntools = ['read_file']\n+++\nP.")
    kept = load_settings(flags={"persona": "p"}, personas=folders).for_session()
    file.unlink()
    found = load_settings(flags={}, session=kept, personas=folders)
    assert (found.persona, found.top_k, found.tools, found.system) == ("p", 1, ("read_file",), "P.")
    user = tmp_path / "config.toml"
    user.write_text('persona = "gone"\n')
    assert load_settings(flags={}, user_file=user, session=kept, personas=folders).persona == "p"
    # One that began without a persona does not get one later, unless it is said.
    assert load_settings(flags={}, user_file=user, session={"top_k": 3}, personas=folders).persona is None
    write(folder, "q", "+++\ntop_k = 7\n+++\n")
    assert load_settings(flags={"persona": "q"}, session=kept, personas=folders).top_k == 7


def test_a_workspaces_count_when_it_is_trusted_and_say_less(folder: Path, tmp_path: Path) -> None:
    paths = Paths(tmp_path / "data", tmp_path / "cache", tmp_path)
    theirs = tmp_path / "work" / ".skippy-chat" / "personas"
    theirs.mkdir(parents=True)
    write(theirs, "p", "Theirs.")
    write(theirs, "q", "+++\ntop_k = 3\n+++\nTheirs.")
    write(theirs, "r", "+++\ntools = ['run_command']\n+++\nTheirs.")
    write(folder, "p", "Mine.")
    work = tmp_path / "work"
    assert set(named_files(personas_of(paths, work))) == {"p"}
    TrustedProjects(paths.trusted_projects).add(work)
    folders = personas_of(paths, work)
    assert find_persona("p", folders, "x").system == "Mine."
    assert find_persona("q", folders, "x").of_project
    with pytest.raises(ConfigError, match="a project's persona may not set this"):
        find_persona("r", folders, "x")
    (tmp_path / "secret.md").write_text("key")
    (theirs / "s.md").symlink_to(tmp_path / "secret.md")
    with pytest.raises(ConfigError, match="leads out of its folder"):
        find_persona("s", folders, "x")
