"""Asking whether a call may run: all of it first, then a question that only a whole, offered answer ends.

Invariant: nothing but an answer typed to this very question allows anything.
"""

from __future__ import annotations

from skippy_chat.agent.asking import Answer
from skippy_chat.events import ApprovalNeeded
from skippy_chat.repl.face import Face
from skippy_chat.repl.quoting import complete
from skippy_chat.tool_wording import choices, read_answer
from skippy_chat.wording import plural


def ask_about(event: ApprovalNeeded, face: Face) -> Answer:
    """Show a call and return what the person says about it; where nobody can be asked, that is no.

    Raises:
        Stopped: the person stops the turn instead.
    """
    if not face.can_ask:
        return Answer(allowed=False, reason="It needs approval, and nobody can be asked here.")
    face.say("May this run?")
    hidden = face.quote(event.text)
    if event.diff:
        face.say("It would change:")
        hidden = max(hidden, face.quote(event.diff))
    if event.why:
        face.say(" ".join(complete(event.why).split()))
    if event.rules and len(event.scopes) > 1:
        face.say("An answer for longer than once would also let pass, from then on:")
        face.quote("\n".join(event.rules))
    if hidden:
        face.say(f"{plural(hidden, 'row')} of it may be out of sight: scroll up to see all.")
    face.say(f"{choices(event.scopes)}.")
    while True:
        typed = face.choose("Your answer:")
        answer = read_answer(typed, event.scopes)
        if answer is not None:
            return answer
        face.status("That is none of the answers.")
