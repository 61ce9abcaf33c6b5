"""How shells ask what Tab offers, by click: the script that each reads once, and the answer to one question.

Invariant: an answer is one a shell can put in as it is, and nothing else is printed.
"""

from __future__ import annotations

import contextlib
import os
import re

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    shell_complete,
)

from skippy_chat.cli import COMPLETE_VARIABLE
from skippy_chat.cli.host import process_host
from skippy_chat.cli.options import Invocation
from skippy_chat.cli.root import skippy_chat

PROGRAM = "skippy-chat"
SHELLS = ("bash", "zsh", "fish")
_SPECIAL = re.compile(r"([^A-Za-z0-9_./:@%+,=-])")


class _Bash(BashComplete):
    """Bash puts a word in as it is, so what a shell would split is escaped here; its version is not asked each time."""

    def format_completion(self, item: CompletionItem[str]) -> str:
        """Return one line for the script."""
        escaped = _SPECIAL.sub(r"\\\1", item.value)
        return f"{item.type},{escaped}"

    def source(self) -> str:
        """Return the script, in which no backslash is lost."""
        return ShellComplete.source(self).replace("read type value", "read -r type value")


def complete(instruction: str) -> int:
    """Answer a shell's question, which it put into the environment; return the exit code."""
    add_completion_class(_Bash, "bash")
    host = process_host()
    # A shell that is completing shows whatever is said on standard error across the line that is being typed.
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stderr(nowhere):  # noqa: PTH123
        return shell_complete(skippy_chat, {"obj": Invocation(host)}, PROGRAM, COMPLETE_VARIABLE, instruction)


def script(shell: str) -> str:
    """Return what a shell has to read once."""
    add_completion_class(_Bash, "bash")
    kind = get_completion_class(shell)
    assert kind is not None, "click knows the shells we name"
    return kind(skippy_chat, {}, PROGRAM, COMPLETE_VARIABLE).source()
