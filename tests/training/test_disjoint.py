"""What the model is judged by is not what it was trained on: no sentence, no run of words, no name."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from random import Random

import pytest

from training.cases import CELLS, SETS, Case, known_names, load_cases
from training.mix import Mixer
from training.questions import held_out_chat, questions
from training.quiet import ChatPair
from training.values import Values
from training.wordings import GAP, Wordings, spoken

TIMES = 600
RUN = 5  # words
_VALUE = re.compile(r"[\"'`].*?[\"'`](?=\W|$)|\S*[\d/_.][\w/.#-]*\S*|\b[A-Z]\S+")


@pytest.fixture(scope="module")
def sentences() -> list[str]:
    """Whatever people say in the training data, with gaps for values: every section, over and over."""
    wordings, random = Wordings(), Random(1)
    said = [
        name
        for name in wordings.sections
        if not name.startswith(("answer.", "refuse.answer", "refuse.short", "persona"))
    ]
    values: dict[str, object] = defaultdict(lambda: GAP)
    return [
        spoken(wordings.pick(section, random, values), wordings, random).bare
        for section in said
        for _ in range(TIMES)
    ]


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    return [case for which, cell in product(SETS, CELLS) for case in load_cases(which, cell)]


def test_no_sentence_of_one_is_a_sentence_of_the_other(sentences: list[str], cases: list[Case]) -> None:
    trained = {plain(sentence) for sentence in (*sentences, *questions(), *held_out_questions())}
    shared = sorted(text for case in cases for turn in case.turns if (text := plain(turn)) in trained)
    assert shared == []


def test_five_words_in_a_row_are_never_shared(sentences: list[str], cases: list[Case]) -> None:
    """Where calls are due or refused; questions of plain chat are common property, and only compared whole."""
    trained = {run for bare in sentences for run in runs(bare.replace(GAP, " | "))}
    assert len(trained) > 1000
    shared = sorted(
        {
            (case.name, " ".join(run))
            for case in cases
            if case.cell not in ("no_tool_due", "plain_chat")
            for turn in case.turns
            for run in runs(_VALUE.sub(" | ", turn[:1].lower() + turn[1:]))
            if run in trained
        }
    )
    assert shared == []


def test_no_file_or_folder_of_the_sets_has_a_name_that_was_trained() -> None:
    values = Values(Random(2), avoid=known_names())
    made = {values.path().rsplit("/", 1)[-1].lower() for _ in range(20_000)}
    made |= {part.lower() for _ in range(20_000) for part in values.folder().split("/")}
    assert len(made) > 20_000
    assert sorted(known_names() & made) == []


def test_most_sentences_of_the_training_data_differ(sentences: list[str]) -> None:
    assert len({plain(sentence) for sentence in sentences}) > 8000


def test_what_is_held_out_is_no_question_of_the_training_data() -> None:
    assert not {plain(each) for each in held_out_questions()} & {plain(each) for each in questions()}


def test_a_batch_does_not_depend_on_those_before(tmp_path: Path) -> None:
    pairs = [ChatPair(question, "Well.") for question in questions()]
    one = Mixer(tmp_path / "1", pairs, seed=77, size=8)
    first = [one.batch(number) for number in range(4)]
    two = Mixer(tmp_path / "2", pairs, seed=77, size=8)
    assert two.batch(3) == first[3]
    assert len({repr(batch.conversations) for batch in first}) == 4


def test_calls_of_the_training_data_do_what_was_asked(tmp_path: Path) -> None:
    """A call that failed is followed by an answer that says so, and few fail."""
    mixer = Mixer(tmp_path, [ChatPair("What is tea?", "A drink.")], seed=5, size=8)
    talks = [talk for number in range(12) for talk in mixer.batch(number).conversations]
    results = [message for talk in talks for message in talk.messages if message["role"] == "tool"]
    failed = [
        each["content"]
        for each in results
        if "were not run" in each["content"] or "must fit" in each["content"]
    ]
    assert failed == []
    assert len(results) > 30


def held_out_questions() -> list[str]:
    return [question for question, _ in held_out_chat()]


def plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))


def runs(text: str) -> Iterator[tuple[str, ...]]:
    """Yield each run of words that no gap, and no mark that ends a sentence, stands in."""
    for piece in re.split(r"[|.?!:;]", text.lower()):
        words = re.findall(r"[\w']+", piece)
        for start in range(len(words) - RUN + 1):
            yield tuple(words[start : start + RUN])
