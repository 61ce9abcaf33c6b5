"""The templates and vocabularies that come with llama.cpp's source, where the set-up has unpacked it."""

from __future__ import annotations

import functools
import os
import platform
from pathlib import Path

import pytest

import build_llama
from skippy_chat.native.library import load
from skippy_chat.native.model import Model


@functools.cache
def models_folder() -> Path:
    """Return the folder ``models`` of the source tree that the installed library was built from."""
    cache = build_llama.default_cache_dir(os.environ, platform.system())
    found = sorted(
        (cache / "build").glob("*/source/vendor/llama.cpp/models"), key=lambda at: at.stat().st_mtime
    )
    if not found:
        pytest.fail("llama.cpp's source is not there: run the tests with `make test`.")
    return found[-1]


def template_names() -> list[str]:
    """Return the names of all templates, without ``.jinja``."""
    return sorted(path.stem for path in (models_folder() / "templates").glob("*.jinja"))


def template_source(name: str) -> str:
    """Return a template's text."""
    return (models_folder() / "templates" / f"{name}.jinja").read_text(encoding="utf-8")


def vocabulary_names() -> list[str]:
    """Return the names of all vocabularies."""
    prefix = "ggml-vocab-"
    return sorted(path.stem[len(prefix) :] for path in models_folder().glob(f"{prefix}*.gguf"))


@functools.cache
def vocabulary(name: str) -> Model:
    """Load a vocabulary; it is kept until the process ends."""
    return Model(load(), models_folder() / f"ggml-vocab-{name}.gguf", vocab_only=True)
