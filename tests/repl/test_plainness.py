"""Every command on every kind of output: no control character of foreign text gets out, and none at all where plain."""

from __future__ import annotations

import functools
import re
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.agent.agents_file import AgentsText
from skippy_chat.agent.looking import Checkpoints
from skippy_chat.agent.protocol import ToolInfo
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Session
from skippy_chat.completions.aids import TypingAids
from skippy_chat.engine.questions import CheckpointTree, EditCost, TreeNode
from skippy_chat.events import Notice
from skippy_chat.paths import Paths
from skippy_chat.repl.commands import COMMANDS
from skippy_chat.repl.plain import PlainFace
from skippy_chat.repl.services import Services
from skippy_chat.repl.stored import StoredSessions
from skippy_chat.typed_history import TypedHistory
from tests.fakes.conversation import FakeConversation, Turn
from tests.repl import chatting
from tests.repl.chatting import Drawing, Person, chat
from tests.repl.conftest import Open

pytestmark = pytest.mark.timeout(180)

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
EVIL = "\x1b]0;owned\x07e\x1b[2Jvil\x9b31m\r"
# With what each is typed; those that end a conversation come last, one for each chat.
TYPED = {
    "edit": ["/edit 1", f"new {EVIL}"],
    "regenerate": ["/regenerate temperature=1"],
    "branch": ["/branch", "/branch 2"],
    "goto": ["/goto 1"],
    "find": ["/find vil"],
    "copy": ["/copy", "/copy code"],
    "rename": ["/rename A name"],
    "sessions": ["/sessions", "/sessions vil"],
    "settings": ["/settings", "/settings temperature 0.5"],
    "context": ["/context"],
    "model": ["/model"],
}
ENDING = ["new", "fork", "delete", "restore", "quit", "remove", "continue"]


def conversation() -> FakeConversation:
    session = Session("01FAKE", f"ti{EVIL}tle", f"/work/{EVIL}", 0, 0, "m", AgentsText(EVIL, Notice()).kept())
    made = FakeConversation([Turn((EVIL, "```\n", EVIL, "\n```")) for _ in range(9)], session=session)
    asked = made.add("user", f"one {EVIL}", None)
    answer = made.add("assistant", f"{EVIL}\n```{EVIL}\n{EVIL}\n```", asked.id)
    made.add("tool", EVIL, answer.id)
    made.add("user", f"two {EVIL}", answer.id)
    made.offered = (ToolInfo(f"tool{EVIL}", EVIL, "ask"),)
    node = TreeNode(
        None, 37, 37, 0, 0, "message", generated=False, stored=True, live=False, has_state=True, has_logits=False,
        row_bytes=100, state_bytes=100, logits_bytes=0,
    )  # fmt: skip
    tree = CheckpointTree((node,), (EditCost(0, 0, 37, 0.5),), 37, 37, 100, 1000)
    made.kept = Checkpoints(tree, (tuple(made.messages()),), ())
    return made


@pytest.fixture
def services(tmp_path: Path) -> Services:
    paths = Paths.resolve(
        data_dir=tmp_path / "data",
        cache_dir=tmp_path / "cache",
        env={"SKIPPY_CONFIG_DIR": str(tmp_path / "config"), "HOME": str(tmp_path)},
    )
    paths.prompts_dir.mkdir(parents=True)
    (paths.prompts_dir / "bad.md").write_text(f"{EVIL} text")
    paths.data_dir.mkdir(mode=0o700)

    def history() -> History:
        return History.open(paths.history_db, now=lambda: 1)

    with closing(history()) as made:
        for _ in range(2):
            session = made.create_session(folder=tmp_path / f"f{EVIL}")
            made.append(session.id, None, "user", EVIL)
        made.put_away(session.id)
    typed = TypedHistory(paths.history_db, now=lambda: 1)
    return replace(
        chatting.services(tmp_path, {"PATH": ""}),
        stored=StoredSessions(lambda: closing(history()), tmp_path),
        aids=TypingAids(paths, tmp_path, typed),
        models=lambda: [f"name{EVIL}  {EVIL}"],
    )


@pytest.mark.parametrize("kind", [PlainFace, Person, Drawing])
def test_no_command_lets_a_control_character_out(services: Services, kind: type[PlainFace]) -> None:
    lines = [line for name in COMMANDS if name not in ENDING for line in TYPED.get(name, [f"/{name}"])]
    chatted = chat(conversation(), "\n".join(lines) + "\n", services, kind)
    assert "vil" in chatted.out
    assert CONTROL.search(chatted.out + chatted.err) is None
    for name in ENDING:
        chatted = chat(conversation(), f"/{name}\n", services, kind)
        assert CONTROL.search(chatted.out + chatted.err) is None


def test_every_word_is_foreign_to_no_command(services: Services) -> None:
    for name in COMMANDS:
        chatted = chat(conversation(), f"/{name} {EVIL}\n\n", services)
        assert CONTROL.search(chatted.out + chatted.err) is None, name


@pytest.mark.parametrize(
    ("arguments", "env"), [(("repl",), {"TERM": "dumb"}), (("repl", "--plain"), {"NO_COLOR": "1"})]
)
def test_a_plain_terminal_gets_no_escape_from_any_command(
    terminal: Open, arguments: tuple[str, ...], env: dict[str, str]
) -> None:
    screen = terminal("hostile", *arguments, EDITOR="true", **env)
    screen.wait_for("You:")
    screen.type("hello\n")
    screen.wait_for("okred end")
    screen.wait_for(lambda text: text.endswith("You:"))
    for name in COMMANDS:
        # An export would be written into the project's folder.
        if name not in {*ENDING, "regenerate", "edit", "amend", "compact", "export"}:
            waiting = screen.text.count("You:")
            screen.type(f"/{name}\n")
            screen.wait_for(functools.partial(_asks_again, waiting))
    assert b"\x1b" not in screen.raw
    assert b"\x07" not in screen.raw


def _asks_again(before: int, text: str) -> bool:
    return text.count("You:") > before and text.endswith("You:")


def test_no_color_is_heeded_by_every_command(terminal: Open) -> None:
    screen = terminal("hostile", "repl", NO_COLOR="1", EDITOR="true")
    screen.wait_for_prompt(1)
    screen.type("hello\r")
    screen.wait_for_prompt(2)
    for count, name in enumerate(
        ("history", "room", "find okred", "sessions", "settings", "cache", "copy", "help"), 3
    ):
        screen.type(f"/{name}\r")
        screen.wait_for_prompt(count)
    coloured = re.compile(rb"\x1b\[[0-9;]*(?:3[0-7]|4[0-7]|9[0-7]|[34]8;[0-9;]+|2)m")
    assert coloured.search(screen.raw) is None
