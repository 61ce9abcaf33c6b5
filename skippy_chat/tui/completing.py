"""The list over the box: commands and prompts behind a slash, files behind an ``@``.

Invariant: no key waits for it, what it offers fits the very text in the box or it is gone, and Enter sends what is
typed unless an offer was chosen with the arrow keys.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from textual.content import Content
from textual.widgets import Static

from skippy_chat.completions.source import Offers, wants_offers
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.display import visible_line

_ROWS = 8
_LONGEST = 32 << 10  # characters; in a longer text nothing is looked for
_KEYS = "Tab takes it · Up, Down choose · Esc closes"

Look = Callable[[str, int], "Offers | None"]


class OfferList(Static):
    """Shows offers, a few at a time."""

    can_focus = False

    def __init__(self) -> None:
        super().__init__(id="offers", markup=False)
        self.display = False

    def put(self, offers: Offers | None, chosen: int) -> None:
        """Show these offers, one of them chosen (-1: none)."""
        self.display = offers is not None
        if offers is None:
            return
        rows = max(2, min(_ROWS, self.app.size.height // 3 - 1))
        first = max(0, min(chosen - rows // 2, len(offers.offers) - rows))
        shown = offers.offers[first : first + rows]
        width = max(20, self.app.size.width - 4)
        names = [visible_line(each.shown, width // 2) for each in shown]
        column = max(len(each) for each in names) + 2
        lines = []
        for at, (name, offer) in enumerate(zip(names, shown, strict=True), first):
            mark, style = ("▸ ", "bold $text-primary") if at == chosen else ("  ", "")
            about = visible_line(offer.about, max(1, width - column - 2))
            lines.append(Content.assemble((f"{mark}{name:<{column}}", style), (about, "dim")))
        more = len(offers.offers) - len(shown)
        keys = f"{more} more · {_KEYS}" if more else _KEYS
        lines.append(Content.styled(visible_line(keys, width), "dim"))
        self.update(Content("\n").join(lines))


class Completing:
    """Looks for offers when the text changes, and takes keys while there are some."""

    def __init__(self, composer: Composer, shown: OfferList, look: Look) -> None:
        """``look`` may wait for the disk; it runs in a thread."""
        self._composer = composer
        self._list = shown
        self._look = look
        self._offers: Offers | None = None
        self._chosen = -1
        self._sought: tuple[str, int] | None = None
        """The text, and the cursor in it, that offers are looked for; what still shows is for the text before."""
        self._take_first = False

    @property
    def open(self) -> bool:
        """Whether there are offers."""
        return self._offers is not None

    def changed(self) -> None:
        """Be told that the text in the box is another."""
        composer = self._composer
        text, cursor = composer.text, 0
        looking = composer.by_hand and len(text) <= _LONGEST
        if looking:
            cursor = composer.cursor_offset
        if not looking or not wants_offers(text, cursor):
            self.close()
            return
        self._sought, self._chosen, self._take_first = (text, cursor), -1, False
        composer.run_worker(self._find(text, cursor), group="offers", exclusive=True)

    def key(self, key: str) -> bool:
        """Take a key if it means something to the list."""
        if self._sought is not None and key == "tab":
            self._take_first = True  # as soon as they are there
            return True
        offers = self._offers
        if offers is None:
            return False
        if self._sought is not None and key in ("up", "down"):
            return True
        if key in ("up", "down"):
            step = 1 if key == "down" else -1
            self._chosen = (self._chosen + step) % len(offers.offers) if self._chosen >= 0 or step > 0 else -1
            if self._chosen < 0:
                self._chosen = len(offers.offers) - 1
            self._list.put(offers, self._chosen)
            return True
        if key == "escape":
            self.close()
            return True
        if key == "tab" or (key == "enter" and self._chosen >= 0):
            self._take(offers)
            return True
        if key in ("enter", "left", "right", "home", "end"):
            self.close()
        return False

    def close(self) -> None:
        """Take the list away."""
        self._offers, self._chosen, self._sought = None, -1, None
        if self._list.display:
            self._list.put(None, -1)

    async def _find(self, text: str, cursor: int) -> None:
        found = await asyncio.to_thread(self._look, text, cursor)
        composer = self._composer
        if self._sought != (text, cursor):
            return  # another look is on its way, or none is wanted any more
        if (composer.text, composer.cursor_offset) != (text, cursor) or composer.disabled:
            found = None
        self._sought = None
        if found is None or _says_nothing_new(found, text):
            self.close()
        elif self._take_first:
            self._offers = found
            self._take(found)
        else:
            self._offers, self._chosen = found, -1
            self._list.put(found, -1)

    def _take(self, offers: Offers) -> None:
        offer = offers.offers[max(0, self._chosen)]
        self.close()
        self._composer.exchange(offers.start, offers.end, offer.text)


def _says_nothing_new(offers: Offers, text: str) -> bool:
    typed = text[offers.start : offers.end]
    return all(each.text.rstrip() == typed and not each.about for each in offers.offers[:1]) and typed != ""
