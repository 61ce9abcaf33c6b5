"""What scenes are about: command lines, expressions, changes to a text, lines that a search finds."""

from __future__ import annotations

import re

from training import words
from training.conversation import Supplies
from training.facts import fact_file


def command_line(supplies: Supplies, path: str, script: str) -> str:
    """Return a command line; most of them work on ``path`` or run ``script``."""
    values, random = supplies.values, supplies.random
    file, program = quoted_path(path), quoted_path(script)
    count, word = random.randint(1, 9), values.noun()
    suffix = random.choice(words.CODE_SUFFIXES)
    return random.choice(
        (
            f"cat {file}",
            f"head -n {count} {file}",
            f"tail -n {count} {file}",
            f"wc -l {file}",
            f"wc -c {file}",
            f"sort {file}",
            f"sort -r {file}",
            f"sort {file} | uniq",
            f"uniq -c {file}",
            f"cut -c1-{count} {file}",
            f"grep -n {word} {file}",
            f"grep -c {word} {file}",
            f"sed -n {count}p {file}",
            f"echo {word}",
            f"echo {values.rare()}",
            f"echo {values.number()} | tr 0-9 a-j",
            f"stat {file}",
            f"cat {file} | wc -w",
            f"python3 {program}",
            f"python3 {program}",
            f'python3 -c "print({values.number()} * {count})"',
            f"seq {count}",
            f"expr {values.number()} + {count}",
            f"basename {file}",
            f"git log -{count}",
            f"git diff {file}",
            f"git checkout {values.rare()}",
            f"npm run {word}",
            f"npm install {values.rare()}",
            f"make {values.rare()}",
            f"make {word}",
            f"cargo test {values.rare()}",
            f"pytest -k {word}",
            f"docker ps -n {count}",
            f"go test ./{word}",
            f"pip list | grep {word}",
            f"du -sh {file}",
            f"chmod +x {program}",
            f"mkdir -p {word}/{values.rare()}",
            f"ls {word}",
            f"find . -name '*.{suffix}'",
            f"ps aux | grep {word}",
            f"kill {values.number()}",
        )
    )


def quoted_path(path: str) -> str:
    """Return a path as a shell takes it."""
    return f'"{path}"' if " " in path else path


def formula(supplies: Supplies) -> str:
    """Return an expression of two to four figures."""
    random, values = supplies.random, supplies.values

    def figure() -> str:
        return values.amount() if random.random() < 0.3 else str(values.number())

    tight = random.random() < 0.3
    mark = "" if tight else " "
    parts = [figure()]
    for _ in range(random.choice((1, 1, 1, 2, 2, 3))):
        parts += [random.choice("++--**/"), figure()]
    style = random.random()
    if len(parts) >= 5 and style < 0.5:
        inner = mark.join(parts[:3])
        return f"({inner}){mark}{mark.join(parts[3:])}"
    if style > 0.93:
        return f"sqrt({values.number()})"
    if style > 0.88:
        return f"{random.randint(2, 20)}{mark}^{mark}{random.randint(2, 9)}"
    return mark.join(parts)


def change(supplies: Supplies) -> tuple[str, str, str, str]:
    """Return a path, the file's text, and an old text, once in it, with the new one."""
    values, random = supplies.values, supplies.random
    while True:
        fact = fact_file(supplies)
        fresh = values.of_kind(fact.kind)
        if random.random() < 0.4:
            old, new = fact.line, fact.line.replace(fact.value, fresh)
        elif random.random() < 0.75:
            old, new = fact.value, fresh
        else:
            word = values.noun()
            typo = word[:1] + word[2:3] + word[1:2] + word[3:]
            line = f"the {typo} is {random.choice(words.ADJECTIVES)}"
            fact = fact_file(supplies)
            if fact.text.count(typo) == 0 and typo != word:
                return fact.path, f"{fact.text}{line}\n", typo, word
            continue
        if fact.text.count(old) == 1 and old != new:
            return fact.path, fact.text, old, new


def hit(supplies: Supplies, pattern: str) -> str:
    """Return a line that a pattern is found in."""
    values = supplies.values
    return supplies.random.choice(
        (
            f"{pattern}",
            f"the {pattern} of {values.noun()}",
            f"{values.sentence()} {pattern}",
            f"{pattern}: {values.sentence()}",
            f"{values.noun()} = {pattern}",
            f"# {pattern} {values.noun()}",
        )
    )


def escaped(pattern: str) -> str:
    """Return a literal text as a regular expression."""
    return re.sub(r"([.*+?()\[\]{}|^$\\])", r"\\\1", pattern)
