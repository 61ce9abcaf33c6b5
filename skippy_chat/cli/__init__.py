"""The command line's front door: it answers ``--version`` before anything heavy is imported.

Invariant: whatever happens below, ``main`` returns an exit code of DESIGN section 7 and never raises.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from skippy_chat import __version__

if TYPE_CHECKING:
    from skippy_chat.cli.host import Host

_WRONG_USE = 2  # errors.EXIT_USAGE, which is not imported for this
COMPLETE_VARIABLE = "_SKIPPY_CHAT_COMPLETE"  # a shell that wants to know what Tab offers sets it


def main(argv: Sequence[str] | None = None, host: Host | None = None) -> int:
    """Run one command line and return its exit code.

    Args:
        argv: arguments without the program's name; the process's own by default.
        host: the world outside (streams, environment, clocks, the engine); the process's own by default.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    if arguments == ["--version"] and host is None:
        sys.stdout.write(f"skippy-chat {__version__}\n")
        return 0
    if host is None and COMPLETE_VARIABLE in os.environ:
        return _complete(os.environ[COMPLETE_VARIABLE])
    from skippy_chat.cli.host import process_host  # noqa: PLC0415 - see the module docstring
    from skippy_chat.cli.root import run_command_line  # noqa: PLC0415

    try:
        world = host or process_host()
    except FileNotFoundError:  # the only thing looked for there; without it nothing else can be told properly
        sys.stderr.write("skippy-chat: The working folder is gone. Go to one that exists: cd\n")
        return _WRONG_USE
    return run_command_line(arguments, world)


def _complete(instruction: str) -> int:
    from skippy_chat.cli.quick import answer  # noqa: PLC0415

    told = answer(instruction, os.environ)
    if told is not None:
        sys.stdout.write(f"{told}\n")
        return 0
    from skippy_chat.cli.shells import complete  # noqa: PLC0415

    return complete(instruction)
