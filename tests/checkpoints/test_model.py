"""The store against a dictionary: whatever is done to it, both say the same."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from skippy_chat.checkpoints import Edge, Mode, Node, Recording, verify
from tests.checkpoints.trees import edge, open_store, payload

Path_ = tuple[tuple[int, Mode], ...]
STEPS = st.tuples(st.integers(0, 3), st.sampled_from(Mode))
PATHS = st.lists(STEPS, min_size=1, max_size=4).map(tuple)
SIZES = st.integers(0, 300)


class Tree(RuleBasedStateMachine):
    """Records random paths, shares, attaches, reopens and clears; the model is a dict from path to blobs."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.root = Path(self.folder.name) / "c"
        self.model: dict[Path_, dict[str, bytes]] = {}

    @initialize()
    def start(self) -> None:
        self.store = open_store(self.root)

    def teardown(self) -> None:
        self.store.close()
        assert all(report.problems == () for report in verify(self.root))
        self.folder.cleanup()

    @rule(paths=st.lists(PATHS, min_size=1, max_size=3), state=SIZES, logits=SIZES)
    def record(self, paths: list[Path_], state: int, logits: int) -> None:
        recording = self.store.recording()
        expected: dict[Path_, dict[str, bytes]] = {}
        for path in paths:
            self._record(
                recording, path, {"state": payload(path, state), "logits": payload(path, logits)}, expected
            )
        done = recording.commit()
        assert done.nodes == len(expected.keys() - self.model.keys())
        for path, blobs in expected.items():
            self.model[path] = {**blobs, **self.model.get(path, {})}
        assert done.position == max(8 * len(path) for path in paths)

    def _record(
        self,
        recording: Recording,
        path: Path_,
        last: dict[str, bytes],
        expected: dict[Path_, dict[str, bytes]],
    ) -> None:
        parent = None
        for depth in range(1, len(path) + 1):
            here = path[:depth]
            blobs = {"kv": payload(here, 50)} | (last if depth == len(path) else {})
            parent = recording.add(
                parent, step_edge(here), kv=blobs["kv"], state=blobs.get("state"), logits=blobs.get("logits")
            )
            expected.setdefault(here, {}).update({name: data for name, data in blobs.items() if data})

    @rule(path=PATHS, size=st.integers(1, 300))
    def attach(self, path: Path_, size: int) -> None:
        node = self._walk(path)
        if node is not None:
            recording = self.store.recording()
            recording.attach(node, state=payload((path, "late"), size))
            recording.commit()
            self.model[path].setdefault("state", payload((path, "late"), size))

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = open_store(self.root)

    @rule()
    def clear(self) -> None:
        self.store.clear()
        self.model.clear()

    @rule(path=PATHS)
    def look(self, path: Path_) -> None:
        node = self._walk(path)
        assert (node is not None) == (path in self.model)
        if node is None:
            return
        blobs = self.model[path]
        assert node.position == 8 * len(path)
        assert (node.has_state, node.has_logits) == ("state" in blobs, "logits" in blobs)
        with self.store.map(node, logits=True) as mapped:
            assert [bytes(rows) for _, _, rows in mapped.kv] == [
                self.model[path[:depth]]["kv"] for depth in range(1, len(path) + 1)
            ]
            assert (None if mapped.state is None else bytes(mapped.state)) == blobs.get("state")
            assert (None if mapped.logits is None else bytes(mapped.logits)) == blobs.get("logits")

    @rule(path=st.one_of(st.just(()), PATHS))
    def list_children(self, path: Path_) -> None:
        node = self._walk(path)
        if path and node is None:
            return
        found = {(ids, child.mode) for child, ids in self.store.children(node)}
        expected = [known for known in self.model if known[:-1] == path]
        assert found == {(step_edge(known).ids, known[-1][1]) for known in expected}

    @invariant()
    def counts_agree(self) -> None:
        stats = self.store.stats()
        assert stats.nodes == len(self.model)
        assert stats.states == sum("state" in blobs for blobs in self.model.values())
        assert stats.live_bytes == sum(len(data) for blobs in self.model.values() for data in blobs.values())

    def _walk(self, path: Path_) -> Node | None:
        node = None
        for depth in range(1, len(path) + 1):
            node = self.store.child(node, step_edge(path[:depth]))
            if node is None:
                return None
        return node


def step_edge(path: Path_) -> Edge:
    number, mode = path[-1]
    return edge(number * 10, mode=mode)


@pytest.mark.usefixtures("unsynced")
def test_the_store_agrees_with_a_dictionary() -> None:
    run_state_machine_as_test(
        Tree,
        settings=settings(
            max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
