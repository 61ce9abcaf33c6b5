"""The simulator: it keeps to its budget, repeats itself, and shows what the policy is chosen for."""

from __future__ import annotations

import json
import random
from dataclasses import replace

import pytest

from scripts.placement.__main__ import GIB, MIB, MODELS, Run, main, simulate
from scripts.placement.policies import POLICIES, Ours
from scripts.placement.store import Model, Store
from scripts.placement.traces import TRACES, Talk, Writer
from skippy_chat.checkpoints.placement import Cut

SMALL = Model("small", MIB, 4096, 1000)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("model", MODELS)
def test_every_policy_keeps_to_its_budget(policy: str, model: str) -> None:
    store = Store(MODELS[model], 3 * GIB, POLICIES[policy]())
    for number, turn in enumerate(TRACES["sessions"](random.Random(5))):
        store.take(turn)
        assert store.held <= 3 * GIB
        held = sum(node.kv + node.state + node.logits for node in store.nodes.values())
        if number % 50 == 0:
            assert store.held == held
        if number == 300:
            break
    assert store.tally.cached < store.tally.prompt


def test_equal_seeds_give_equal_figures() -> None:
    run = Run("switching", "ours", "hybrid", 10 * GIB, 3)
    first, again = simulate(run), simulate(run)
    assert replace(first, seconds=0.0) == replace(again, seconds=0.0)
    assert simulate(replace(run, seed=4)).prompt_tokens != first.prompt_tokens


def test_an_edit_pays_once_and_going_back_is_free() -> None:
    writer = Writer()
    store = Store(SMALL, GIB, Ours())
    talk = Talk(writer, writer.text(500, Cut.END_OF_SYSTEM))
    message = writer.text(2_000, Cut.END_OF_MESSAGE)
    cached = []
    for _ in range(3):
        before = store.tally.cached
        store.take(talk.fork(0).ask(writer.edited(message, 4), 50))
        cached.append(store.tally.cached - before)
    assert cached == [0, 500, 500 + 1024]
    turn = talk.ask(message, 50)
    store.take(turn)
    before = store.tally.cached
    store.take(replace(turn, fresh=True))
    assert store.tally.cached - before == turn.tokens


def test_no_other_policy_saves_more_on_average() -> None:
    """The claim of docs/placement.md for the large hybrid, on those conversations that tell policies apart."""
    traces = ("edits", "questions")
    saved = {
        policy: sum(simulate(Run(trace, policy, "hybrid", 10 * GIB, 1)).work_saved for trace in traces)
        for policy in POLICIES
    }
    assert max(saved, key=lambda policy: saved[policy]) == "ours", saved


def test_the_figures_come_as_a_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--model", "recurrent", "--trace", "thinking", "--policy", "ours", "--budget", "2", "--jobs", "1"]
    main([*few, "--json"])
    (outcome,) = json.loads(capsys.readouterr().out)
    assert outcome["run"]["policy"] == "ours"
    assert 0.9 < outcome["reused"] <= 1
    assert outcome["bytes_held"] <= 2 * GIB
    main(few)
    table = capsys.readouterr().out
    assert "recurrent, 2 GiB" in table
    assert f"{100 * outcome['work_saved']:.1f}" in table
