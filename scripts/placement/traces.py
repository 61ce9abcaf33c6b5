"""Conversations as a store sees them: made up, seeded, and measured in tokens and cuts only.

An edge is a label, a length and the cut that ends it: equal labels below equal parents are equal tokens. Long texts
come in edges of ``GRID_TOKENS``, as the product reads them.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from skippy_chat.checkpoints.placement import GRID_TOKENS, Cut

CLOSE_TOKENS = 2
GENERATION_TOKENS = 3
CONTEXT = 250_000
"""Tokens at which a conversation has to end."""

_GENERATION, _CLOSE = -1, -2


@dataclass(frozen=True, slots=True)
class Edge:
    """Tokens from one canonical cut to the next."""

    label: int
    tokens: int
    cut: Cut


@dataclass(frozen=True, slots=True)
class Turn:
    """A prompt and its answer; ``fresh`` says that a new process asks, whose lane is empty."""

    prompt: tuple[Edge, ...]
    answer: tuple[Edge, ...]
    fresh: bool = False

    @property
    def tokens(self) -> int:
        """Tokens of the prompt."""
        return sum(edge.tokens for edge in self.prompt)


@dataclass
class Writer:
    """Makes texts that nobody wrote before."""

    labels: Iterator[int] = field(default_factory=itertools.count)

    def text(self, tokens: int, cut: Cut) -> list[Edge]:
        """New tokens in edges, the last of which ends with ``cut``."""
        edges = []
        while tokens > 0:
            size = min(tokens, GRID_TOKENS)
            tokens -= size
            edges.append(Edge(next(self.labels), size, Cut.GRID if tokens else cut))
        return edges

    def edited(self, text: list[Edge], keep: int) -> list[Edge]:
        """The same text with everything after its first ``keep`` edges written anew."""
        rest = sum(edge.tokens for edge in text[keep:])
        return text[:keep] + self.text(rest, text[-1].cut)


@dataclass
class Talk:
    """A conversation: its system prompt and the messages since, as they are sent again."""

    writer: Writer
    system: list[Edge]
    rounds: list[tuple[list[Edge], list[Edge]]] = field(default_factory=list)

    def ask(self, message: list[Edge], answer_tokens: int, *, fresh: bool = False) -> Turn:
        """Send a message and have it answered."""
        prompt = [*self.sent(), *message]
        prompt[-1] = Edge(prompt[-1].label, prompt[-1].tokens, Cut.END_OF_PROMPT)
        prompt.append(Edge(_GENERATION, GENERATION_TOKENS, Cut.GENERATION_PROMPT))
        answer = self.writer.text(answer_tokens, Cut.END_OF_ANSWER)
        self.rounds.append((message, answer))
        return Turn(tuple(prompt), tuple(answer), fresh)

    def say(self, tokens: int, answer_tokens: int, *, fresh: bool = False) -> Turn:
        """Send a new message of so many tokens."""
        return self.ask(self.writer.text(tokens, Cut.END_OF_MESSAGE), answer_tokens, fresh=fresh)

    def sent(self) -> Iterator[Edge]:
        """Everything so far."""
        yield from self.system
        for message, answer in self.rounds:
            yield from message
            yield Edge(_GENERATION, GENERATION_TOKENS, Cut.GENERATION_PROMPT)
            yield from answer
            yield Edge(_CLOSE, CLOSE_TOKENS, Cut.END_OF_MESSAGE)

    def fork(self, rounds: int) -> Talk:
        """The same conversation up to so many rounds."""
        return Talk(self.writer, self.system, self.rounds[:rounds])

    @property
    def tokens(self) -> int:
        """Tokens so far."""
        return sum(edge.tokens for edge in self.sent())


def growing(rng: random.Random) -> Iterator[Turn]:
    """Two long chats, one after the other, until the context is full; one answer in ten is asked for again."""
    for _ in range(2):
        writer = Writer(itertools.count(rng.getrandbits(40)))
        talk = Talk(writer, writer.text(1_500, Cut.END_OF_SYSTEM))
        while talk.tokens < CONTEXT:
            yield talk.say(rng.randint(50, 1_500), rng.randint(200, 2_000), fresh=rng.random() < 0.05)
            if rng.random() < 0.1:
                message, _ = talk.rounds.pop()
                yield talk.ask(message, rng.randint(200, 2_000))


def agent(rng: random.Random) -> Iterator[Turn]:
    """Six tasks below one system prompt with tools: short calls, long results, a side request now and then."""
    writer = Writer(itertools.count(rng.getrandbits(40)))
    system = writer.text(8_000, Cut.END_OF_SYSTEM)
    for _ in range(6):
        talk = Talk(writer, system)
        yield talk.say(rng.randint(100, 2_000), 120, fresh=True)
        while talk.tokens < rng.randint(60_000, CONTEXT):
            yield talk.say(int(rng.lognormvariate(6.8, 1.0)) + 20, rng.randint(40, 300))
            if rng.random() < 0.1:
                yield talk.fork(len(talk.rounds)).say(30, 20)


def edits(rng: random.Random) -> Iterator[Turn]:
    """A chat over a long document: messages edited, mostly late ones, also in their middle; branches gone back to."""
    writer = Writer(itertools.count(rng.getrandbits(40)))
    talk = Talk(writer, writer.text(1_500, Cut.END_OF_SYSTEM))
    document = writer.text(30_000, Cut.END_OF_MESSAGE)
    yield talk.ask(document, 500)
    for _ in range(30):
        yield talk.say(rng.randint(100, 800), rng.randint(200, 1_200))
    branches = [talk]
    for _ in range(150):
        base = rng.choice(branches[-4:])
        back = min(int(rng.expovariate(1 / 4)) + 1, len(base.rounds))
        at = len(base.rounds) - back
        message = base.rounds[at][0]
        branch = base.fork(at)
        keep = rng.randrange(len(message)) if rng.random() < 0.3 else 0
        yield branch.ask(writer.edited(message, keep), rng.randint(200, 1_200), fresh=rng.random() < 0.1)
        for _ in range(rng.randint(0, 3)):
            yield branch.say(rng.randint(100, 800), rng.randint(200, 1_200))
        branches.append(branch)


def switching(rng: random.Random) -> Iterator[Turn]:
    """Five chats taking turns on one lane, each until 60,000 tokens, then five others."""
    for _ in range(3):
        writer = Writer(itertools.count(rng.getrandbits(40)))
        talks = [Talk(writer, writer.text(rng.randint(500, 6_000), Cut.END_OF_SYSTEM)) for _ in range(5)]
        while any(talk.tokens < 60_000 for talk in talks):
            talk = rng.choice([talk for talk in talks if talk.tokens < 60_000])
            yield talk.say(rng.randint(100, 3_000), rng.randint(200, 1_500))


def sessions(rng: random.Random) -> Iterator[Turn]:
    """A thousand short sessions below one system prompt of 4,000 tokens; one turn in three goes back to an old one."""
    writer = Writer(itertools.count(rng.getrandbits(40)))
    system = writer.text(4_000, Cut.END_OF_SYSTEM)
    talks: list[Talk] = []
    while len(talks) < 1_000:
        if talks and rng.random() < 0.33:
            talk = talks[-min(int(rng.paretovariate(0.7)), len(talks))]
        else:
            talk = Talk(writer, system)
            talks.append(talk)
        for turn in range(rng.randint(1, 4)):
            yield talk.say(rng.randint(30, 1_000), rng.randint(100, 1_000), fresh=turn == 0)


def questions(rng: random.Random) -> Iterator[Turn]:
    """Twelve documents of 20,000 to 100,000 tokens, each asked many questions that stand in the same message."""
    writer = Writer(itertools.count(rng.getrandbits(40)))
    system = writer.text(800, Cut.END_OF_SYSTEM)
    documents = [writer.text(rng.randint(20_000, 100_000), Cut.GRID) for _ in range(12)]
    for _ in range(150):
        document = documents[min(int(rng.expovariate(1 / 3)), 11)]
        question = writer.text(rng.randint(10, 200), Cut.END_OF_MESSAGE)
        yield Talk(writer, system).ask(
            [*document, *question], rng.randint(100, 800), fresh=rng.random() < 0.2
        )


def thinking(rng: random.Random) -> Iterator[Turn]:
    """A chat whose template drops the reasoning of earlier answers: each prompt leaves the tree at the last answer."""
    writer = Writer(itertools.count(rng.getrandbits(40)))
    talk = Talk(writer, writer.text(2_000, Cut.END_OF_SYSTEM))
    while talk.tokens < 120_000:
        yield talk.say(rng.randint(50, 1_500), rng.randint(800, 4_000))
        message, answer = talk.rounds.pop()
        short = max(100, sum(edge.tokens for edge in answer) // 4)
        talk.rounds.append((message, writer.text(short, Cut.END_OF_MESSAGE)))


TRACES: dict[str, Callable[[random.Random], Iterator[Turn]]] = {
    each.__name__: each for each in (growing, agent, edits, switching, sessions, questions, thinking)
}
