"""The worker process behind its pipe: what the client says when it is gone, and what a new one finds on disk."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.engine.client import EngineClient
from skippy_chat.engine.protocol import LoadRequest, StepReply, StepRequest
from skippy_chat.errors import ContextFull, EngineDied, ModelFileError
from skippy_chat.events import Event, StepFinished, TextDelta
from skippy_chat.sampling import Sampling

pytestmark = [pytest.mark.native, pytest.mark.model]

ASK = [{"role": "user", "content": "Name the planets, one in each line."}]


def load(client: EngineClient, model: Path, folder: Path, *, context: int = 512) -> None:
    client.load(
        LoadRequest(
            model=str(model),
            checkpoints=str(folder / "tree"),
            digests=str(folder / "digests.json"),
            context=context,
            threads=1,
            flash_attention="auto",
            disk_budget=1 << 28,
        ),
        lambda what, done, total: None,
    )


@pytest.fixture
def client(tmp_path: Path) -> Iterator[EngineClient]:
    started = EngineClient(tmp_path / "worker.log")
    yield started
    started.close()


def request(messages: list[dict[str, str]], max_tokens: int = 8) -> StepRequest:
    return StepRequest("s", "t", list(messages), Sampling(temperature=0.0), max_tokens=max_tokens)


def run(client: EngineClient, messages: list[dict[str, str]]) -> tuple[StepFinished, StepReply]:
    items: list[Event | StepReply] = list(client.run(request(messages)))
    finished = next(item for item in items if isinstance(item, StepFinished))
    reply = items[-1]
    assert isinstance(reply, StepReply)
    return finished, reply


def test_a_killed_worker_is_told_and_a_new_one_resumes(
    client: EngineClient, default_model: Path, tmp_path: Path
) -> None:
    load(client, default_model, tmp_path)
    finished, reply = run(client, ASK)
    items = client.run(request([*ASK, {"role": "user", "content": "Go on."}], 400))
    assert any(isinstance(item, TextDelta) for item in items)
    os.kill(client.pid, signal.SIGKILL)
    with pytest.raises(EngineDied, match="signal 9"):
        list(items)
    second = EngineClient(tmp_path / "worker.log")
    try:
        load(second, default_model, tmp_path)
        again, same = run(second, ASK)
        assert again.usage.cached_tokens == finished.usage.prompt_tokens
        assert same.ids == reply.ids
    finally:
        second.close()


def test_a_worker_survives_what_it_refuses(client: EngineClient, default_model: Path, tmp_path: Path) -> None:
    load(client, default_model, tmp_path)
    with pytest.raises(ContextFull, match="too many"):
        run(client, [{"role": "user", "content": "word " * 700}])
    assert run(client, ASK)[1].text


def test_a_cancel_ends_the_answer_early(client: EngineClient, default_model: Path, tmp_path: Path) -> None:
    load(client, default_model, tmp_path)
    reply: StepReply | None = None
    for item in client.run(request(ASK, 300)):
        if isinstance(item, TextDelta):
            client.cancel()
        if isinstance(item, StepReply):
            reply = item
    assert reply is not None
    assert reply.finish_reason == "cancelled"
    assert reply.text


def test_a_file_that_is_no_model_is_the_clients_error(client: EngineClient, tmp_path: Path) -> None:
    page = tmp_path / "page.gguf"
    page.write_text("<html>")
    with pytest.raises(ModelFileError, match=r"page\.gguf"):
        load(client, page, tmp_path)


def test_close_lets_the_worker_finish_recording(default_model: Path, tmp_path: Path) -> None:
    first = EngineClient(tmp_path / "worker.log")
    load(first, default_model, tmp_path)
    finished, _ = run(first, ASK)
    first.close()
    first.close()
    second = EngineClient(tmp_path / "worker.log")
    try:
        load(second, default_model, tmp_path)
        assert run(second, ASK)[0].usage.cached_tokens == finished.usage.prompt_tokens
    finally:
        second.close()
    assert "llama_context" in (tmp_path / "worker.log").read_text("utf-8", "replace")
