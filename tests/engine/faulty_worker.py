"""The real worker with one fault built in, real as well: native code aborts, hangs, crashes, eats memory.

Run as ``python -m tests.engine.faulty_worker FAULT AFTER MARK LOG``: the fault comes before the AFTERth token is
generated, once for each file MARK; every time for the MARK ``always``; told to who reads MARK if that is a named pipe.
A FAULT with the suffix ``-reading`` comes while the AFTERth batch of a prompt is read.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from skippy_chat.engine import worker
from skippy_chat.engine.engine import Engine
from skippy_chat.native.context import Context

_LIBC = ctypes.CDLL(None)
_MIB = 1 << 20


def abort(context: Context) -> None:
    """Ask llama.cpp for more tokens at once than its batch may hold: a real GGML_ASSERT."""
    api = context.library.api
    count = context.options.n_batch + 1
    tokens = (ctypes.c_int32 * count)(*[1] * count)
    api.llama_decode(context.pointer, api.llama_batch_get_one(tokens, count))


def crash(_context: Context) -> None:
    """Read from nowhere in native code: a real SIGSEGV."""
    ctypes.string_at(8)


def kill(_context: Context) -> None:
    """End as by ``kill -9``."""
    os.kill(os.getpid(), signal.SIGKILL)


def eat_memory(_context: Context) -> None:
    """Take memory until the kernel steps in, or up to 2 GiB; every page is touched."""
    taken = [bytearray(b"x") * (16 * _MIB) for _ in range(128)]
    assert taken
    kill(_context)


def stop(_context: Context) -> None:
    """Stand still, all threads of it."""
    os.kill(os.getpid(), signal.SIGSTOP)


def wait(_context: Context) -> None:
    """Wait in native code for what never comes, Python's lock released, as a deadlock does."""
    while True:
        _LIBC.pause()


def hold(_context: Context) -> None:
    """Wait in native code with Python's lock held, so that no other thread runs."""
    ctypes.PyDLL(None).sleep(600)


def spin(_context: Context) -> None:
    """Compute for twelve seconds in native code, as a slow batch does, and go on well."""
    until = time.monotonic() + 12
    while time.monotonic() < until:
        hashlib.pbkdf2_hmac("sha256", b"slow", b"batch", 50_000)


def babble(_context: Context) -> None:
    """Write garbage to the pipe of frames, and go on."""
    _WORKERS[0]._send(b"ggml_backend_cuda: \x1b[31mhello\n")


def leave(_context: Context) -> None:
    """End with a code of its own."""
    os._exit(7)


FAULTS: dict[str, Callable[[Context], None]] = {
    "abort": abort,
    "crash": crash,
    "kill": kill,
    "memory": eat_memory,
    "stop": stop,
    "wait": wait,
    "hold": hold,
    "spin": spin,
    "babble": babble,
    "leave": leave,
}
_WORKERS: list[worker.Worker] = []


def claim(mark: str) -> bool:
    """Whether the fault is still to come."""
    if mark == "always":
        return True
    if Path(mark).is_fifo():
        Path(mark).write_bytes(b"now")
        return True
    with contextlib.suppress(FileExistsError):
        Path(mark).touch(exist_ok=False)
        return True
    return False


def main() -> int:
    fault, after, mark = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    reading = fault.endswith("-reading")
    decode = Context.decode
    begin = worker.Worker.__init__
    step = Engine.step
    engines: list[Engine] = []
    seen = 0
    stepping = False

    def faulty(self: Context, ids: Sequence[int], position: int, *, logits: bool, sequence: int = 0) -> None:
        nonlocal seen
        seen += stepping and reading == (len(ids) > 1)
        if stepping and seen == after and claim(mark):
            if not reading:
                # The prompt is durable long before its answer is this long, unless the machine is busy.
                engines[0].flush()
            FAULTS[fault.removesuffix("-reading")](self)
        decode(self, ids, position, logits=logits, sequence=sequence)

    def remembered(self: worker.Worker, *arguments: Any) -> None:
        begin(self, *arguments)
        _WORKERS.append(self)

    def stepped(self: Engine, *arguments: Any) -> Any:
        nonlocal stepping
        stepping = True  # from here on: the self-test while a model loads decodes too
        engines[:] = [self]
        return step(self, *arguments)

    Engine.step = stepped  # type: ignore[method-assign, assignment]
    Context.decode = faulty  # type: ignore[method-assign]
    worker.Worker.__init__ = remembered  # type: ignore[method-assign, assignment]
    return worker.main()


if __name__ == "__main__":
    sys.exit(main())
