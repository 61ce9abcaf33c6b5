"""What the process is made of that the proofs' processes are forked from: the library is loaded there, and nothing run.

It must not be the one that runs the tests: once a process has computed with several threads, OpenMP's threads are gone
in whatever is forked from it, and computing with several waits for them for ever.
"""

from __future__ import annotations

from skippy_chat.native.library import load

load()
