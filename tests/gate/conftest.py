"""Small models with room for a conversation, and gates run on them."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from skippy_chat.gate.evidence import Evidence
from skippy_chat.gate.ground import GateOptions, Ground
from skippy_chat.gate.run import engine_starter, run_gate
from skippy_chat.gate.stage import StartWorker
from skippy_chat.gate.values import PhaseResult, Report
from skippy_chat.models.header import read_header
from skippy_chat.models.writing import NewTensor, entry, text_entry, write_gguf

ROOM = 2048

WideModel = Callable[[str], Path]


@pytest.fixture(scope="session")
def wide_model(tiny_model: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory) -> WideModel:
    """A tiny model that says it was trained for ``ROOM`` tokens: the generated ones say 256."""
    folder = tmp_path_factory.mktemp("wide")

    def widen(name: str) -> Path:
        path = folder / f"{name}.gguf"
        if not path.exists():
            shutil.copy(tiny_model(name), path)
            header = read_header(path)
            entry = header.metadata[f"{header.text('general.architecture')}.context_length"]
            with path.open("r+b") as file:
                file.seek(entry.raw_start + 4)  # behind the type
                file.write(ROOM.to_bytes(entry.raw_end - entry.raw_start - 4, "little"))
        return path

    return widen


@pytest.fixture
def templated(wide_model: WideModel, tmp_path: Path) -> WideModel:
    """The wide dense model with a chat template of the test's own."""

    def write(template: str) -> Path:
        source = wide_model("llama-dense")
        header = read_header(source)
        data = source.read_bytes()
        entries = [entry(key, data[each.raw_start : each.raw_end]) for key, each in header.metadata.items()]
        entries.append(text_entry("tokenizer.chat_template", template))
        tensors = [
            NewTensor(
                each.name,
                each.shape,
                each.type_id,
                each.n_bytes,
                partial(_slice, data, each.start, each.n_bytes),
            )
            for each in header.tensors
        ]
        path = tmp_path / "templated.gguf"
        write_gguf(path, entries, tensors, progress=lambda what, done, total: None)
        return path

    return write


def _slice(data: bytes, start: int, size: int) -> bytes:
    return data[start : start + size]


@dataclass
class Gate:
    """Runs gates in folders of its own."""

    root: Path

    def options(
        self, model: Path, *phases: str, prefix: int = 300, by_ids: bool | None = True
    ) -> GateOptions:
        return GateOptions(model, phases, threads=1, prefix=prefix, by_ids=by_ids, disk_budget=1 << 30)

    def run(
        self,
        model: Path,
        *phases: str,
        start: StartWorker | None = None,
        prefix: int = 300,
        by_ids: bool | None = True,
    ) -> Report:
        work = self.root / "work"
        work.mkdir()
        return run_gate(
            self.options(model, *phases, prefix=prefix, by_ids=by_ids),
            work=work,
            evidence=self.root / "evidence",
            start_worker=start or engine_starter(),
            clock=time.monotonic,
            on_progress=lambda what, done, total: None,
            on_phase=lambda phase: None,
        )

    def ground(self, model: Path, *, start: StartWorker | None = None) -> Ground:
        """Return the ground that phases stand on, with the model looked at; the caller closes it."""
        ground = Ground(
            self.options(model),
            self.root / "work",
            Evidence(self.root / "evidence"),
            start or engine_starter(),
            time.monotonic,
            lambda what, done, total: None,
        )
        ground.prepare()
        return ground


@pytest.fixture
def gate(tmp_path: Path) -> Gate:
    tmp_path.chmod(0o700)
    return Gate(tmp_path)


def failures(report: Report | PhaseResult, *, of_the_cache: bool = False) -> list[str]:
    """Return every failed check as text, for assertions that show what went wrong; the model's may be left out."""
    phases = report.phases if isinstance(report, Report) else (report,)
    return [
        f"{phase.name}: {check.what}: expected {check.expected}, found {check.found}"
        for phase in phases
        for check in phase.checks
        if check.state == "failed" and not (of_the_cache and check.about == "model")
    ]
