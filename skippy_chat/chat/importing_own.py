"""Reading what ``export_json`` wrote, here or elsewhere.

Invariant: a tree that comes out of here can be stored: ids are each there once, parents stand before their children,
and every part is of the kind that the history keeps. Keys that are not known are ignored; a newer version wrote them.
"""

from __future__ import annotations

from typing import Any, cast, get_args

from skippy_chat.chat.export_json import FORMAT, SCHEMA
from skippy_chat.chat.importing_settings import check_settings, settings_that_travel
from skippy_chat.chat.importing_values import Found
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.messages import Message, Role, Session, State, ToolCall
from skippy_chat.chat.session_rows import usable_title
from skippy_chat.chat.trees import SessionTree
from skippy_chat.errors import ConfigError, HistoryError
from skippy_chat.events import ToolStatus

MOST_MESSAGES = 100_000
_MOST_CALLS = 1_000
_MOST_HEADS = 100
_MOST_SETTINGS = 1_000
_ID = 200  # characters
_LATEST = 1 << 47  # milliseconds since the epoch, beyond the year 6000
_MOST_TOKENS = 1 << 22  # of one ledger
_MOST_IDS = 1 << 25  # of all ledgers, each with what it shares
_MOST_LEDGERS = 4 * MOST_MESSAGES
_AGAIN = "Export it again: skippy-chat sessions export NAME --format json"


def is_own(value: Any) -> bool:
    """Tell whether a JSON value says that it is an exported session."""
    return isinstance(value, dict) and value.get("format") == FORMAT


def read_own(root: Found, *, ledgers: bool) -> SessionTree:
    """Return the session in a file, its ids as they stand there; ``ledgers`` only if they are wanted.

    Raises:
        ImportRefused: something in it is not as it must be; it names the place.
    """
    schema = root.part("schema").whole(0, 1 << 30)
    if schema != SCHEMA:
        raise root.part("schema").refuse(
            f"{schema} was written by another version than this one, which reads {SCHEMA}",
            "Update skippy-chat.",
        )
    messages: dict[str, Message] = {}
    for found in root.part("messages").items(MOST_MESSAGES):
        message = _message(found)
        if message.id in messages:
            raise found.part("id").refuse("another message has this id", _AGAIN)
        if message.parent is not None and message.parent not in messages:
            raise found.part("parent").refuse("no message before it has this id", _AGAIN)
        messages[message.id] = message
    tree = SessionTree(_session(root.part("session")), tuple(messages.values()), _heads(root, messages))
    return _with_ledgers(root, tree) if ledgers and root.part("ledgers").value is not None else tree


def _session(found: Found) -> Session:
    title = found.part("title")
    try:
        usable_title(title.text())
    except HistoryError as error:
        raise title.refuse("it cannot be the name of a session", error.hint) from error
    kept = found.part("settings")
    if len(kept.object()) > _MOST_SETTINGS:
        raise kept.refuse(f"more than {_MOST_SETTINGS} settings", _AGAIN)
    settings = settings_that_travel(kept.object())
    try:
        check_settings(settings)
    except ConfigError as error:
        raise kept.refuse(error.message.rstrip("."), error.hint) from error
    return Session("", title.text(), "", 0, 0, found.part("model").text(4096), settings)


def _message(found: Found) -> Message:
    calls = found.part("tool_calls")
    turn = found.part("turn").text_or_none(_ID)
    status = found.part("status")
    return Message(
        id=_id(found.part("id")),
        session="",
        parent=None if found.part("parent").value is None else _id(found.part("parent")),
        role=cast("Role", found.part("role").word(*get_args(Role))),
        content=found.part("content").text(),
        reasoning=found.part("reasoning").text_or_none(),
        tool_calls=() if calls.value is None else tuple(map(_call, calls.items(_MOST_CALLS))),
        tool_call_id=found.part("tool_call_id").text_or_none(),
        state=cast("State", found.part("state").word(*get_args(State))),
        finish_reason=found.part("finish_reason").text_or_none(_ID),
        created=found.part("created").whole(0, _LATEST),
        status=None if status.value is None else cast("ToolStatus", status.word(*get_args(ToolStatus))),
        detail=found.part("detail").text_or_none() or "",
        turn=turn or "",
        edited=found.part("edited").flag(),
    )


def _call(found: Found) -> ToolCall:
    return ToolCall(found.part("id").text(), found.part("name").text(), found.part("arguments").text())


def _id(found: Found) -> str:
    text = found.text(_ID)
    if not text:
        raise found.refuse("an id is wanted, not an empty text", _AGAIN)
    return text


def _heads(root: Found, messages: dict[str, Message]) -> dict[str, str]:
    found = root.part("heads")
    if len(found.object()) > _MOST_HEADS:
        raise found.refuse(f"more than {_MOST_HEADS} heads", _AGAIN)
    heads = {}
    for number, name in enumerate(found.object()):
        # By its number: the name may be anything.
        at = Found(found.object()[name], f"heads, entry {number + 1}")
        if not name.isprintable() or len(name) > _ID:
            raise at.refuse("its name is none", _AGAIN)
        if at.text() not in messages:
            raise at.refuse("no message has this id", _AGAIN)
        heads[name] = at.text()
    return heads


def _with_ledgers(root: Found, tree: SessionTree) -> SessionTree:
    known = {each.id for each in tree.messages}
    places = {message.id: number for number, message in enumerate(tree.messages)}
    ledgers: dict[tuple[str, str], Ledger] = {}
    total = 0
    last = 0
    for found in root.part("ledgers").items(_MOST_LEDGERS):
        at, identity = found.part("message").text(_ID), found.part("identity").text(_ID)
        if at not in known or (at, identity) in ledgers:
            raise found.part("message").refuse(
                "no message has this id, or it has this ledger already", _AGAIN
            )
        if places[at] < last:
            raise found.part("message").refuse("ledgers are not in the order of their messages", _AGAIN)
        last = places[at]
        before = found.part("base").text_or_none(_ID)
        above = () if before is None else _ids_of(found.part("base"), ledgers.get((before, identity)))
        shared = found.part("shared").whole(0, len(above))
        own = [each.whole(0, (1 << 31) - 1) for each in found.part("ids").items(_MOST_TOKENS)]
        total += shared + len(own)
        if total > _MOST_IDS or shared + len(own) > _MOST_TOKENS:
            raise found.refuse("these ledgers are too large", "Import without --ledgers.")
        runs = [_run(each) for each in found.part("schedule").items(_MOST_TOKENS)]
        try:
            ledgers[at, identity] = Ledger(
                identity,
                (*above[:shared], *own),
                found.part("prompt_tokens").whole(0, _MOST_TOKENS),
                tuple(runs),
                found.part("sampling").text(),
            )
        except ValueError as error:
            raise found.refuse(str(error), _AGAIN) from error
    return SessionTree(
        tree.session, tree.messages, tree.heads, tuple((at, each) for (at, _), each in ledgers.items())
    )


def _ids_of(found: Found, base: Ledger | None) -> tuple[int, ...]:
    if base is None:
        raise found.refuse("no ledger before it is of this message and model", _AGAIN)
    return base.ids


def _run(found: Found) -> Run:
    tokens, single = (*found.items(2), Found(None, found.place), Found(None, found.place))[:2]
    return Run(tokens.whole(1, _MOST_TOKENS), bool(single.whole(0, 1)))
