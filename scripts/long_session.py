"""A session as long as a project's: 300 messages and over 100,000 tokens of prose, lists, tables and code.

Invariant: the same messages in every run; how many tokens they are is counted by the default model's own tokeniser.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from skippy_chat.chat.messages import Role
from skippy_chat.models.resolve import resolve_model
from skippy_chat.native.library import load
from skippy_chat.native.model import Model
from skippy_chat.paths import Paths

MESSAGES = 300
LAST = "so ends the story"
"""What the last message ends with, in words that stand nowhere else."""

_SENTENCES = (
    "The tide comes in twice a day and nobody on the whole island can say for sure why it does so.",
    "The **keeper** writes it down in his `log`, line after line, and goes to bed when the lamp is lit.",
    "In *winter* the boat comes once a month, if the sea lets it, with oil, flour and letters.",
    "A lens of the first order throws the light of one flame more than twenty miles out.",
    "Nobody was surprised when the supply ship arrived two days late and short of everything.",
)
_LIST = """\
- trim the wick, and see that the oil is warm enough to flow
- wind the clockwork: **four hours** a turn
- write wind, weather and ships into the `log`
  1. the hour
  2. the ship, and where she is bound
"""
_TABLE = """\
| light | height | range | character |
|---|---:|---:|---|
| north point | 41 m | 19 miles | two flashes every ten seconds |
| harbour mole | 12 m | 8 miles | red, occulting every four seconds |
"""
_CODE = """\
```python
def visible(height: float, eye: float = 2.0) -> float:
    \"\"\"Return how far a light of that height in metres is seen, in nautical miles.\"\"\"
    reach = 2.08 * (height**0.5 + eye**0.5)
    for step in range(10):
        if reach < step:  # never so near
            raise ValueError(f"too near: {step}")
    return round(reach, 1)
```
"""
_PARTS = (_LIST, _TABLE, _CODE)


def long_messages(messages: int = MESSAGES, parts: int = 10) -> list[tuple[Role, str]]:
    """Return so many messages, by turns a question and an answer of so many blocks."""
    return [
        ("assistant", _answer(number, parts, last=number == messages - 1))
        if number % 2
        else (
            "user",
            f"Question {number // 2 + 1}: what should the keeper know of the light, and of the sea?",
        )
        for number in range(messages)
    ]


def tokens_of(messages: Sequence[tuple[Role, str]]) -> int:
    """Count the tokens of all the texts, without what a chat template adds."""
    path = resolve_model(None, cache_dir=Paths.resolve(env=os.environ).cache_dir, progress=lambda *_: None)
    model = Model(load(), path, vocab_only=True)
    try:
        return sum(len(model.tokenize(text, special=False)) for _role, text in messages)
    finally:
        model.close()


def _answer(number: int, parts: int, *, last: bool) -> str:
    blocks = [f"## Part {number}"]
    for at in range(parts):
        begin = number + at
        said = (_SENTENCES[each % len(_SENTENCES)] for each in range(begin, begin + 3))
        blocks.append(_PARTS[(number // 2 + at) % 3] if at % 4 == 3 else " ".join(said))
    return "\n\n".join([*blocks, LAST] if last else blocks)
