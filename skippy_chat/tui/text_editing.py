"""The person's own editor, for the text in the box or for a message: the app lets the terminal go meanwhile.

Invariant: what runs behind the bridge goes on and is shown afterwards; what was written stands in the box, and is sent
only by Enter.
"""

from __future__ import annotations

from textual.app import SuspendNotSupported

from skippy_chat.errors import UsageError
from skippy_chat.text_editor import edited, editor_command
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.pointing import may_change, own_message, pointed_view


def _editor(parts: Parts, argument: str) -> bool:
    """Edit your message N, the one with the focus, or what stands in the box."""
    typed = "" if parts.composer.text.startswith("/editor") else parts.composer.text
    if argument or pointed_view(parts) is not None:
        if not may_change(parts, "edit"):
            return False
        message = own_message(parts, argument)
        if message is None:
            return False
        parts.composer.text = typed
        parts.editing.begin(message)
        typed = parts.composer.text
        source = message.content
    elif parts.composer.disabled:
        parts.bar.change(hint="Read-only: go on in a copy first (f), then write.")
        return False
    else:
        source = typed
        parts.composer.put(typed)
    try:
        after = _edited(parts, source)
    except UsageError as error:
        if error.hint:
            parts.show(
                "The editor", str(error)
            )  # it names a file, or says what to set: more than a line holds
        else:
            parts.bar.change(hint=str(error))
        return False
    if after != source:
        parts.composer.put(after)
        typed = parts.composer.text
    parts.composer.focus()
    parts.bar.change(hint="Nothing was changed." if after == source else "Enter sends it." if typed else "")
    return False  # what stands in the box now is to stay


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
