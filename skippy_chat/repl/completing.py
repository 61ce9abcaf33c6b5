"""What Tab offers at the prompt: the shared offers, in prompt_toolkit's form.

Invariant: what is shown of an offer was cleaned; names of files are somebody else's text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from typing_extensions import override

from skippy_chat.completions.source import Offers
from skippy_chat.repl.calls import one_line


class OffersCompleter(Completer):
    """Asks ``offers`` (text, cursor); it may look at the disk, so it is asked in a thread."""

    def __init__(self, offers: Callable[[str, int], Offers | None]) -> None:
        self._offers = offers

    @override
    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Yield what fits at the cursor, best first."""
        found = self._offers(document.text, document.cursor_position)
        for offer in () if found is None else found.offers:
            yield Completion(
                offer.text,
                start_position=found.start - document.cursor_position if found else 0,
                display=one_line(offer.shown),
                display_meta=one_line(offer.about),
            )
