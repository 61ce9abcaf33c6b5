"""Names, figures and texts for the training data, as varied as what people have on their disks.

Rare names are most of it on purpose: a model that has seen ``oatmeal`` a thousand times writes it for ``oats``
unless it has learnt to copy letter by letter.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from random import Random

from training import words


class Values:
    """Draws values from ``random``; names in ``avoid`` (those of the test set) are never given."""

    def __init__(self, random: Random, avoid: Collection[str] = ()) -> None:
        self.random = random
        self._avoid = {each.lower() for each in avoid}

    def chance(self, share: float) -> bool:
        """Return True in that share of calls."""
        return self.random.random() < share

    def noun(self) -> str:
        """Return a common word."""
        return self.random.choice(words.NOUNS)

    def rare(self) -> str:
        """Return a word that nobody has seen."""
        count = self.random.choice((2, 2, 3))
        made = "".join(self.random.choice(words.SYLLABLES) for _ in range(count))
        return made + self.random.choice(words.ENDINGS)

    def person(self) -> str:
        """Return a first name, or a full one."""
        first = self.random.choice(words.PEOPLE) if self.chance(0.8) else self.rare().title()
        return f"{first} {self.surname()}" if self.chance(0.35) else first

    def surname(self) -> str:
        """Return a family name."""
        return self.random.choice(words.SURNAMES) if self.chance(0.8) else self.rare().title()

    def number(self, low: int = 2, high: int = 9999) -> int:
        """Return a whole number, small ones as often as large ones."""
        return self.random.randint(low, self.random.choice((low + 10, low + 98, high)))

    def amount(self) -> str:
        """Return a figure, with a fraction more often than not."""
        return (
            f"{self.number(1, 4000)}.{self.random.randint(0, 99):02d}"
            if self.chance(0.6)
            else str(self.number())
        )

    def date(self) -> str:
        """Return a date in one of the usual forms."""
        day, month, year = (
            self.random.randint(1, 28),
            self.random.randint(1, 12),
            self.random.randint(1995, 2031),
        )
        return self.random.choice(
            (
                f"{year}-{month:02d}-{day:02d}",
                f"{day} {words.MONTHS[month - 1]}",
                f"{day} {words.MONTHS[month - 1]} {year}",
                f"{words.MONTHS[month - 1]} {day}",
            )
        )

    def code(self) -> str:
        """Return something like a serial number or a password."""
        letters = "".join(
            self.random.choice("ABCDEFGHKLMNPRSTUVWXYZ") for _ in range(self.random.randint(1, 3))
        )
        return self.random.choice(
            (
                f"{letters}-{self.number(10, 99999)}",
                f"{letters}{self.number(10, 999)}",
                f"{self.rare()}-{self.noun()}-{self.number(2, 99)}",
                f"{self.number(10, 99)}-{self.number(1000, 9999)}",
            )
        )

    def of_kind(self, kind: str) -> str:
        """Return a value for a key of that kind."""
        pick = self.random.choice
        makers: dict[str, Callable[[], str]] = {
            "number": lambda: str(self.number()),
            "amount": self.amount,
            "word": lambda: self.noun() if self.chance(0.5) else self.rare(),
            "place": lambda: pick(words.PLACES),
            "person": self.person,
            "date": self.date,
            "code": self.code,
            "version": lambda: ".".join(str(self.random.randint(0, 19)) for _ in range(pick((2, 3)))),
            "host": lambda: f"{self.rare()}.{self.noun()}.{pick(('net', 'org', 'local', 'io'))}",
            "street": lambda: (
                f"{pick(words.ADJECTIVES).title()} {self.noun().title()} Road {self.number(1, 99)}"
            ),
            "phone": lambda: f"{self.number(10, 99)} {self.number(100, 999)} {self.number(1000, 9999)}",
            "email": lambda: f"{self.rare()}@{self.noun()}.{pick(('net', 'org', 'com'))}",
            "title": lambda: f"{pick(words.ADJECTIVES).title()} {self.noun()} and {self.noun()}",
        }
        return makers[kind]()

    def part(self) -> str:
        """Return a word that names are made of."""
        source = self.random.randrange(4)
        if source == 0:
            return self.noun()
        if source == 1:
            return self.rare()
        return self.random.choice(words.OFFICE if source == 2 else words.CODE)

    def stem(self) -> str:
        """Return a file's name without its ending."""
        pick, count = self.random.choice, self.random.randint
        one = self.part()
        two = self.part() if self.chance(0.7) else pick(words.ADJECTIVES)
        mark = pick(("_", "-", "_", "-", " ", "", "."))
        year, number = count(2015, 2030), self.number(1, 999)
        styles = (
            (6, one),
            (5, f"{one}{mark}{two}"),
            (2, f"{one.title()}{mark}{two.title()}"),
            (2, f"{one}{mark or '_'}{year}"),
            (2, f"{one}{mark or '-'}{number}"),
            (1, f"{year}-{count(1, 12):02d}-{count(1, 28):02d}{mark or '-'}{one}"),
            (1, f"{one}_{self.surname()}"),
            (1, f"{one.upper()}{mark}{number}"),
            (1, f"{one}{mark or '_'}v{count(1, 12)}"),
        )
        return self.random.choices([name for _, name in styles], [weight for weight, _ in styles])[0]

    def file_name(self, suffix: str = "") -> str:
        """Return a file name as people have them."""
        while True:
            if not suffix and self.chance(0.04):
                name = self.random.choice(words.FIXED)
            else:
                ending = suffix or self.random.choice(
                    words.TEXT_SUFFIXES if self.chance(0.65) else words.CODE_SUFFIXES
                )
                name = f"{self.stem()}.{ending}"
            if name.lower() not in self._avoid:
                return name

    def folder(self) -> str:
        """Return a folder, now and then in another one."""
        pick = self.random.choice
        while True:
            name = self.part()
            if self.chance(0.12):
                name = f"{name}{pick((' ', '_', '-'))}{self.number(1, 2030)}"
            if self.chance(0.1):
                name = name.title()
            if self.chance(0.25):
                name = f"{self.part()}/{name}"
            if not self._avoid.intersection(name.lower().split("/")):
                return name

    def path(self, suffix: str = "") -> str:
        """Return a file's path, half of them in folders."""
        name = self.file_name(suffix)
        return f"{self.folder()}/{name}" if self.chance(0.5) else name

    def said(self, name: str) -> str:
        """Return a name as it stands in a sentence: bare or quoted, one with spaces mostly quoted."""
        marks = ('"', "'", "`")
        if self.chance(0.8 if " " in name else 0.25):
            mark = self.random.choice(marks)
            return f"{mark}{name}{mark}" if mark not in name else name
        return name

    def sentence(self) -> str:
        """Return a short text as people leave themselves."""
        pick = self.random.choice
        does, do = pick(words.VERBS)
        adjective, noun, other = pick(words.ADJECTIVES), self.noun(), self.noun()
        minutes = ("00", "15", "30", "45")
        return pick(
            (
                f"{self.person()} {does} the {adjective} {noun} on {pick(words.DAYS)}",
                f"{do} the {noun} before {self.date()}",
                f"{adjective} {noun}, {pick(words.ADJECTIVES)} {other}",
                f"The {noun} is {adjective} and the {other} is {pick(words.ADJECTIVES)}.",
                f"{noun}: {self.number()}",
                f"{self.rare()} and {self.rare()}",
                f"{do} {self.person()} about the {noun}",
                f"{self.number(2, 40)} {pick(words.THINGS)[1]} for {pick(words.PLACES)}",
                f"meet {self.person()} in {pick(words.PLACES)} at {self.random.randint(1, 23)}:{pick(minutes)}",
                f"{pick(words.KEYS)[0]} {self.code()}",
                f"No {noun} without a {other}!",
                self.code(),
                noun,
                str(self.number()),
            )
        )

    def pattern(self) -> str:
        """Return something to search for."""
        pick = self.random.choice
        return pick(
            (
                self.noun,
                self.rare,
                self.person,
                self.surname,
                self.code,
                lambda: f"{pick(words.CODE)}_{pick(words.CODE)}",
                lambda: f"{pick(words.CODE)}{pick(words.CODE).title()}",
                f"{self.noun()}_{self.rare()}".upper,
                lambda: pick(("HACK", "WARNING", "BUG", "DEBUG", "deprecated", "import os", "return None")),
                lambda: f"{pick(words.ADJECTIVES)} {self.noun()}",
                lambda: str(self.number(10, 9999)),
                lambda: pick(words.PLACES),
                lambda: f"{self.noun().title()} {self.noun().title()}",
            )
        )()

    def text(self, lines: int | None = None) -> str:
        """Return the text of a file that nothing is asked about."""
        count = lines or self.random.randint(1, 5)
        return "\n".join(self.sentence() for _ in range(count)) + "\n"

    def others(self, folder: str = "", count: int | None = None) -> dict[str, str]:
        """Return files that lie about, in ``folder`` or at the top."""
        prefix = f"{folder}/" if folder else ""
        number = self.random.randint(0, 4) if count is None else count
        return {f"{prefix}{self.file_name()}": self.text() for _ in range(number)}
