"""The whole program killed at any moment of a turn with tools: what was done is known, and the turn goes on."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skippy_chat.agent.conversation import EngineConversation
from skippy_chat.chat.pairing import CUT_OFF, NOT_RUN, unanswered
from skippy_chat.errors import UsageError
from tests.agent.killed_loop import answer
from tests.agent.loops import Place, branch, follow, results
from tests.agent.test_loop_stops import check_prompt


@pytest.mark.timeout(300)
def test_killed_at_every_moment(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.agent.killed_loop", str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    moments = int(done.stdout)
    assert moments > 25  # two for each transaction
    seen: set[str] = set()
    for moment in range(moments):
        place = Place(tmp_path / str(moment))
        seen |= check_one(place)
        place.close()
    assert {"not run", "cut off", "ok"} <= seen


def check_one(place: Place) -> set[str]:
    """Open what was left behind, and go on from it."""
    conversation, engine = place.open(answer, place.box())
    assert unanswered(conversation.messages()) == ()
    kinds = {kind(each.content) for each in results(conversation)}
    check_truth(place, conversation)
    repaired = branch(conversation)
    written = [name for name in ("a.txt",) if (place.workspace / name).exists()]
    try:
        follow(conversation, conversation.go_on())
    except UsageError:
        # Nothing was stored yet, or all of it.
        assert not repaired or repaired[-1] == ("assistant", "complete", "All done.")
        follow(conversation, conversation.send("Do it."))
    shown = branch(conversation)
    if repaired and repaired[-1][0] == "tool":
        assert shown[: len(repaired)] == repaired  # what later prompts begin with does not change
    assert shown[-1] == ("assistant", "complete", "All done.")
    for request in engine.requests:
        check_prompt(request.messages)
    if written:
        assert set(written) <= {*conversation.undo().removed}
    return kinds


def kind(content: str) -> str:
    return {NOT_RUN: "not run", CUT_OFF: "cut off"}.get(content, "ok")


def check_truth(place: Place, conversation: EngineConversation) -> None:
    """What a result says of its call is what happened."""
    for result in results(conversation):
        said = kind(result.content)
        file = {"c2": "a.txt", "c3": "b.txt"}.get(result.tool_call_id or "")
        if file is None or said == "cut off":
            continue
        assert (place.workspace / file).exists() == (said == "ok"), (result, said)
