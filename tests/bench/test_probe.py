"""The measuring process on a tiny model: what it times is a whole restore, and nothing less passes for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from skippy_chat.bench.probe import ProbeRequest, parse_request, reply_of, request_text
from skippy_chat.bench.probe_process import measure
from skippy_chat.bench.rig import Rig
from skippy_chat.bench.suites.restore import probe
from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.dialogues.texts import Ids
from skippy_chat.errors import NativeError

pytestmark = [pytest.mark.native, pytest.mark.model]
TinyModel = Callable[[str], Path]


@pytest.fixture
def rig(tiny_model: TinyModel, tmp_path: Path) -> Callable[[str], Rig]:
    def make(model: str) -> Rig:
        return Rig(tiny_model(model), tmp_path, tmp_path, 1, 256, 8 << 30, lambda *_: None, Ids())

    return make


def recorded(rig: Rig) -> Dialogue:
    with rig.worker() as worker:
        dialogue, measured = worker.grow(
            Dialogue().said("system", rig.text(30)), [rig.text(20), rig.text(25)]
        )
    assert not measured.failures
    return dialogue


def request(rig: Rig, dialogue: Dialogue, pairs: int = 2) -> ProbeRequest:
    messages = list(dialogue.messages)
    return ProbeRequest(
        rig.request(), messages, dict(dialogue.answers), True, pairs, str(rig.folder / "flat.bin")
    )


def ticking() -> Callable[[], float]:
    """A clock that goes on by one second whenever it is asked."""
    now = [0.0]

    def clock() -> float:
        now[0] += 1.0
        return now[0]

    return clock


@pytest.mark.parametrize("model", ["falcon-h1-dense", "llama-dense", "mamba-dense", "gemma3-dense"])
def test_every_part_is_timed_once_a_pair(rig: Callable[[str], Rig], model: str) -> None:
    here = rig(model)
    found = measure(request(here, recorded(here), pairs=3), ticking())
    assert (found.restore, found.floor, found.first) == ([1.0] * 3, [1.0] * 3, 1.0)
    assert (found.lookup, found.verify, found.put) == ([1.0] * 3, [1.0] * 3, [1.0] * 3)
    assert found.prompt > 75
    least = found.prompt * found.row + found.state + found.logits
    assert least <= found.size <= least * 1.05
    assert (found.row > 0) == (model != "mamba-dense")
    assert (found.state > 0) == (model != "llama-dense")
    assert not (here.folder / "flat.bin").exists()


def test_what_is_not_restored_whole_is_an_error_not_a_figure(rig: Callable[[str], Rig]) -> None:
    here = rig("falcon-h1-dense")
    dialogue = recorded(here)
    other = dialogue.changed(len(dialogue.messages) - 1, here.text(25))
    with pytest.raises(NativeError, match="tokens were restored"):
        measure(request(here, other), ticking())


def test_a_process_of_its_own_answers_the_same(rig: Callable[[str], Rig]) -> None:
    here = rig("falcon-h1-dense")
    dialogue = recorded(here)
    found = probe(here, dialogue, 2)
    assert len(found.restore) == len(found.floor) == 2
    assert found.size == measure(request(here, dialogue), ticking()).size


def test_its_failure_is_told_with_the_last_line(rig: Callable[[str], Rig]) -> None:
    here = rig("falcon-h1-dense")
    dialogue = recorded(here)
    here.model = here.folder / "gone.gguf"
    with pytest.raises(NativeError, match=r"could not be measured.*gone\.gguf"):
        probe(here, dialogue, 1)


def test_requests_and_replies_survive_the_pipe(rig: Callable[[str], Rig]) -> None:
    here = rig("falcon-h1-dense")
    asked = request(here, recorded(here))
    assert parse_request(request_text(asked)) == asked
    found = replace(measure(asked, ticking()), load=0.5)
    assert reply_of(asdict(found)) == found
