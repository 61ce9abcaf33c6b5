"""Words and clauses of everyday English, out of the base model's own answers to the chat questions.

Names, contents and search terms made of a few hundred listed words alone teach to write those words; a name that is
copied has to be any word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from training import words as lists
from training.cases import DATA
from training.lines import read_lines

_CLAUSE = re.compile(r"[A-Za-z][A-Za-z' ]+")
_WORD = re.compile(r"[a-z]{4,11}")


@dataclass(frozen=True, slots=True)
class Everyday:
    """``words`` of four to eleven small letters; ``clauses`` of three to nine words, without a mark in them."""

    words: tuple[str, ...]
    clauses: tuple[str, ...]


@cache
def everyday() -> Everyday:
    """Return them, each once, in an order that is always the same."""
    words: dict[str, None] = {}
    clauses: dict[str, None] = {}
    for each in read_lines(DATA / "chat_answers.jsonl"):
        for part in re.split(r"[.,;:!?()\[\]\"*\n\d-]+", each["answer"]):
            clause = part.strip()
            if not _CLAUSE.fullmatch(clause) or "'" in clause:
                continue
            said = clause.split()
            words.update((word, None) for word in said if _WORD.fullmatch(word) and word not in lists.COMMON)
            if 3 <= len(said) <= 9:
                clauses[clause] = None
    return Everyday(tuple(words), tuple(clauses))
