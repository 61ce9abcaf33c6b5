"""Loading: the self-test comes before the store, its verdict is kept, and one against it turns checkpoints off."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skippy_chat.engine import loading
from skippy_chat.engine.selftest import Verdict, Verdicts
from tests.engine.engines import Bench, IdsRenderer
from tests.engine.loaded import load

pytestmark = [pytest.mark.native, pytest.mark.model]
TinyModel = Callable[[str], Path]


def test_the_verdict_is_found_once_and_kept(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = load(tiny_model("falcon-h1-dense"), tmp_path)
    first.engine.close()
    assert first.reply.proof == "proven by range"
    kept = Verdicts(tmp_path / "proofs").kept(first.reply.identity)
    assert kept is not None
    assert kept.method == "range"

    monkeypatch.setattr(loading, "self_test", lambda *_given, **_more: pytest.fail("tried again"))
    second = load(tiny_model("falcon-h1-dense"), tmp_path)
    second.engine.close()
    assert second.reply.proof == first.reply.proof


def test_other_settings_are_another_identity_and_tried_on_their_own(
    tiny_model: TinyModel, tmp_path: Path
) -> None:
    for kv_type in ("f16", "q8_0"):
        load(tiny_model("llama-dense"), tmp_path, kv_type=kv_type).engine.close()
    assert len(list(Verdicts(tmp_path / "proofs").all())) == 2


def test_a_model_that_is_not_exact_answers_without_checkpoints(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = Verdict("off", "replay: logits at token 9 differ by 0.1")
    monkeypatch.setattr(loading, "self_test", lambda *_given, **_more: fault)
    loaded = load(tiny_model("falcon-h1-dense"), tmp_path)
    assert "replay: logits at token 9" in loaded.reply.cache_notice
    loaded.engine.renderer = IdsRenderer()  # type: ignore[assignment] # the model has no template
    bench = Bench(loaded.engine)
    bench.say("11 12 13 14")
    bench.messages[:] = [{"role": "user", "content": "11 12 15 16"}]
    again = bench.step()
    assert again.counts[1] == 0
    assert again.finished.cache.miss_reason is not None
    assert again.finished.cache.miss_reason.kind == "not_proven"
    assert "logits at token 9" in again.finished.cache.miss_reason.detail
    loaded.engine.close()


def test_without_the_cache_nothing_is_tried(
    tiny_model: TinyModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "self_test", lambda *_given, **_more: pytest.fail("tried"))
    loaded = load(tiny_model("falcon-h1-dense"), tmp_path, cache=False)
    assert loaded.reply.proof is None
    loaded.engine.close()
