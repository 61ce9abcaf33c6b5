"""Sentences with choices and gaps, from the text files of one folder.

Invariant: what stands in the gaps is known apart from the sentence, so that a test can compare sentences alone with
those of the test set.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

_CHOICE = re.compile(r"\(([^()]*\|[^()]*)\)")
_GAP = re.compile(r"\{([a-z]+)\}")
_FOLDER = Path(__file__).with_name("sentences")
GAP = "_"


@dataclass(frozen=True, slots=True)
class Sentence:
    """A filled-in sentence; ``bare`` is the same with ``_`` in the gaps, ``rest`` what stood behind its bar."""

    text: str
    bare: str
    rest: str = ""


class Wordings:
    """All sections by name."""

    def __init__(self, folder: Path = _FOLDER) -> None:
        self.sections: dict[str, list[str]] = {}
        for path in sorted(folder.glob("*.txt")):
            lines: list[str] = []  # those before the first section say what the file is
            for line in path.read_text(encoding="utf-8").split("\n"):
                if line.startswith("["):
                    lines = self.sections[line.strip("[]")] = []
                elif line.strip():
                    lines.append(line)

    def pick(self, section: str, random: Random, values: Mapping[str, object] | None = None) -> Sentence:
        """Return one of a section's sentences, its choices made and gaps filled from ``values``."""
        line = random.choice(self.sections[section])
        while choice := _CHOICE.search(line):
            chosen = random.choice(choice[1].split("|"))
            line = line[: choice.start()] + chosen + line[choice.end() :]
        line, _, rest = line.partition("|")
        line = re.sub(r" {2,}", " ", line).strip().replace("\\n", "\n")
        known = {} if values is None else values

        def fill(text: str) -> str:
            return _GAP.sub(lambda gap: str(known[gap[1]]), text)

        return Sentence(fill(line), _GAP.sub(GAP, line), fill(rest))


def spoken(sentence: Sentence, wordings: Wordings, random: Random) -> Sentence:
    """Return a sentence as people type it: with an opening or a closing, a capital or none, a full stop or none."""
    text, bare = sentence.text, sentence.bare
    if random.random() < 0.1:
        opening = random.choice(wordings.sections["opening"])
        text, bare = f"{opening} {text}", f"{opening} {bare}"
    ends = text[-1:] in ".?!:=" or bare.endswith(GAP)
    if random.random() < 0.55 and text[0].islower() and not bare.startswith(GAP):
        text = text[0].upper() + text[1:]
    if not ends and random.random() < 0.5:
        text, bare = f"{text}.", f"{bare}."
    elif text.endswith(".") and random.random() < 0.3 and not bare.endswith(GAP):
        text, bare = text[:-1], bare[:-1]
    if random.random() < 0.08 and not bare.endswith(GAP):
        if text[-1] not in ".?!:":
            text, bare = f"{text}.", f"{bare}."
        closing = random.choice(wordings.sections["closing"])
        text, bare = f"{text} {closing}", f"{bare} {closing}"
    if random.random() < 0.1:
        context = random.choice(wordings.sections["context"])
        text, bare = f"{context} {text}", f"{context} {bare}"
    return Sentence(text, bare, sentence.rest)
