"""The compared systems: ours and llama-cpp-python's on a tiny model, llama-server where it is built."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.bench.rig import Rig
from skippy_chat.bench.stock import NOTE, PeersMissing, Stock, llama_bench_command, run_llama_bench
from skippy_chat.bench.systems.disk_cache import DiskCache
from skippy_chat.bench.systems.llama_server import LlamaServer
from skippy_chat.bench.systems.ours import Ours
from skippy_chat.bench.systems.system import PeerFailed, Prompt, System
from skippy_chat.dialogues.dialogue import Dialogue
from skippy_chat.dialogues.texts import Ids
from skippy_chat.errors import SkippyError

TinyModel = Callable[[str], Path]
HYBRID = "falcon-h1-dense"


@pytest.fixture
def prompts(tiny_model: TinyModel, tmp_path: Path) -> tuple[Rig, list[Prompt]]:
    """A prompt and one with another tail, as conversations and as ids."""
    rig = Rig(tiny_model(HYBRID), tmp_path, tmp_path, 1, 256, 8 << 30, lambda *_: None, Ids())
    system = Dialogue().said("system", rig.text(60))
    dialogues = [system.said("user", rig.text(40)) for _ in range(2)]
    with rig.worker(cache=False) as worker:
        replies = [worker.step(each, max_tokens=1).reply for each in dialogues]
    return rig, [
        Prompt(dialogue, reply.ids[: reply.prompt_tokens])
        for dialogue, reply in zip(dialogues, replies, strict=True)
    ]


def reused(system: System, first: Prompt, other: Prompt) -> list[int]:
    """Ask the prompt twice, the other, the prompt again, and after a restart; return what was reused each time."""
    try:
        found = [system.ask(prompt) for prompt in (first, first, other, first)]
        system.keep()
        system.restart()
        found.append(system.ask(first))
    finally:
        system.close()
        system.close()
    assert all(each.prompt == len(first.ids) for each in found)
    assert all(each.first_token > 0 for each in found)
    return [each.reused for each in found]


@pytest.mark.native
@pytest.mark.model
class TestReal:
    def test_ours_reuses_all_of_it(self, prompts: tuple[Rig, list[Prompt]]) -> None:
        rig, (first, other) = prompts
        whole = len(first.ids)
        cold, again, tail, back, restarted = reused(Ours(rig), first, other)
        assert (cold, again, back, restarted) == (0, whole, whole, whole)
        assert tail >= 60

    def test_llama_cpp_python_counts_what_it_passes_on(self, prompts: tuple[Rig, list[Prompt]]) -> None:
        rig, (first, other) = prompts
        found = reused(DiskCache(rig.model, rig.folder, threads=1, context=256, ubatch=256), first, other)
        assert found[0] == 0
        assert all(0 <= each <= len(first.ids) for each in found)

    def test_llama_cpp_python_that_does_not_load_is_told(self, tmp_path: Path) -> None:
        with pytest.raises(PeerFailed, match="llama-cpp-python ended"):
            DiskCache(tmp_path / "gone.gguf", tmp_path, threads=1, context=256, ubatch=256)

    def test_stock_llama_server_reads_a_hybrid_again_after_a_restart(
        self, prompts: tuple[Rig, list[Prompt]], stock: Stock
    ) -> None:
        rig, (first, other) = prompts
        server = LlamaServer(stock, rig.model, rig.folder, threads=1, context=256, ubatch=256)
        assert f"--slot-save-path {rig.folder}" in server.command
        found = reused(server, first, other)
        assert found[0] == 0
        assert all(0 <= each <= len(first.ids) for each in found)

    def test_llama_bench_tells_its_speed(self, stock: Stock, tiny_model: TinyModel) -> None:
        command = llama_bench_command(stock, tiny_model(HYBRID), threads=1, ubatch=256, prompt=64)
        result = run_llama_bench(command)
        assert len(result) == 1
        assert result[0]["n_prompt"] == 64
        assert result[0]["n_ubatch"] == 256
        assert result[0]["avg_ts"] > 0


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="shell scripts")
class TestFaults:
    def test_a_server_that_ends_is_told_with_its_last_line(self, tmp_path: Path) -> None:
        script(tmp_path, "llama-server", "echo it is no use >&2; exit 3")
        with pytest.raises(PeerFailed, match="ended with 3: it is no use"):
            LlamaServer(Stock(tmp_path), tmp_path / "m", tmp_path, threads=1, context=9, ubatch=9)

    def test_a_server_that_never_gets_ready_is_ended(self, tmp_path: Path) -> None:
        script(tmp_path, "llama-server", f"echo $$ > {tmp_path}/pid; exec sleep 600")
        moments = iter(range(0, 10**6, 100))

        def wait(_seconds: float) -> None:
            while not (tmp_path / "pid").exists():
                pass

        with pytest.raises(PeerFailed, match="not ready"):
            LlamaServer(
                Stock(tmp_path),
                tmp_path / "m",
                tmp_path,
                threads=1,
                context=9,
                ubatch=9,
                clock=lambda: float(next(moments)),
                sleep=wait,
            )
        pid = (tmp_path / "pid").read_text().strip()
        assert not Path(f"/proc/{pid}/stat").exists()

    def test_a_failing_llama_bench_is_told(self, tmp_path: Path) -> None:
        program = script(tmp_path, "llama-bench", "echo no such model >&2; exit 2")
        with pytest.raises(SkippyError, match="ended with 2: no such model"):
            run_llama_bench([str(program)])


class TestFinding:
    def test_where_the_set_up_command_noted_them(self, tmp_path: Path) -> None:
        folder = tmp_path / "peers"
        folder.mkdir()
        (tmp_path / NOTE).write_text(f"{folder}\n")
        with pytest.raises(PeersMissing, match="make peers"):
            Stock.find(None, tmp_path)
        for program in (Stock(folder).server, Stock(folder).bench):
            program.touch()
        assert Stock.find(None, tmp_path) == Stock(folder)

    def test_a_folder_that_is_given_wins(self, tmp_path: Path) -> None:
        with pytest.raises(PeersMissing, match="is not there"):
            Stock.find(tmp_path, tmp_path)

    def test_nothing_was_built(self, tmp_path: Path) -> None:
        with pytest.raises(PeersMissing, match="are not built"):
            Stock.find(None, tmp_path)
