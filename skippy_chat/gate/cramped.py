"""A worker that can write no file beyond a size: what a full disk looks like to it.

Run as ``python -m skippy_chat.gate.cramped BYTES LOG``: everything else is the worker as it is. A disk of its own
would need rights that a person's gate does not have; the system's limit on file sizes needs none, and a write past it
fails as one on a full disk does.
"""

from __future__ import annotations

import sys

from skippy_chat.engine.worker import main


def run() -> int:
    """Set the limit and serve."""
    import resource  # noqa: PLC0415 - not on every system; who starts this has looked

    limit = int(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return main()


if __name__ == "__main__":
    sys.exit(run())
