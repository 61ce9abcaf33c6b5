"""Random sessions for properties of exports and imports, made of text that tries to break out of its place."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from skippy_chat.chat.history import History
from skippy_chat.chat.ledger import Ledger, Run
from skippy_chat.chat.messages import Message, Session, ToolCall
from skippy_chat.chat.trees import MAIN, SessionTree

HOSTILE = (
    "```", "~~~~", "`````py\n", "\n## 9 · You\n", "\n# Title\n", "\n===\n", "\n---\n", "\n- ", "\n> ", "1. ", "|-|-|\n",
    "</details>", "<details>", "</pre>", "</article>", "</style>", "</title>", "<!--", "-->", "]]>", "<![CDATA[", "<?",
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "![i](https://t.example/p.png)", "&lt;", "&#27;[2J",
    "[l](javascript:alert(1))", "[l](https://e.example)", "[a]: https://e.example", '"', "'", "\\", "    ", "\t",
    "\x1b]52;c;ZXZpbA==\x07", "\x1b[2J", "\x9b31m", "\x85", "\u2028", "\u202e", "\ufeff", "\x00", "\r\n", "\r```\r",
    "é", "漢字", "🙂", "a", "word ", "\n\n",
)  # fmt: skip
_SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"pinned_time": 7, "temperature": 0.5, "tools": ["read_file"], "system": "</b>", "approve": "auto-read"},
)

texts = st.one_of(
    st.lists(st.sampled_from(HOSTILE), max_size=8).map("".join),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=40),
)
_names = texts.filter(lambda text: text.isprintable()).map(lambda text: text.strip()[:40])


@st.composite
def messages_of(draw: st.DrawFn, number: int, parents: Sequence[str | None]) -> Message:
    role = draw(st.sampled_from(["system", "user", "assistant", "tool"]))
    calls = st.lists(st.builds(ToolCall, texts, texts, texts), max_size=2)
    return Message(
        id=f"M{number:05}",
        session="S",
        parent=draw(st.sampled_from(parents)),
        role=role,  # type: ignore[arg-type]
        content=draw(texts),
        reasoning=draw(st.none() | texts),
        tool_calls=tuple(draw(calls)),
        tool_call_id=draw(st.none() | texts),
        state=draw(st.sampled_from(["complete", "interrupted", "failed"])),
        finish_reason=draw(st.none() | st.sampled_from(["stop", "length"])),
        created=draw(st.integers(0, 1 << 47)),
        status=draw(st.none() | st.sampled_from(["ok", "denied", "error"])),
        detail=draw(texts),
        turn=draw(st.sampled_from(["", "T1", "T2"])),
        edited=draw(st.booleans()),
    )


@st.composite
def _chains(draw: st.DrawFn) -> list[Message]:
    messages: list[Message] = []
    parents: list[str | None] = [None]
    for number in range(draw(st.integers(0, 12))):
        # Often the newest: chains are what conversations are made of.
        newest = draw(st.booleans())
        messages.append(draw(messages_of(number, parents[-1:] if newest else parents)))
        parents.append(messages[-1].id)
    return messages


@st.composite
def ledgers_of(draw: st.DrawFn, messages: Sequence[Message]) -> list[tuple[str, Ledger]]:
    found = []
    for message in messages:
        for identity in draw(st.sets(st.sampled_from(["one", "two"]))):
            ids = draw(st.lists(st.integers(0, 3), max_size=6))
            fed = draw(st.integers(0, len(ids)))
            runs = (Run(fed, single=draw(st.booleans())),) if fed else ()
            found.append(
                (message.id, Ledger(identity, tuple(ids), draw(st.integers(0, len(ids))), runs, "{}"))
            )
    return found


@st.composite
def trees(draw: st.DrawFn, *, ledgers: bool = False) -> SessionTree:
    """Return a session of up to a dozen messages: branches, several roots, a head anywhere or nowhere."""
    messages = draw(_chains())
    heads = {}
    if draw(st.booleans()) and messages:
        heads[MAIN] = draw(st.sampled_from(messages)).id
    kept = draw(ledgers_of(messages)) if ledgers else []
    session = Session(
        "S", draw(_names), "/secret/folder", 1, 2, draw(_names), draw(st.sampled_from(_SETTINGS))
    )
    return SessionTree(session, tuple(messages), heads, tuple(kept))


def planted(history: History, tree: SessionTree) -> SessionTree:
    """Store a tree and read it back as it is stored, ledgers included."""
    return history.tree(history.plant(tree, folder=Path("/here")).id, ledgers=True)
