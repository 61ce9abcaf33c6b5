"""Copying as source: the last answer, a message, or one of its blocks of code; and what is selected.

Invariant: what is copied is the stored text, never the lines of the screen, and the status bar says what became of it.
"""

from __future__ import annotations

import asyncio
import re
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from skippy_chat.chat.messages import Message
from skippy_chat.clipboard import copied
from skippy_chat.text.code_blocks import CodeBlock, code_blocks
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.display import one_line
from skippy_chat.tui.modal import Modal
from skippy_chat.tui.pointing import pointed_view
from skippy_chat.tui.rows import Rows
from skippy_chat.wording import plural

_WANTED = re.compile(r"(?:code(?: +(\d{1,4}))?)?")
_DIGITS = frozenset("123456789")
_WHAT = {
    "assistant": "the answer",
    "user": "your message",
    "tool": "what the tool gave",
    "system": "the system prompt",
}


class CodePicker(Modal[int]):
    """Asks which block of code; returns its index, or None. Digits choose at once."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,ctrl+c,ctrl+d", "dismiss", "Leave", priority=True),
    ]

    def __init__(self, blocks: list[CodeBlock]) -> None:
        super().__init__()
        self._blocks = blocks

    def compose(self) -> ComposeResult:
        """Lay out title, blocks and keys."""
        with Vertical(classes="choosing"):
            yield Static(Content.styled("Which code?", "bold"), markup=False)
            yield Rows(
                *(Option(_told(number, each)) for number, each in enumerate(self._blocks, 1)), markup=False
            )
            yield Static(Content.styled("A number or Enter copies · Esc leaves", "dim"), markup=False)

    def set_up(self) -> None:
        """Begin at the last one: it is what an answer comes to."""
        self.query_one(OptionList).highlighted = len(self._blocks) - 1

    def on_key(self, event: events.Key) -> None:
        """Choose a block by its number."""
        if event.key in _DIGITS and int(event.key) <= len(self._blocks):
            event.stop()
            self.dismiss(int(event.key) - 1)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Return the chosen block."""
        event.stop()
        self.dismiss(event.option_index)


def _told(number: int, block: CodeBlock) -> Content:
    first = next((line for line in block.code.split("\n") if line.strip()), "")
    facts = " · ".join(part for part in (one_line(block.language, 20), plural(block.lines, "line")) if part)
    return Content.assemble(f"{number:>2}  ", one_line(first, 80), "\n", (f"    {facts}", "dim"))


def copy_text(parts: Parts, text: str, what: str) -> None:
    """Copy a text, and tell in the status bar what became of it; nothing waits for it."""
    app = parts.app
    app._clipboard = (
        text  # what Ctrl-V in the box gives; Textual sets it only while it writes its own sequence
    )

    async def copy() -> None:
        done = await asyncio.to_thread(copied, text, what, parts.services.environment)
        if done.sequence and app._driver is not None:
            app._driver.write(done.sequence)
        parts.bar.change(hint=done.told)

    app.run_worker(copy())


def _copy(parts: Parts, argument: str) -> bool:
    wanted = _WANTED.fullmatch(argument)
    if wanted is None:
        parts.bar.change(hint="Say /copy, /copy code, or /copy code N.")
        return False
    message = _meant(parts, with_code=bool(argument))
    if message is None:
        return False
    if argument:
        return _copy_code(parts, message, int(wanted[1] or 0))
    copy_text(parts, message.content, _WHAT[message.role])
    return True


def _copy_code(parts: Parts, message: Message, number: int) -> bool:
    """Copy one of a message's blocks, from 1; 0 asks where there are several."""
    blocks = code_blocks(message.content)
    if not blocks:
        parts.bar.change(hint="There is no code in it.")
        return False
    if number > len(blocks):
        parts.bar.change(hint=f"There are {plural(len(blocks), 'block')} of code in it.")
        return False

    def chosen(at: int | None) -> None:
        if at is not None:
            name = f"code {at + 1} of {len(blocks)}" if len(blocks) > 1 else "the code"
            copy_text(parts, blocks[at].code, name)

    if number or len(blocks) == 1:
        chosen(max(number, 1) - 1)
    else:
        parts.app.push_screen(CodePicker(blocks), chosen)
    return True


def _meant(parts: Parts, *, with_code: bool) -> Message | None:
    """Return the message with the focus, or else the last answer that says something."""
    view = pointed_view(parts)
    if view is not None:
        if view.message is None:
            parts.bar.change(hint="It is still being written.")
        return view.message
    for message in reversed(parts.transcript.messages):
        if (
            message.role == "assistant"
            and message.content.strip()
            and (not with_code or code_blocks(message.content))
        ):
            return message
    parts.bar.change(hint="There is no code in any answer." if with_code else "There is no answer yet.")
    return None


def _copy_code_here(parts: Parts, _argument: str) -> bool:
    return _copy(parts, "code")


COPYING = Feature(
    (
        AppCommand(
            "copy",
            "copy the last answer, or a block of its code, as it was written",
            _copy,
            usage="[code [N]]",
        ),
        AppCommand("copy-code", "copy a block of code of the last answer that has any", _copy_code_here),
    )
)
