"""Changing one key of the config file: comments stay, nothing wrong is written, nothing else changes."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import filelock
import pytest
import tomlkit
from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat import config_writing
from skippy_chat.config import KEYS, Settings, load_settings
from skippy_chat.config_writing import begin_file, get_key, set_key, starter, unset_key
from skippy_chat.errors import ConfigError
from skippy_chat.setting_table import TABLE


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "config" / "config.toml"


def test_a_new_file_says_nothing_and_shows_every_key_with_its_default(file: Path) -> None:
    begin_file(file)
    assert load_settings(flags={}, user_file=file) == Settings()
    text = file.read_text("utf-8")
    assert all(about.meaning in text for about in TABLE.values())
    shown = "\n".join(
        line[2:] for line in text.splitlines() if " = " in line and line[2:].split(" ")[0] in KEYS
    )
    values = tomlkit.parse(shown).unwrap()
    assert tuple(values) == KEYS
    for key, value in values.items():
        default = getattr(Settings(), key)
        if default is not None:
            assert load_settings(flags={key: value}) == Settings(), key
        load_settings(flags={key: value} if key != "persona" else {})
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_a_file_that_is_there_is_never_begun_again(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.symlink_to("nowhere")
    with pytest.raises(ConfigError, match="exists"):
        begin_file(file)
    file.unlink()
    file.write_text("ctx = 512\n")
    with pytest.raises(ConfigError, match="exists"):
        begin_file(file)
    assert file.read_text() == "ctx = 512\n"


def test_a_key_is_put_behind_the_comment_that_shows_it(file: Path) -> None:
    begin_file(file)
    set_key(file, "top_k", "7")
    set_key(file, "tools", "read_file,default")
    lines = file.read_text("utf-8").splitlines()
    assert lines[lines.index("# top_k = 40") + 1] == "top_k = 7"
    assert 'tools = ["read_file", "default"]' in lines
    assert unset_key(file, "top_k")
    assert unset_key(file, "tools")
    assert not unset_key(file, "tools")
    assert file.read_text("utf-8") == starter()


def test_comments_order_and_line_ends_stay(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_bytes(b"# mine\r\nctx = 512 # small\r\n\r\n# more\r\nseed = 1\r\n")
    set_key(file, "ctx", "1024")
    assert file.read_bytes() == b"# mine\r\nctx = 1024 # small\r\n\r\n# more\r\nseed = 1\r\n"
    unset_key(file, "seed")
    assert b"# small\r\n\r\n# more\r\n" in file.read_bytes()


def test_a_comment_within_a_text_is_no_place(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text('system = """\n# top_k = 40\n"""\n')
    set_key(file, "top_k", 3)
    found = load_settings(flags={}, user_file=file)
    assert (found.top_k, found.system) == (3, "# top_k = 40\n")


@pytest.mark.parametrize(
    ("key", "value", "written"),
    [
        ("temperature", "0.5", 0.5), ("reasoning", "off", False), ("disk_budget", "2GiB", "2GiB"),
        ("disk_budget", "1000", "1000"), ("threads", "auto", "auto"), ("tools", "none", []),
        ("approve", "deny", "deny"),
        ("flash_attention", "on", "on"), ("system", 'a "b"\n\x1b', 'a "b"\n\x1b'), ("seed", 5, 5),
    ],
)  # fmt: skip
def test_values_are_written_as_toml_has_them(file: Path, key: str, value: object, written: object) -> None:
    assert set_key(file, key, value) == written
    assert get_key(file, key) == written
    assert getattr(load_settings(flags={}, user_file=file), key) == getattr(
        load_settings(flags={key: value}), key
    )


@pytest.mark.parametrize(
    ("key", "value", "told", "hint"),
    [
        ("temprature", "1", "unknown setting", "temperature"),
        ("temperature", "hot", "a number is wanted", "Mend"),
        ("kv_type", "q8", "does not fit", "q8_0"),
    ],
)
def test_what_does_not_fit_is_not_written(file: Path, key: str, value: str, told: str, hint: str) -> None:
    with pytest.raises(ConfigError) as raised:
        set_key(file, key, value)
    assert told in raised.value.message
    assert hint in raised.value.hint
    assert not file.exists()


def test_a_mistake_elsewhere_in_the_file_is_told_with_its_line_and_can_be_taken_out(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text("ctx = 512\nsede = 1\n")
    with pytest.raises(ConfigError, match="line 2, key sede: unknown") as raised:
        set_key(file, "ctx", 1024)
    assert "seed" in raised.value.hint
    assert file.read_text() == "ctx = 512\nsede = 1\n"
    assert unset_key(file, "sede")
    set_key(file, "ctx", 1024)
    assert file.read_text() == "ctx = 1024\n"


def test_a_wrong_value_can_be_set_right(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text("ctx = 5\n")
    set_key(file, "ctx", 1024)
    assert file.read_text() == "ctx = 1024\n"


def test_a_file_that_is_no_toml_is_left_alone(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text("ctx = 512\nctx = 513\n")
    with pytest.raises(ConfigError, match="line 2: not valid TOML"):
        set_key(file, "seed", 1)
    with pytest.raises(ConfigError, match="line 2: not valid TOML"):
        unset_key(file, "ctx")
    assert file.read_text() == "ctx = 512\nctx = 513\n"


def test_a_link_stays_a_link(file: Path, tmp_path: Path) -> None:
    file.parent.mkdir(mode=0o700)
    (tmp_path / "dotfiles.toml").write_text("# mine\n")
    file.symlink_to(tmp_path / "dotfiles.toml")
    set_key(file, "ctx", 512)
    assert file.is_symlink()
    assert (tmp_path / "dotfiles.toml").read_text() == "# mine\nctx = 512\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_that_cannot_be_written_is_told(file: Path) -> None:
    file.parent.mkdir(mode=0o500)
    with pytest.raises(ConfigError, match="cannot be written"):
        set_key(file, "ctx", 512)


def test_a_file_that_another_program_holds_is_told(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config_writing, "_LOCK_SECONDS", 0.05)
    file.parent.mkdir(mode=0o700)
    with (
        filelock.FileLock(f"{file}.lock"),
        pytest.raises(ConfigError, match="another program is changing it"),
    ):
        set_key(file, "ctx", 512)
    assert not file.exists()


def test_writers_do_not_lose_each_others_keys(file: Path) -> None:
    keys = {"ctx": 512, "seed": 3, "top_k": 9, "max_steps": 4, "patience": 2.0, "min_p": 0.5}
    threads = [threading.Thread(target=set_key, args=(file, key, value)) for key, value in keys.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = load_settings(flags={}, user_file=file)
    assert {key: getattr(found, key) for key in keys} == keys


@settings(max_examples=40, deadline=None)
@given(text=st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=30))
def test_any_text_comes_back(text: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("text") / "config.toml"
    file.parent.chmod(0o700)
    set_key(file, "system", text)
    assert load_settings(flags={}, user_file=file).system == (text or None)


def test_keys_are_a_table_whose_comments_stay(file: Path) -> None:
    file.parent.mkdir(mode=0o700)
    file.write_text(
        '# mine\nctx = 512\n\n[keys]\n# anew\nregenerate = "ctrl+g" # g as in go\ndetails = "f2"\n'
    )
    assert set_key(file, "keys", "regenerate=ctrl+g, follow=f3 f4") == {
        "regenerate": "ctrl+g",
        "follow": ["f3", "f4"],
    }
    text = file.read_text("utf-8")
    assert "# anew" in text
    assert "# g as in go" in text
    assert "details" not in text
    set_key(file, "top_k", 7)
    found = load_settings(flags={}, user_file=file)
    assert found.keys == {"regenerate": ("ctrl+g",), "follow": ("f3", "f4")}
    assert (found.ctx, found.top_k) == (512, 7)
    assert unset_key(file, "keys")
    assert load_settings(flags={}, user_file=file) == Settings(ctx=512, top_k=7)


def test_keys_begin_a_table_at_the_end_of_a_new_file(file: Path) -> None:
    begin_file(file)
    set_key(file, "keys", {"regenerate": ["ctrl+g"]})
    set_key(file, "theme", "nord")
    set_key(file, "seed", 3)
    found = load_settings(flags={}, user_file=file)
    assert (found.keys, found.theme, found.seed) == ({"regenerate": ("ctrl+g",)}, "nord", 3)
    assert file.read_text("utf-8").rstrip().endswith('[keys]\nregenerate = "ctrl+g"')
