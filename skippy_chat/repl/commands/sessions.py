"""Commands about sessions: this one's facts, name, copy and file; the others, to find, open, delete and restore."""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.agent.protocol import Fork
from skippy_chat.agents_wording import agents_told
from skippy_chat.chat.export import FORMATS
from skippy_chat.chat.messages import Session
from skippy_chat.chat.searching import Found
from skippy_chat.chat.trash import KEPT_DAYS
from skippy_chat.errors import UsageError
from skippy_chat.exporting import USAGE, export_here
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.face import Face
from skippy_chat.repl.going import GoOn
from skippy_chat.repl.services import Services
from skippy_chat.repl.stored import StoredSessions
from skippy_chat.repl.telling import session_text
from skippy_chat.tool_wording import cut
from skippy_chat.wording import plural

_OPENING = 60


def _session(chat: Chat, _argument: str) -> Reply:
    conversation = chat.conversation
    facts = session_text(conversation.session, len(conversation.messages()))
    chat.face.say(f"{facts}\nBranches: {len(conversation.leaves())}")
    return None


def _sessions(chat: Chat, argument: str) -> Reply:
    return go_to(chat.services.stored, chat.face, chat.conversation.session, argument)


def go_to(stored: StoredSessions, face: Face, here: Session, argument: str) -> GoOn | None:
    """Return how to open the session that ``argument`` means, or show those that it may mean; none: this folder's."""
    meant = stored.meant(argument) if argument else None
    if meant is not None:
        if meant.id == here.id:
            face.status("This is that session.")
            return None
        return GoOn(session=meant.id)
    found = stored.find(argument)
    if not found:
        face.status(
            f"No session has the words “{argument}”." if argument else "No session is stored here yet."
        )
        return None
    line = _sentence if face.sentences else _line
    face.say("\n".join(line(number, each, here) for number, each in enumerate(found, 1)))
    star = "" if face.sentences else "; the star marks this one"
    face.status(f"/sessions N opens one, /sessions TEXT finds some in all folders{star}.")
    return None


def _line(number: int, found: Found, here: Session) -> str:
    mark = "*" if found.overview.session.id == here.id else " "
    return f"{mark} {number}  {' · '.join(_parts(found, here))}"


def _sentence(number: int, found: Found, here: Session) -> str:
    this = ", this one" if found.overview.session.id == here.id else ""
    return f"Session {number}{this}: {'; '.join(part.rstrip('.') for part in _parts(found, here))}."


def _parts(found: Found, here: Session) -> list[str]:
    """Return a session's name, its size, what it is about where the name does not say that, and a folder elsewhere."""
    overview = found.overview
    session = overview.session
    about = found.snippet or ("" if session.title or session.made_title else overview.opening)
    parts = [session.label, plural(overview.messages, "message")]
    parts += [cut(about, _OPENING)] if about else []
    return [*parts, session.folder] if session.folder != here.folder else parts


def _new(_chat: Chat, argument: str) -> Reply:
    return GoOn(new=True, title=argument)


def _rename(chat: Chat, argument: str) -> Reply:
    if not argument:
        raise UsageError("A session's name is missing.", "Give one: /rename TITLE")
    chat.face.status(f"This session is {chat.conversation.rename(argument).name} now.")
    return None


def _fork(chat: Chat, argument: str) -> Reply:
    messages = chat.conversation.messages()
    if not messages:
        raise UsageError("There is nothing to copy yet.", "Write a message first.")
    return GoOn(fork=Fork(chat.conversation.session.id, messages[-1].id, argument))


def _delete(chat: Chat, _argument: str) -> Reply:
    session = chat.conversation.session
    if not chat.conversation.leaves():
        raise UsageError(
            "There is nothing to delete: nothing was said in this session.", "/sessions lists others."
        )
    chat.services.stored.delete(session.id)
    chat.face.status(
        f"Deleted {session.label}. For {KEPT_DAYS} days /restore brings it back; this is a new session."
    )
    return GoOn(new=True)


def _restore(chat: Chat, argument: str) -> Reply:
    restored = chat.services.stored.restore(argument)
    chat.face.status(f"Restored {restored.label}.")
    return GoOn(session=restored.id)


def _export(chat: Chat, argument: str) -> Reply:
    chat.face.say(export_here(chat.conversation, argument, chat.services.folder))
    return None


def _agents(chat: Chat, _argument: str) -> Reply:
    chat.face.say(agents_told(chat.conversation.session))
    return None


def _names(services: Services) -> Sequence[str]:
    return services.stored.names()


SESSIONS = (
    Command(
        "/sessions [N|TEXT]",
        "List this folder's sessions, find some in all, or open one.",
        _sessions,
        look_up=_names,
    ),
    Command("/new [TITLE]", "Begin a new session; this one stays.", _new),
    Command("/fork [NAME]", "Go on in a copy of this branch; the session stays as it is.", _fork),
    Command("/session", "Show the session's name, id and size.", _session),
    Command("/rename TITLE", "Give the session another name.", _rename),
    Command("/delete", "Delete this session; /restore brings it back.", _delete),
    Command(
        "/restore [NAME]",
        "Bring back a deleted session, the last one or that of a name, and open it.",
        _restore,
    ),
    Command(USAGE, "Write the conversation to a file of this folder.", _export, FORMATS),
    Command("/agents", "Show what of AGENTS.md is in the system prompt.", _agents),
)
