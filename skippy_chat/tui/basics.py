"""The commands that every conversation needs: going on, undoing, tools, exports and names.

Invariant: what takes time happens behind the bridge.
"""

from __future__ import annotations

from skippy_chat.exporting import export_here
from skippy_chat.tool_wording import tools_text
from skippy_chat.tui.command import AppCommand, Feature, Parts


def _continue(parts: Parts, _argument: str) -> None:
    parts.turns.go_on()


def _undo(parts: Parts, _argument: str) -> None:
    parts.turns.undo()


def _tools(parts: Parts, _argument: str) -> None:
    parts.show("Tools", tools_text(parts.turns.tools))


def _export(parts: Parts, argument: str) -> None:
    folder = parts.services.working_folder
    parts.turns.do(lambda conversation: export_here(conversation, argument, folder))


def _rename(parts: Parts, argument: str) -> bool:
    if not argument:
        parts.bar.change(hint="Give a name: /rename TITLE")
        return False
    parts.turns.do(lambda conversation: f"This session is {conversation.rename(argument).name} now.")
    return True


BASICS = Feature(
    (
        AppCommand(
            "continue", "go on with a turn that was stopped, or that a limit ended", _continue, needs="free"
        ),
        AppCommand("undo", "put back the files that the newest turn wrote", _undo, needs="free"),
        AppCommand("tools", "the tools that the model is offered", _tools),
        AppCommand(
            "export", "write the conversation to a file", _export, usage="[md|json|html] [FILE]", needs="free"
        ),
        AppCommand("rename", "give the session another name", _rename, usage="TITLE", needs="free"),
    )
)
