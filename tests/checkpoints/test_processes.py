"""Several processes on one store at once: never wrong bytes, never a stuck one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from skippy_chat.checkpoints import store_stats, verify
from skippy_chat.errors import RecordingStopped
from tests.checkpoints.trees import MIB, chain, disk_usage, edge, open_store, opened, strays, walk

pytestmark = pytest.mark.usefixtures("unsynced")

BUDGET = 4 * MIB

RECORDER = """
import sys
from pathlib import Path
from skippy_chat.checkpoints import index
from skippy_chat.errors import DamagedCheckpoint, RecordingStopped
from tests.checkpoints.trees import chain, edge, opened, payload, walk

index.SYNCHRONOUS = "OFF"
root, who, rounds = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
mapped = evicted = 0
with opened(root, budget=4 << 20) as store:
    print("ready", flush=True)
    sys.stdin.readline()
    for n in range(rounds):
        shared = [edge(0), edge(100 + n % 3)]
        own = [*shared, edge(10_000 * (who + 1) + n)]
        try:
            chain(store, own, kv=20_000, state=10_000)
        except RecordingStopped as stopped:
            if "no longer stored" not in str(stopped):
                raise
        for path in (own, shared):
            nodes = walk(store, path)
            if len(nodes) < len(path):
                evicted += 1
                continue
            try:
                with store.map(nodes[-1]) as found:
                    assert [bytes(rows) for _, _, rows in found.kv] == [payload(("kv", e), 20_000) for e in path]
                    assert bytes(found.state) == payload(("state", path[-1]), 10_000)
                    mapped += 1
            except DamagedCheckpoint as gone:
                assert gone.code == "evicted", gone
                evicted += 1
print(mapped, evicted, flush=True)
"""

TAKER = """
import sys
from pathlib import Path
from skippy_chat.checkpoints import Mending, clear_all, verify
from skippy_chat.checkpoints.prune import Wish, prune
root, way = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
for line in sys.stdin:
    found = ()
    if way == "clear":
        clear_all(root)
    elif way == "prune":
        prune(root, Wish(1 << 30, to=1 << 20))
        prune(root, Wish(1 << 30, unused_since=1e12))
    else:
        found = verify(root, mending=Mending(1 << 30, lambda: 1.0))
    print("done", [each.problems for each in found if each.problems], flush=True)
"""


def start(script: str, *args: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, args)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    )


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize("way", ["clear", "prune", "verify"])
def test_two_record_and_read_while_a_third_takes_away(tmp_path: Path, way: str) -> None:
    recorders = [start(RECORDER, tmp_path, who, 40) for who in range(2)]
    taker = start(TAKER, tmp_path, way)
    kept = open_store(tmp_path)  # so that nobody removes it whole before it is looked at
    try:
        for each in [*recorders, taker]:
            assert hear(each) == "ready\n"
        for each in recorders:
            say(each)
        for _ in range(5):
            say(taker)
            assert hear(taker) == "done []\n"
        results = [each.communicate()[0] for each in recorders]
        taker.communicate()
    finally:
        for each in [*recorders, taker]:
            each.kill()
            each.wait()
        kept.close()
    assert [each.returncode for each in [*recorders, taker]] == [0, 0, 0]
    assert (
        sum(int(result.split()[0]) for result in results) >= 80
    )  # of 160 looks, most found what they wanted
    assert [report.problems for report in verify(tmp_path)] == [()]
    assert strays(tmp_path) == []
    assert disk_usage(tmp_path) <= BUDGET
    assert store_stats(tmp_path)[0].quarantined == 0


def test_what_two_record_is_stored_once(tmp_path: Path) -> None:
    edges = [edge(0), edge(100)]
    with opened(tmp_path) as one, opened(tmp_path) as two:
        late = two.recording()
        first = late.add(None, edges[0], kv=b"the same node", state=b"later")
        late.add(first, edges[1], kv=b"the same node")
        nodes = chain(one, edges)
        assert late.commit().nodes == 0
        assert walk(two, edges) == nodes
        assert store_stats(tmp_path)[0].segments == 1


def test_a_writer_does_not_wait_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as store, opened(tmp_path) as other, other._lock.hold():
        hold = store._lock.hold
        monkeypatch.setattr(store._lock, "hold", lambda *_: hold(0.1))
        with pytest.raises(RecordingStopped, match="another process is writing"):
            chain(store, [edge(0)])
