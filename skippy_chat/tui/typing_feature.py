"""What helps a person type: the list over the box, searching what was typed, prompts of their own, AGENTS.md, alerts.

Invariant: what waits for the disk runs in a thread, and the box can be typed into meanwhile.
"""

from __future__ import annotations

import asyncio
import re

from skippy_chat.agent.protocol import Conversation
from skippy_chat.agents_wording import TITLE, agents_line, agents_told
from skippy_chat.completions.aids import TypingAids
from skippy_chat.completions.source import Offered, Offers
from skippy_chat.errors import ConfigError
from skippy_chat.tui.alerts import Alerts
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.completing import Completing, OfferList
from skippy_chat.tui.typed_search import TypedSearch

_LONGEST = 80
_CHOICE = re.compile(r"\[?([a-z0-9-]+(?:\|[a-z0-9-]+)+)")


def _install(parts: Parts) -> None:
    parts.opened.append(lambda conversation: _opened(parts, conversation))
    aids = parts.services.aids
    if aids is not None:
        shown = OfferList()
        parts.app.mount(shown, before="#entry")
        completing = Completing(parts.composer, shown, lambda text, cursor: _look(aids, text, cursor))
        parts.composer.first = completing.key
        parts.typed.append(completing.changed)
    if parts.services.notifier is not None:
        alerts = Alerts(parts, parts.services.notifier(lambda text: _write(parts, text)))
        parts.turns.began.append(alerts.began)
        parts.turns.heard.append(alerts.heard)
        parts.settled.append(alerts.settled)


def _opened(parts: Parts, conversation: Conversation) -> None:
    if line := agents_line(conversation.session):
        parts.bar.change(hint=line)


def _look(aids: TypingAids, text: str, cursor: int) -> Offers | None:
    return aids.offers(text, cursor, _commands())


def _commands() -> list[Offered]:
    from skippy_chat.tui.commands import table  # noqa: PLC0415 - which is made of this feature, too

    commands = {each.name: each for each in table().values()}.values()
    return [Offered(each.name, each.does, each.usage, each.words or _words(each.usage)) for each in commands]


def _words(usage: str) -> tuple[str, ...]:
    found = _CHOICE.match(usage)
    return () if found is None else tuple(found[1].split("|"))


def _write(parts: Parts, text: str) -> None:
    driver = parts.app._driver
    if driver is not None:
        driver.write(text)


def _history(parts: Parts, argument: str) -> bool:
    aids = parts.services.aids
    if aids is None:
        parts.bar.change(hint="Nothing of what is typed is kept here.")
        return False
    if parts.composer.disabled:
        parts.bar.change(hint="Read-only: go on in a copy first (f), then write.")
        return False
    text = parts.composer.text
    words = argument or (text if "\n" not in text and len(text) <= _LONGEST else "")

    def taken(text: str | None) -> None:
        if text is not None:
            parts.composer.put(text)
            parts.bar.change(hint="")
        parts.composer.focus()

    parts.app.push_screen(TypedSearch(aids.typed, words, parts.services.now_ms), taken)
    return True


def _prompts(parts: Parts, _argument: str) -> bool:
    aids = parts.services.aids
    if aids is None:
        parts.bar.change(hint="There are no prompts here.")
        return False
    parts.app.run_worker(_show_prompts(parts, aids), group="prompts", exclusive=True)
    return True


async def _show_prompts(parts: Parts, aids: TypingAids) -> None:
    try:
        told = await asyncio.to_thread(aids.prompts_told, {each.name for each in _commands()})
    except ConfigError as error:
        parts.bar.change(hint=str(error))
        return
    parts.show("Prompts of your own", told)


def _agents(parts: Parts, _argument: str) -> None:
    conversation = parts.turns.conversation
    if conversation is not None:
        parts.show(TITLE, agents_told(conversation.session))


TYPING = Feature(
    (
        AppCommand("history", "search what you typed before", _history, "[WORDS]", key="ctrl+s,f3"),
        AppCommand("prompts", "your own prompts, and where they lie", _prompts),
        AppCommand("agents", "what of AGENTS.md is in the system prompt", _agents, needs="open"),
    ),
    _install,
)
