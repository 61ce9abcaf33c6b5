"""The self-test: passes on what is exact, and finds each way in which a restore may go wrong."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from skippy_chat.engine.selftest import RUNS, Subject, Verdict, Verdicts, find_verdict, self_test
from skippy_chat.errors import NativeError
from skippy_chat.native.context import Bytes, Context, ContextOptions
from skippy_chat.native.library import load
from skippy_chat.native.model import Model

TinyModel = Callable[[str], Path]
SUBJECT = Subject("m", "llama", "dense", "on", "f16")


@contextmanager
def opened(path: Path, n_ctx: int = 256) -> Iterator[Context]:
    model = Model(load(), path)
    context = Context(model, ContextOptions(n_ctx, 256, 256, 1, "on"))
    try:
        yield context
    finally:
        context.close()
        model.close()


def verdict_on(context: Context) -> Verdict:
    return self_test(context, clock=time.monotonic)


@pytest.mark.native
@pytest.mark.model
class TestOnRealModels:
    @pytest.mark.parametrize(
        ("name", "method"),
        [
            ("llama-dense", "range"),
            ("gemma3-dense", "range"),
            ("falcon-h1-dense", "range"),
            ("mamba-dense", "range"),
            ("deepseek32-moe", "blob"),
            ("dream-dense", "off"),
        ],
    )
    def test_what_is_exact_is_proven(self, name: str, method: str, tiny_model: TinyModel) -> None:
        with opened(tiny_model(name)) as context:
            before = context.counters().n_tokens_decoded
            verdict = verdict_on(context)
            assert (verdict.method, bool(verdict.fault)) == (method, method == "off")
            assert context.last_position() == -1
            assert context.counters().n_tokens_decoded - before <= 56

    def test_a_state_that_comes_back_changed_is_found(
        self, tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with opened(tiny_model("falcon-h1-dense")) as context:

            def spoil(blob: Bytes, sequence: int = 0, *, whole: bool = False) -> None:
                changed = bytearray(blob)
                changed[-1] ^= 1
                Context.import_state(context, changed, sequence, whole=whole)

            monkeypatch.setattr(context, "import_state", spoil)
            verdict = verdict_on(context)
        assert verdict.method == "off"
        assert verdict.fault == "rewind in place: the state differs after the restore"

    def test_rows_that_come_back_changed_are_found(
        self, tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with opened(tiny_model("llama-dense")) as context:

            def spoil(blob: Bytes, p0: int, p1: int, sequence: int = 0) -> None:
                changed = bytearray(blob)
                changed[-1] ^= 1
                Context.append_range(context, changed, p0, p1, sequence)

            monkeypatch.setattr(context, "append_range", spoil)
            verdict = verdict_on(context)
        assert verdict.fault.startswith("restore of 2 segments: the rows differ")

    def test_rows_that_were_there_already_are_not_taken_for_restored_ones(
        self, tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """An import that writes nothing from the second segment on leaves what the memory held there before."""
        with opened(tiny_model("llama-dense")) as context:
            before: list[bytearray] = []

            def clear(sequence: int = 0) -> None:
                if context.last_position() >= 7:
                    before[:] = [context.export_range(4, 8)]
                Context.clear(context, sequence)

            def forget(blob: Bytes, p0: int, p1: int, sequence: int = 0) -> None:
                Context.append_range(context, before[0] if p0 else blob, p0, p1, sequence)

            monkeypatch.setattr(context, "clear", clear)
            monkeypatch.setattr(context, "append_range", forget)
            verdict = verdict_on(context)
        assert verdict.fault.startswith("restore of 2 segments: the rows differ")

    def test_sums_that_depend_on_what_was_there_before_are_found(
        self, tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with opened(tiny_model("mamba-dense")) as context:
            # What a memory that is not emptied would do: the next conversation starts from the last one's state.
            kept: list[bytearray] = []

            def clear(sequence: int = 0) -> None:
                if context.last_position() >= 0 and not kept:
                    kept.append(context.export_state())
                Context.clear(context, sequence)

            def decode(ids: list[int], position: int, *, logits: bool, sequence: int = 0) -> None:
                Context.decode(context, ids, position, logits=logits, sequence=sequence)
                if position == 0 and kept:
                    before = context.last_position()
                    spoiled = bytearray(context.export_state())
                    spoiled[-4:] = kept[0][-4:]
                    context.import_state(spoiled)
                    assert context.last_position() == before

            monkeypatch.setattr(context, "clear", clear)
            monkeypatch.setattr(context, "decode", decode)
            verdict = verdict_on(context)
        assert verdict.fault.startswith("replay: logits")

    def test_a_context_too_short_for_it_is_off(
        self, tiny_model: TinyModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with opened(tiny_model("llama-dense")) as context:
            monkeypatch.setattr(context, "n_ctx", sum(tokens for tokens, _ in RUNS) - 1)
            assert verdict_on(context).method == "off"


class TestVerdicts:
    def test_a_verdict_is_made_once(self, tmp_path: Path) -> None:
        verdicts = Verdicts(tmp_path / "proofs")
        made = Verdict("range", "", ("replay",), 0.5)
        assert find_verdict(verdicts, "id", SUBJECT, lambda: made) == made
        assert find_verdict(verdicts, "id", SUBJECT, lambda: pytest.fail("made again")) == made
        assert list(verdicts.all()) == [(SUBJECT, made)]

    def test_afresh_makes_it_again(self, tmp_path: Path) -> None:
        verdicts = Verdicts(tmp_path)
        find_verdict(verdicts, "id", SUBJECT, lambda: Verdict("range"))
        off = Verdict("off", "replay: logits differ")
        assert find_verdict(verdicts, "id", SUBJECT, lambda: off, afresh=True) == off
        assert verdicts.kept("id") == off

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"subject": {}}', '{"subject": 1, "verdict": 2}'])
    def test_one_that_cannot_be_read_counts_as_none(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "id.json").write_text(text)
        assert Verdicts(tmp_path).kept("id") is None
        assert list(Verdicts(tmp_path).all()) == []

    def test_one_of_another_version_is_made_again(self, tmp_path: Path) -> None:
        verdicts = Verdicts(tmp_path)
        verdicts.keep("id", SUBJECT, Verdict("range", version=0))
        assert verdicts.kept("id") is None

    def test_a_folder_that_cannot_be_written_costs_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        verdicts = Verdicts(tmp_path / "file" / "proofs")
        assert find_verdict(verdicts, "id", SUBJECT, lambda: Verdict("blob")).method == "blob"
        assert list(verdicts.all()) == []

    def test_a_test_that_fails_is_off_and_not_kept(self, tmp_path: Path) -> None:
        def fail() -> Verdict:
            raise NativeError("no memory")

        found = find_verdict(Verdicts(tmp_path), "id", SUBJECT, fail)
        assert found.method == "off"
        assert "no memory" in found.fault
        assert Verdicts(tmp_path).kept("id") is None
