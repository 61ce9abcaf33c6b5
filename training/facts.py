"""Files with a fact in them that can be asked for, computed with or changed."""

from __future__ import annotations

from dataclasses import dataclass

from training import words
from training.conversation import Supplies


@dataclass(frozen=True, slots=True)
class FactFile:
    """A file's text, and one of its facts; ``line`` is the fact's line as it stands."""

    path: str
    text: str
    key: str
    value: str
    kind: str
    line: str


def fact_file(supplies: Supplies, kinds: tuple[str, ...] = ()) -> FactFile:
    """Return a file with two to six facts of different keys, one of them chosen (of ``kinds``, if given)."""
    random, values = supplies.random, supplies.values
    keys = list(words.KEYS)
    random.shuffle(keys)
    chosen = keys[: random.randint(2, 6)]
    if kinds and not any(kind in kinds for _, kind in chosen):
        chosen.append(random.choice([each for each in keys if each[1] in kinds]))
    mark = random.choice((": ", ": ", " = ", "=", ": ", ",", "\t", " - "))
    upper = random.random() < 0.3
    pairs = [(key, values.of_kind(kind), kind) for key, kind in chosen]
    lines = [f"{key.capitalize() if upper else key}{mark}{value}" for key, value, _ in pairs]
    fitting = [index for index, pair in enumerate(pairs) if not kinds or pair[2] in kinds]
    picked = random.choice(fitting)
    key, value, kind = pairs[picked]
    head = random.choice(
        ("", "", f"# {values.noun().title()}\n", f"[{values.rare()}]\n", f"{values.sentence()}\n")
    )
    return FactFile(values.path(), head + "\n".join(lines) + "\n", key, value, kind, lines[picked])


@dataclass(frozen=True, slots=True)
class Sum:
    """A file of figures, what is asked of them in words, and the expression that answers it."""

    path: str
    text: str
    asked: str
    expression: str


def sum_file(supplies: Supplies) -> Sum:
    """Return a file of named figures, and a question about one or two of them."""
    random, values = supplies.random, supplies.values
    count = random.randint(2, 5)
    names = (
        random.sample(words.NOUNS, count) if random.random() < 0.5 else [values.rare() for _ in range(count)]
    )
    if random.random() < 0.25:
        names = random.sample(words.PEOPLE, count)
    figures = [values.amount() if random.random() < 0.4 else str(values.number()) for _ in names]
    mark = random.choice((": ", ",", " ", " = ", "\t", ", "))
    unit = random.choice(("", "", "", " euro", " kg", " km", " hours", " litres"))
    head = random.choice(("", "", f"name{mark}value\n" if mark == "," else "", f"{values.noun().title()}\n"))
    text = (
        head
        + "\n".join(f"{name}{mark}{figure}{unit}" for name, figure in zip(names, figures, strict=True))
        + "\n"
    )
    (one, a), (two, b) = random.sample(list(zip(names, figures, strict=True)), 2)
    times = random.randint(2, 40)
    percent = random.randint(1, 60)
    asked, expression = random.choice(
        (
            (f"the sum of {one} and {two}", f"{a} + {b}"),
            (f"{one} plus {two}", f"{a} + {b}"),
            (f"the total of {one} and {two}", f"{a} + {b}"),
            (f"how much {one} and {two} are together", f"{a} + {b}"),
            (f"the difference between {one} and {two}", f"{a} - {b}"),
            (f"{one} minus {two}", f"{a} - {b}"),
            (f"{one} without {two}", f"{a} - {b}"),
            (f"{times} times {one}", f"{times} * {a}"),
            (f"{one} times {times}", f"{a} * {times}"),
            (f"{one} multiplied by {two}", f"{a} * {b}"),
            (f"{one} divided by {times}", f"{a} / {times}"),
            (f"{one} shared by {times} people", f"{a} / {times}"),
            (f"half of {one}", f"{a} / 2"),
            (f"double {one}", f"{a} * 2"),
            (f"{percent} percent of {one}", f"{a} * {percent} / 100"),
            ("the sum of all values", " + ".join(figures)),
            ("the total", " + ".join(figures)),
            ("everything together", " + ".join(figures)),
            (f"the average of {one} and {two}", f"({a} + {b}) / 2"),
        )
    )
    return Sum(values.path(), text, asked, expression)
