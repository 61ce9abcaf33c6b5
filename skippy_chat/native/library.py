"""Load the patched library once, declare our C API, and refuse a stock build with the mend.

The plain llama.cpp API comes from the bindings; what the patch series adds is declared here, from its header
``llama-skippy.h``.
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import Any

from skippy_chat.errors import NativeError

ABI = 1
_MEND = "Run: python3 build_llama.py"


class SequencePart(ctypes.Structure):
    """One part of a sequence's memory: positions are -1 and the count 0 when it is empty or absent."""

    _fields_ = (
        ("pos_min", ctypes.c_int32),
        ("pos_max", ctypes.c_int32),
        ("n_cells", ctypes.c_uint32),
    )


class SequenceInfo(ctypes.Structure):
    """The attention, recurrent and sliding-window parts of one sequence."""

    _fields_ = (("attn", SequencePart), ("recr", SequencePart), ("swa", SequencePart))


class Counters(ctypes.Structure):
    """Native counters of a context, monotonic: what was really decoded and moved."""

    _fields_ = (
        ("n_decode_calls", ctypes.c_uint64),
        ("n_tokens_decoded", ctypes.c_uint64),
        ("n_bytes_exported", ctypes.c_uint64),
        ("n_bytes_imported", ctypes.c_uint64),
    )


_CTX = ctypes.c_void_p
_BYTES = ctypes.c_void_p
_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "llama_skippy_abi": ([], ctypes.c_int32),
    "llama_memory_get_class": ([_CTX], ctypes.c_int32),
    "llama_memory_seq_get_info": (
        [_CTX, ctypes.c_int32, ctypes.POINTER(SequenceInfo)],
        ctypes.c_bool,
    ),
    "llama_state_seq_get_range_size": ([_CTX] + [ctypes.c_int32] * 3, ctypes.c_size_t),
    "llama_state_seq_get_range": (
        [_CTX, _BYTES, ctypes.c_size_t] + [ctypes.c_int32] * 3,
        ctypes.c_size_t,
    ),
    "llama_state_seq_append_range": (
        [_CTX, _BYTES, ctypes.c_size_t] + [ctypes.c_int32] * 3,
        ctypes.c_size_t,
    ),
    "llama_skippy_last_error": ([], ctypes.c_char_p),
    "llama_skippy_get_counters": ([_CTX, ctypes.POINTER(Counters)], None),
    "llama_set_cancel": ([_CTX, ctypes.c_bool], None),
    "llama_get_cancel": ([_CTX], ctypes.c_bool),
}
_CHAT_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "skippy_chat_init": (
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)],
        ctypes.c_void_p,
    ),
    "skippy_chat_free": ([ctypes.c_void_p], None),
    "skippy_chat_render": (
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)],
        ctypes.c_void_p,
    ),
    "skippy_chat_string_free": ([ctypes.c_void_p], None),
}
_ERROR = ctypes.POINTER(ctypes.c_void_p)
_ANSWER_SIGNATURES: dict[str, tuple[list[Any], Any]] = {
    "skippy_parser_init": ([ctypes.c_char_p, _ERROR], ctypes.c_void_p),
    "skippy_parser_free": ([ctypes.c_void_p], None),
    "skippy_parser_parse": (
        [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_bool, _ERROR],
        ctypes.c_void_p,
    ),
    "skippy_grammar_init": ([ctypes.c_void_p, ctypes.c_char_p, _ERROR], ctypes.c_void_p),
    "skippy_grammar_free": ([ctypes.c_void_p], None),
    "skippy_grammar_clone": ([ctypes.c_void_p, _ERROR], ctypes.c_void_p),
    "skippy_grammar_reset": ([ctypes.c_void_p, _ERROR], ctypes.c_bool),
    "skippy_grammar_is_active": ([ctypes.c_void_p], ctypes.c_bool),
    "skippy_grammar_check": ([ctypes.c_void_p, ctypes.c_int32, _ERROR], ctypes.c_int32),
    "skippy_grammar_accept": ([ctypes.c_void_p, ctypes.c_int32, _ERROR], ctypes.c_int32),
    "skippy_grammar_apply": ([ctypes.c_void_p, ctypes.c_void_p, _ERROR], ctypes.c_int64),
}


class Library:
    """The loaded bindings (``api``) with our own functions (``own``) and the chat library (``chat``)."""

    def __init__(self, api: Any, own: ctypes.CDLL, chat: ctypes.CDLL, folder: Path, version: str) -> None:
        self.api = api
        self.own = own
        self.chat = chat
        self.folder = folder
        self.version = version

    def answers(self) -> ctypes.CDLL:
        """Return the chat library with its parsers and grammars declared.

        Raises:
            NativeError: the installed build can only render.
        """
        return _declare(self.chat, _ANSWER_SIGNATURES, "llama-skippy-chat")

    def take_text(self, text: ctypes.c_void_p) -> str:
        """Return and free a string that the chat library gave."""
        if not text.value:
            return "no reason given"
        try:
            return ctypes.string_at(text.value).decode("utf-8", "replace")
        finally:
            self.chat.skippy_chat_string_free(text)

    def last_error(self) -> str:
        """Return why our API last refused a call on this thread."""
        text: bytes | None = self.own.llama_skippy_last_error()
        return (text or b"").decode("utf-8", "replace")


@functools.cache
def load() -> Library:
    """Load the patched library.

    Raises:
        NativeError: not installed, not loadable, not patched, or patched for another version of this program.
    """
    try:
        import llama_cpp  # noqa: PLC0415 - half a second that only the worker should pay
        from llama_cpp import llama_cpp as api  # noqa: PLC0415
    except ImportError as error:
        raise NativeError(f"The patched llama.cpp is not installed ({error}).", _MEND) from error
    except (OSError, RuntimeError) as error:
        raise NativeError(f"The installed llama.cpp does not load: {error}.", _MEND) from error
    folder = Path(llama_cpp.__file__).parent / "lib"
    own = _declare(api._lib, _SIGNATURES, "llama-cpp-python")
    found = own.llama_skippy_abi()
    if found != ABI:
        raise NativeError(
            f"The installed llama.cpp carries patches for interface {found}; this program needs {ABI}.", _MEND
        )
    chat = _declare(_open(folder, "llama-skippy-chat"), _CHAT_SIGNATURES, "llama-skippy-chat")
    _filter_log(api)
    api.llama_backend_init()
    return Library(api, own, chat, folder, str(llama_cpp.__version__))


_LOG_INFO, _LOG_CONTINUED = 2, 5


def _filter_log(api: Any) -> None:
    """Send native log lines to descriptor 2, without the debug lines, which come by the dozen for every decode."""
    wanted = [True]

    def write(level: int, text: bytes, _data: Any) -> None:
        if level != _LOG_CONTINUED:
            wanted[0] = level >= _LOG_INFO
        if wanted[0]:
            os.write(2, text)

    # Kept on the module: ctypes does not hold a reference to a callback.
    api.skippy_log_callback = api.llama_log_callback(write)
    api.llama_log_set(api.skippy_log_callback, None)


def _open(folder: Path, name: str) -> ctypes.CDLL:
    suffix = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")
    path = folder / (f"{name}{suffix}" if os.name == "nt" else f"lib{name}{suffix}")
    try:
        return ctypes.CDLL(str(path))
    except OSError as error:
        raise NativeError(f"The chat library does not load: {error}.", _MEND) from error


def _declare(library: ctypes.CDLL, signatures: dict[str, tuple[list[Any], Any]], what: str) -> ctypes.CDLL:
    for name, (argtypes, restype) in signatures.items():
        try:
            function = getattr(library, name)
        except AttributeError as error:
            raise NativeError(f"The installed {what} is a stock build: it lacks {name}.", _MEND) from error
        function.argtypes = argtypes
        function.restype = restype
    return library
