"""What is foretold of an edit: in a thread, one question at a time, of the last text, and never too late."""

from __future__ import annotations

import asyncio
import threading

import pytest
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document

from skippy_chat.repl import foresight
from skippy_chat.repl.foresight import Foresight

pytestmark = pytest.mark.timeout(60)


class Worker:
    """Foretells a text when it is let; counts how many are asked at once."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.most = 0
        self.now = 0
        self.begun = threading.Event()
        self.let = threading.Event()

    def foresee(self, text: str) -> str:
        self.now += 1
        self.most = max(self.most, self.now)
        self.asked.append(text)
        self.begun.set()
        self.let.wait(20)
        self.now -= 1
        return f"about {text}"


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foresight, "_AFTER", 0.0)


async def until(what: threading.Event) -> None:
    assert await asyncio.to_thread(what.wait, 20)


def test_the_last_text_is_asked_about_one_at_a_time() -> None:
    async def type_some() -> tuple[Worker, str]:
        worker, buffer = Worker(), Buffer()
        watching = Foresight(buffer)
        buffer.document = Document("not watched")
        watching.begin(worker.foresee)
        buffer.document = Document("first")
        await until(worker.begun)
        for text in ("second", "third"):
            buffer.document = Document(text)
            await asyncio.sleep(0)
        worker.let.set()
        while watching.line != "about third":
            await asyncio.sleep(0.001)
        return worker, watching.line

    worker, line = asyncio.run(type_some())
    assert worker.asked == ["first", "third"]
    assert worker.most == 1
    assert line == "about third"


def test_what_comes_after_the_prompt_has_ended_is_not_shown() -> None:
    async def type_some() -> str:
        worker, buffer = Worker(), Buffer()
        watching = Foresight(buffer)
        watching.begin(worker.foresee)
        buffer.document = Document("first")
        await until(worker.begun)
        asking = [each for each in asyncio.all_tasks() if each is not asyncio.current_task()]
        watching.end()
        worker.let.set()
        await asyncio.gather(*asking)
        return watching.line

    assert asyncio.run(type_some()) == ""


def test_the_prompt_ends_without_waiting_for_it() -> None:
    worker = Worker()

    async def type_some() -> None:
        buffer = Buffer()
        watching = Foresight(buffer)
        watching.begin(worker.foresee)
        buffer.document = Document("first")
        await until(worker.begun)
        watching.end()

    asyncio.run(type_some())
    assert worker.now == 1
    worker.let.set()


def test_an_empty_text_is_not_asked_about() -> None:
    async def type_some() -> tuple[list[str], str]:
        worker, buffer = Worker(), Buffer()
        worker.let.set()
        watching = Foresight(buffer)
        watching.begin(worker.foresee)
        buffer.document = Document("first")
        while watching.line != "about first":
            await asyncio.sleep(0.001)
        buffer.document = Document("  ")
        while watching.line:
            await asyncio.sleep(0.001)
        return worker.asked, watching.line

    assert asyncio.run(type_some()) == (["first"], "")
