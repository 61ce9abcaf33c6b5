"""Scenes without a call: requests that no tool can meet, and chat.

Chat keeps the base model's own answers; both sides of the line are trained, because a model that only learns to refuse
refuses plain questions too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from training import words
from training.conversation import Conversation, Supplies, Talk

# What a person asks of each tool, as sections of the wordings: with that tool taken away they cannot be met.
_REQUESTS = {
    "calculator": (),
    "current_time": ("time.local", "time.zone"),
    "edit_file": ("edit.change",),
    "list_directory": ("list.folder", "list.root"),
    "read_file": ("read.show", "read.fact"),
    "run_command": ("run.command",),
    "search_files": ("search.all", "search.in"),
    "write_file": ("write.file",),
}


@dataclass(frozen=True, slots=True)
class ChatPair:
    """A question and the base model's own answer."""

    question: str
    answer: str


def deed(supplies: Supplies) -> Conversation:
    """Ask for a deed that none of the tools does."""
    values, random = supplies.values, supplies.random
    talk = Talk("deed", supplies)
    sentence = talk.say(
        "refuse.deed",
        person=values.person(),
        place=random.choice(words.PLACES),
        goods=random.choice(words.GOODS),
        n=values.number(2, 90),
    )
    plain = re.sub(r"^(Hey|Hi|Hello|OK|Ok so|Next:|Now|And|Well|Hm|Sorry|Alright),? ", "", sentence.text)
    if (
        re.match(r"(what|where|who|will|how|do I|is|the)\b", plain, re.IGNORECASE)
        or len(plain.split()) > 7
        or random.random() < 0.4
    ):
        talk.answer("refuse.short")
    else:
        done = re.sub(r"\bmy\b", "your", re.sub(r"\b(me|us)\b", "you", plain.rstrip(".!?")))
        done = done[0].lower() + done[1:]
        talk.answer("refuse.answer", deed=re.split(r"[.!?] ", done)[0])
    return talk.done()


def taken_away(supplies: Supplies, tools: Sequence[str]) -> Conversation | None:
    """Ask for what one of the built-in tools would do, were it among ``tools``; None when all of them are."""
    values, random = supplies.values, supplies.random
    missing = [
        name
        for name, sections in _REQUESTS.items()
        if sections and name not in tools and "run_command" not in tools
    ]
    if not missing:
        return None
    talk = Talk("taken_away", supplies)
    talk.say(
        random.choice(_REQUESTS[random.choice(missing)]),
        path=values.said(values.path()),
        folder=values.said(values.folder()),
        pattern=values.said(values.pattern()),
        content=values.said(values.sentence()),
        old=values.noun(),
        new=values.rare(),
        key=random.choice(words.KEYS)[0],
        command=f"{random.choice(('git', 'make', 'npm', 'pip'))} {values.noun()}",
        zone=random.choice(words.ZONES),
    )
    talk.answer("refuse.short")
    return talk.done()


def chat(supplies: Supplies, pairs: Sequence[ChatPair]) -> Conversation:
    """Ask something that needs no tool."""
    pair = supplies.random.choice(pairs)
    talk = Talk("chat", supplies)
    talk.say_text(pair.question, pair.question)
    talk.answer_text(pair.answer)
    return talk.done("base")


def copy(supplies: Supplies) -> Conversation:
    """Ask for a name letter by letter: what calls need most is to copy what was never seen."""
    values, random = supplies.values, supplies.random
    things = [
        random.choice((values.path, values.code, values.rare, values.folder, values.person))()
        for _ in range(3)
    ]
    said = [values.said(each) for each in things]
    count = random.randint(1, 3)
    talk = Talk("copy", supplies)
    talk.say_text(f"Repeat exactly: {', '.join(said[:count])}", "Repeat exactly: _")
    talk.answer_text("\n".join(f'"{each}"' for each in things[:count]))
    return talk.done()
