"""The person's own editor, for the text in the box or for a message: the app lets the terminal go meanwhile.

Invariant: what runs behind the bridge goes on and is shown afterwards; what was written stands in the box, and is sent
only by Enter.
"""

from __future__ import annotations

from textual.app import SuspendNotSupported

from skippy_chat.chat.messages import Message
from skippy_chat.errors import UsageError
from skippy_chat.text_editor import edited, editor_command
from skippy_chat.tui.amending import amendable
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.pointing import may_change, own_message, pointed_view


def _editor(parts: Parts, argument: str) -> bool:
    """Edit your message N, the one with the focus, or what stands in the box."""
    message: Message | None = None
    view = pointed_view(parts)
    if not argument and view is not None and view.role != "user":
        if (message := amendable(parts, view)) is None:
            return False
    elif argument or view is not None:
        if not may_change(parts, "edit") or (message := own_message(parts, argument)) is None:
            return False
    elif parts.composer.disabled:
        parts.bar.change(hint="Read-only: go on in a copy first (f), then write.")
        return False
    # In the box's own queue, behind the letters that were typed before the key.
    parts.composer.call_later(_open, parts, message)
    return True


def _open(parts: Parts, message: Message | None) -> None:
    composer = parts.composer
    if message is not None:
        parts.editing.begin(message)
    source = composer.text if message is None else message.content
    try:
        after = _edited(parts, source)
    except UsageError as error:
        if error.hint:
            parts.show(
                "The editor", str(error)
            )  # it names a file, or says what to set: more than a line holds
        else:
            parts.bar.change(hint=str(error))
        return
    if after != source:
        composer.put(after)
    composer.focus()
    unsent = "" if message is not None or not composer.text else "Enter sends it."
    parts.bar.change(hint="Nothing was changed." if after == source else unsent)


def _edited(parts: Parts, text: str) -> str:
    environment = parts.services.environment
    command = editor_command(environment)
    failure: UsageError | None = None
    after = text
    try:
        with parts.app.suspend():
            try:
                after = edited(text, command, environment)
            except UsageError as error:  # out of here Textual would not take the terminal back
                failure = error
    except SuspendNotSupported as error:
        raise UsageError("This terminal cannot be let go for an editor.") from error
    if failure is not None:
        raise failure
    return after


TEXT_EDITING = Feature(
    (
        AppCommand(
            "editor",
            "write in your own editor: what is in the box, or your message N",
            _editor,
            usage="[N]",
            key="ctrl+g",
        ),
    )
)
