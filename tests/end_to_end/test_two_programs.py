"""Two programs chat on one cache while a third takes it away again and again: no wrong token, no crash."""

from __future__ import annotations

import subprocess
import sys
from contextlib import ExitStack

import pytest

from skippy_chat.agent.opening import ConversationOptions, open_conversation
from skippy_chat.agent.protocol import ReplayReport
from skippy_chat.checkpoints import verify
from skippy_chat.config import load_settings
from skippy_chat.paths import Paths
from tests.end_to_end.conftest import Program

pytestmark = [pytest.mark.native, pytest.mark.model]

SYSTEM = "You are a helpful assistant. " + "Answer in one short sentence. " * 4
PLACES = ("France", "Italy", "Spain")

TAKER = """
import sys, time
from pathlib import Path
from skippy_chat.checkpoints import Mending, clear_all, store_stats, verify
from skippy_chat.checkpoints.prune import Wish, prune
root = Path(sys.argv[1])
ways = {
    "clear": [lambda: clear_all(root)],
    "prune": [
        lambda: prune(root, Wish(1 << 30, to=0)),
        lambda: verify(root, mending=Mending(1 << 30, time.time)),
        lambda: prune(root, Wish(1 << 30, unused_since=time.time())),
        lambda: prune(root, Wish(1 << 30)),
    ],
}[sys.argv[2]]
for turn, line in enumerate(sys.stdin):
    print(sum(each.nodes for each in store_stats(root)), flush=True)
    ways[turn % len(ways)]()
"""


def chat(program: Program, session: str) -> subprocess.Popen[str]:
    """Start a program that asks about every place, one turn each."""
    asked = program.home / f"{session}.txt"
    asked.write_text("".join(f"What is the capital of {place}?\n" for place in PLACES))
    with asked.open() as lines:
        return subprocess.Popen(
            program.command("repl", "--session", session, "--system", SYSTEM, *program.options),
            stdin=lines,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=program.environment(),
            cwd=program.home,
        )


def replays(program: Program, session: str) -> list[ReplayReport]:
    """Compute every answer of a session again from scratch."""
    conversation = open_conversation(
        ConversationOptions(
            Paths.resolve(env=program.environment()),
            load_settings(flags={"model": str(program.model), "threads": 1}),
            program.home,
            session=session,
        ),
        on_progress=lambda what, done, total: None,
    )
    try:
        answers = [each.id for each in conversation.messages() if each.role == "assistant"]
        reports = [list(conversation.replay(each))[-1] for each in answers]
    finally:
        conversation.close()
    return [each for each in reports if isinstance(each, ReplayReport)]


@pytest.mark.timeout(180)
@pytest.mark.parametrize("way", ["clear", "prune"])
def test_two_chat_while_a_third_takes_away(program: Program, way: str) -> None:
    program.options = ("--temperature", "0", "--threads", "1", "--max-tokens", "8")
    with ExitStack() as stack:
        chats = [stack.enter_context(chat(program, session)) for session in ("A", "B")]
        taker = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", TAKER, str(program.cache / "checkpoints"), way],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        assert chats[0].stdout is not None
        assert taker.stdin is not None
        out = []
        for line in chats[0].stdout:
            out.append(line)
            taker.stdin.write("now\n")  # with every line that one of them says, whatever both are doing then
            taker.stdin.flush()
        found, _ = taker.communicate()
        outs = ["".join(out), chats[1].communicate()[0]]
    assert [each.returncode for each in (*chats, taker)] == [0, 0, 0]
    assert [each.count("\nAssistant: ") for each in outs] == [len(PLACES)] * 2
    assert sum(map(int, found.split())) > 0  # there was something to take away from under them
    # Nothing at all may be left: what nobody used any more was pruned away whole.
    assert not any(report.problems for report in verify(program.cache / "checkpoints"))
    for session in ("A", "B"):
        reports = replays(program, session)
        assert len(reports) == len(PLACES)
        assert [each.same_ids for each in reports] == [True] * len(PLACES)
        assert all(each.compared_tokens > 0 for each in reports)
