"""Writes a model again in another quantisation, with llama.cpp's own quantiser."""

from __future__ import annotations

import ctypes
from pathlib import Path

from skippy_chat.native.library import load

# Numbers of llama_ftype, which are part of the file format and never change.
FILE_TYPES = {"F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 7, "Q4_K_M": 15}


def quantise(source: Path, target: Path, file_type: str, *, threads: int = 1) -> None:
    """Write ``source`` as ``file_type``; what is quantised already is quantised again.

    Raises:
        RuntimeError: llama.cpp refused.
    """
    api = load().api
    params = api.llama_model_quantize_default_params()
    params.ftype = FILE_TYPES[file_type]
    params.nthread = threads
    params.allow_requantize = True
    done = api.llama_model_quantize(str(source).encode(), str(target).encode(), ctypes.byref(params))
    if done != 0:
        raise RuntimeError(f"{source.name} cannot be written as {file_type}: code {done}")
