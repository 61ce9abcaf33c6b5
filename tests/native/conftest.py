"""A real vocabulary, the default model's, with the template that it brings."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from skippy_chat.native.chat import ChatTemplate
from skippy_chat.native.library import load
from skippy_chat.native.model import Model
from tests.native.answering import default_source


@pytest.fixture(scope="module")
def vocabulary(default_model: Path) -> Iterator[Model]:
    model = Model(load(), default_model, vocab_only=True)
    yield model
    model.close()


@pytest.fixture(scope="module")
def template(vocabulary: Model) -> Iterator[ChatTemplate]:
    chat = ChatTemplate(vocabulary, default_source())
    yield chat
    chat.close()
