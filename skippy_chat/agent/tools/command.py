"""``run_command``: a command line for ``sh``, in the workspace, with nobody at its keyboard.

A shell is not contained by path checks. What guards it are approvals, limits, an environment without secrets, and the
sandbox where a person asked for it; asked for and missing, nothing runs.
"""

from __future__ import annotations

import codecs
import signal
from typing import ClassVar

from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.environment import for_commands
from skippy_chat.agent.tools.output import OutputKeeper
from skippy_chat.agent.tools.process import Ended, Program, run_program
from skippy_chat.agent.tools.protocol import Arguments, Needs, ToolContext, ToolResult
from skippy_chat.agent.tools.sandbox import sandboxed
from skippy_chat.errors import ToolError
from skippy_chat.text.sanitise import sanitise

SHELL = "/bin/sh"


class RunCommand(BuiltIn):
    """Runs commands."""

    name: ClassVar[str] = "run_command"
    read_only: ClassVar[bool] = False
    needs: ClassVar[Needs] = Needs(command="command")

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Run the command; its output goes out live, and comes back with how it ended."""
        command = arguments["command"]
        if not command.strip():
            raise ToolError("The command is empty.")
        if "\0" in command or (not command.isprintable() and _unencodable(command)):
            raise ToolError("The command holds characters that no command line can have.")
        seconds = float(arguments.get("timeout", context.limits.command_seconds))
        keeper = OutputKeeper(context.output_folder, context.call or self.name, context.limits.output_bytes)
        live = codecs.getincrementaldecoder("utf-8")("replace")

        def take(data: bytes) -> bool:
            keeper.add(data)
            if text := live.decode(data):
                context.emit(text)
            return keeper.total <= context.limits.spill_bytes

        with context.gate.open_folder(".") as folder:
            program = Program(
                _argv(command, context),
                folder.fd,
                for_commands(context.environment, context.pass_variables),
                seconds,
                context.limits.memory_bytes,
            )
            ended = run_program(program, take, context.cancel)
        kept = keeper.finish()
        told = _told(ended, seconds, context)
        # Colours and cursor movements are of no use to a model, and cost it tokens; the file has them.
        text = sanitise(kept.text).rstrip("\n")
        good = ended.how == "exit" and ended.code == 0
        return ToolResult(
            "ok" if good else "error",
            "\n".join(each for each in (text, told) if each) or "[done, without output]",
            spilled=kept.spilled,
        )


def _argv(command: str, context: ToolContext) -> list[str]:
    plain = [SHELL, "-c", command]
    if not context.sandbox:
        return plain
    if context.bubblewrap is None:
        raise ToolError(
            "Nothing was run: a sandbox was asked for, and bubblewrap (bwrap) is not installed.",
            "Install bubblewrap, or start without --sandbox.",
        )
    return sandboxed(context.bubblewrap, context.workspace, plain)


def _told(ended: Ended, seconds: float, context: ToolContext) -> str:
    if ended.how == "exit":
        told = "" if ended.code == 0 else f"[exit code {ended.code}]"
        # Of a sandbox there is always something left for a moment: its own first process, and what that takes along.
        if ended.left_over and not context.sandbox:
            told += "[processes it left in the background were ended]"
        return told
    if ended.how == "signal":
        return f"[ended by {_signal_name(ended.code)}]"
    if ended.how == "timeout":
        return f"[stopped after {seconds:g} seconds, with all it started]"
    if ended.how == "output":
        return f"[stopped: more than {context.limits.spill_bytes:,} bytes of output]"
    if ended.how == "cancelled":
        return "[cancelled, with all it started]"
    return f"[could not be run: {ended.detail}]"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _unencodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
