"""What is told with the first turn of a session that was just opened, and what a mistake leaves behind: nothing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from skippy_chat.agent.opening import ConversationOptions, open_conversation
from skippy_chat.agent.protocol import Conversation
from skippy_chat.config import load_settings
from skippy_chat.errors import ConfigError
from skippy_chat.events import Notice, TurnFinished
from skippy_chat.paths import Paths
from tests.agent.conftest import Turn, play

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(120)]


def opened(
    root: Path,
    folder: str,
    model: Path,
    *,
    ignored: Path | None = None,
    home: str = "/home/me",
    changes: Mapping[str, object] | None = None,
    **flags: Any,
) -> Conversation:
    (root / folder).mkdir(exist_ok=True)
    flags = {"model": str(model), "threads": 1, "max_tokens": 4, "ctx": 1024, **flags}
    paths = Paths(root / "data", root / "cache", root / "config")
    return open_conversation(
        ConversationOptions(
            paths,
            load_settings(flags=flags, ignored_file=ignored),
            root / folder,
            session="S",
            environment={"HOME": home},
            changes=changes or {},
        ),
        on_progress=lambda what, done, total: None,
    )


def told(turn: Turn) -> list[str]:
    return [each.text for each in turn.events if isinstance(each, Notice)]


def test_what_does_not_count_and_where_tools_work_is_told_once(tmp_path: Path, default_model: Path) -> None:
    talk = opened(
        tmp_path, "one", default_model, tools="calculator", ignored=tmp_path / "one/.skippy-chat.toml"
    )
    try:
        assert [each.name for each in talk.tools] == ["calculator"]
        (note,) = told(play(talk.send("Hello.")))
        assert "is not trusted" in note
        assert told(play(talk.send("Hello again."))) == []
        assert talk.session.settings["tools"] == ["calculator"]
    finally:
        talk.close()
    talk = opened(tmp_path, "two", default_model, tools="list_directory")
    try:
        (note,) = told(play(talk.send("Hello.")))
        assert note == f"This session began in {tmp_path}/one; its tools work in {tmp_path}/two now."
        assert told(play(talk.send("Hello again."))) == []
    finally:
        talk.close()


@pytest.mark.parametrize(("home", "count"), [("one", 1), ("one/below", 1), ("", 0), ("oneself", 0)])
def test_tools_in_the_home_folder_are_warned_of(
    tmp_path: Path, default_model: Path, home: str, count: int
) -> None:
    place = str(tmp_path / home) if home else ""
    talk = opened(tmp_path, "one", default_model, home=place, tools="read_file")
    try:
        assert sum("home folder" in each for each in told(play(talk.send("Hello.")))) == count
    finally:
        talk.close()


def test_a_mistake_about_tools_leaves_nothing_behind(tmp_path: Path, default_model: Path) -> None:
    with pytest.raises(ConfigError, match="no tool calculater"):
        opened(tmp_path, "one", default_model, tools="calculater")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["one"]


def test_what_is_adjusted_holds_at_once_and_is_kept(tmp_path: Path, default_model: Path) -> None:
    talk = opened(tmp_path, "one", default_model, temperature=0.7)
    try:
        play(talk.send("Hello."))
        assert talk.adjust({"temperature": "0", "max_tokens": "2"}).temperature == 0
        assert (talk.settings.max_tokens, talk.sampling().temperature) == (2, 0)
        (usage,) = (each.usage for each in play(talk.send("Count.")).events if isinstance(each, TurnFinished))
        assert usage.generated_tokens == 2
        kept = talk.session.settings
        assert (kept["temperature"], kept["max_tokens"]) == (0, 2)
        assert not talk.model.thinks, "the default model's template knows no reasoning"
    finally:
        talk.close()


def test_another_model_in_the_same_session_is_said_and_kept(tmp_path: Path, default_model: Path) -> None:
    talk = opened(tmp_path, "one", default_model)
    try:
        play(talk.send("Hello."))
    finally:
        talk.close()
    other = tmp_path / "other.gguf"
    other.symlink_to(default_model)
    talk = opened(tmp_path, "one", other, changes={"model": str(other)})
    try:
        assert (talk.session.model, talk.session.settings["model"]) == (str(other), str(other))
        (note,) = told(play(talk.send("Hello again.")))
        assert note == f"The model is {other} from here on; it was {default_model}."
    finally:
        talk.close()
