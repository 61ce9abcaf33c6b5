"""What a typed text becomes when it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from skippy_chat.completions.aids import Outgoing, TypingAids
from skippy_chat.completions.source import Offered
from skippy_chat.errors import AttachmentRefused, ConfigError
from skippy_chat.paths import Paths
from skippy_chat.trust import TrustedProjects
from skippy_chat.typed_history import TypedHistory
from tests.chat.clock import Clock

TAKEN = frozenset({"help", "export"})


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths(tmp_path / "data", tmp_path / "cache", tmp_path / "config")


@pytest.fixture
def workspace(tmp_path: Path, paths: Paths) -> Path:
    root = tmp_path / "work"
    prompts = root / ".skippy-chat" / "prompts"
    prompts.mkdir(parents=True)
    (prompts / "theirs.md").write_text("Their prompt.")
    (prompts / "explain.md").write_text("Not this one.")
    (root / "notes.md").write_text("Buy milk.")
    paths.prompts_dir.mkdir(parents=True)
    (paths.prompts_dir / "explain.md").write_text('+++\ndescription = "A word"\n+++\nExplain $ARGUMENTS.')
    (paths.prompts_dir / "todo.md").write_text("What is open in @notes.md?")
    (paths.prompts_dir / "help.md").write_text("Never used.")
    (paths.prompts_dir / "Fix.this_2.md").write_text("Fix this.")
    return root


@pytest.fixture
def aids(paths: Paths, workspace: Path) -> TypingAids:
    return TypingAids(paths, workspace, TypedHistory(paths.history_db, now=Clock()))


def sent(aids: TypingAids, text: str) -> str | None:
    outgoing = aids.outgoing(text, TAKEN)
    return None if outgoing is None else outgoing.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hello", "hello"),
        ("/explain  a word ", "Explain a word."),
        ("/explain two\nlines", "Explain two\nlines."),
        ("/Fix.this_2", "Fix this."),
        ("/Fix.this_2 now", "Fix this.\n\nnow"),
        ("//explain x", "/explain x"),
        ("/help", None),
        ("/help me", "/help me"),
        ("/nothing", None),
        ("/usr/bin/ls", "/usr/bin/ls"),
    ],
)
def test_a_prompt_is_put_in(aids: TypingAids, text: str, expected: str | None) -> None:
    if text.startswith("/help"):
        assert not aids.takes_time(text, TAKEN)
        assert sent(aids, text) == text  # the face has read it as its own command before
    else:
        assert sent(aids, text) == expected


def test_a_prompt_may_name_files_and_so_may_what_is_typed_behind_it(aids: TypingAids) -> None:
    outgoing = aids.outgoing("/todo", TAKEN)
    assert outgoing == Outgoing(
        "What is open in @notes.md?\n\nFile notes.md:\n```md\nBuy milk.\n```", ("notes.md",), "todo"
    )
    assert "Buy milk." in (sent(aids, "/explain @notes.md") or "")


def test_a_file_that_cannot_go_along_stops_the_message(aids: TypingAids, workspace: Path) -> None:
    (workspace / "bin").write_bytes(b"\0")
    for text in ("see @bin", "/explain @bin"):
        with pytest.raises(AttachmentRefused):
            aids.outgoing(text, TAKEN)
    with pytest.raises(AttachmentRefused):
        aids.edited("see @bin")


def test_an_edit_is_read_for_files_alone(aids: TypingAids) -> None:
    assert aids.edited("/explain x").text == "/explain x"
    assert aids.edited("//x").text == "//x"
    assert aids.edited("@notes.md").files == ("notes.md",)


def test_a_workspaces_prompts_count_when_it_is_trusted(
    aids: TypingAids, paths: Paths, workspace: Path
) -> None:
    assert sent(aids, "/theirs") is None
    TrustedProjects(paths.trusted_projects).add(workspace)
    assert sent(aids, "/theirs") == "Their prompt."
    assert sent(aids, "/explain x") == "Explain x."


def test_a_prompt_with_a_mistake_is_told_by_its_name_alone(aids: TypingAids, paths: Paths) -> None:
    (paths.prompts_dir / "bad.md").write_text("+++\nmodel = 'x'\n+++\nx")
    assert sent(aids, "/explain x") == "Explain x."
    with pytest.raises(ConfigError, match=r"bad\.md"):
        aids.outgoing("/bad", TAKEN)


def test_prompts_are_offered_beside_the_commands_which_go_first(aids: TypingAids) -> None:
    found = aids.offers("/", 1, [Offered("help", "list")])
    assert found is not None
    assert [(each.shown, each.about) for each in found.offers] == [
        ("/help", "list"),
        ("/Fix.this_2", "your prompt"),
        ("/explain TEXT", "A word"),
        ("/todo", "your prompt"),
    ]


def test_files_are_offered(aids: TypingAids) -> None:
    found = aids.offers("see @no", 7, [])
    assert found is not None
    assert [each.text for each in found.offers] == ["@notes.md "]


def test_a_list_of_trusted_folders_that_is_damaged_is_told_when_a_prompt_is_meant(
    aids: TypingAids, paths: Paths
) -> None:
    paths.data_dir.mkdir(mode=0o700)
    paths.trusted_projects.write_text("{")
    assert aids.offered() == []
    with pytest.raises(ConfigError, match="damaged"):
        aids.outgoing("/explain x", TAKEN)
    assert sent(aids, "plain text") == "plain text"


@pytest.mark.parametrize("text", ["hello", "mail a@b.c", "//x", "/help", "/usr/bin"])
def test_most_texts_need_no_look_at_the_disk(aids: TypingAids, text: str) -> None:
    assert not aids.takes_time(text, TAKEN)


@pytest.mark.parametrize("text", ["@a", "/explain", "/explain x", "/nothing"])
def test_some_do(aids: TypingAids, text: str) -> None:
    assert aids.takes_time(text, TAKEN)
