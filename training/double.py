"""Scenes of two calls, the second made from what the first one gave."""

from __future__ import annotations

import re

from training import words
from training.conversation import Conversation, Supplies, Talk
from training.facts import FactFile, fact_file, sum_file
from training.pieces import change, command_line, escaped, formula, hit, quoted_path
from training.single import found, ran

_PRINTING = ("echo", "seq", "expr", "python3", "head", "tail", "cat", "wc", "sort", "cut")


def read_calc(supplies: Supplies) -> Conversation:
    """Read figures, then compute with them."""
    values = supplies.values
    sums = sum_file(supplies)
    talk = Talk("read_calc", supplies, supplies.furnish({sums.path: sums.text} | values.others()))
    talk.say("two.read_calc", path=values.said(sums.path), what=sums.asked)
    talk.call("read_file", path=sums.path)
    result = talk.call("calculator", expression=sums.expression)
    talk.answer("answer.computed", expr=sums.expression, value=result.text)
    return talk.done()


def search_read(supplies: Supplies) -> Conversation:
    """Find the file with a word in it, then read it."""
    values = supplies.values
    pattern, path = values.pattern(), values.path()
    lines = [*values.text(2).split("\n")[:-1], hit(supplies, pattern)]
    supplies.random.shuffle(lines)
    files = {path: "\n".join(lines) + "\n"} | values.others(count=supplies.random.randint(1, 3))
    talk = Talk("search_read", supplies, supplies.furnish(files))
    talk.say("two.search_read", pattern=values.said(pattern))
    result = talk.call("search_files", pattern=escaped(pattern))
    at = result.text.split("\n")[0].split(":")[0]
    if at not in files:  # the pattern stands nowhere by itself, or a name holds a colon
        found(talk, result, pattern)
        return talk.done()
    talk.call("read_file", path=at)
    talk.answer("answer.show", path=at, text=files[at].rstrip("\n"))
    return talk.done()


def list_read(supplies: Supplies) -> Conversation:
    """List a folder, then read the file in it that fits."""
    values, random = supplies.values, supplies.random
    folder, topic = values.folder(), values.noun() if random.random() < 0.6 else values.rare()
    mark = random.choice(("_", "-", " "))
    name = random.choice(
        (
            topic,
            f"{topic}{mark}{values.noun()}",
            f"{values.noun()}{mark}{topic}",
            f"{topic}{mark}{values.number()}",
        )
    )
    path = f"{folder}/{name}.{random.choice(words.TEXT_SUFFIXES)}"
    text = values.text(random.randint(1, 3))
    files = values.others(folder, random.randint(1, 3)) | {path: text}
    talk = Talk("list_read", supplies, supplies.furnish(files))
    talk.say("two.list_read", folder=values.said(folder), topic=topic)
    talk.call("list_directory", path=folder)
    talk.call("read_file", path=path)
    talk.answer("answer.show", path=path, text=text.rstrip("\n"))
    return talk.done()


def calc_write(supplies: Supplies) -> Conversation:
    """Compute, then write the number down."""
    values = supplies.values
    expression, path = formula(supplies), values.path()
    talk = Talk("calc_write", supplies, supplies.furnish({}))
    talk.say("two.calc_write", expr=expression, path=values.said(path))
    result = talk.call("calculator", expression=expression)
    if result.status != "ok":
        talk.answer("answer.missing", error=result.text)
        return talk.done()
    talk.call("write_file", path=path, content=result.text)
    talk.answer("answer.written", path=path)
    return talk.done()


def read_edit(supplies: Supplies) -> Conversation:
    """Read a setting, then change it."""
    values = supplies.values
    fact = _single_fact(supplies)
    fresh = values.of_kind(fact.kind)
    talk = Talk("read_edit", supplies, supplies.furnish({fact.path: fact.text} | values.others(count=1)))
    talk.say("two.read_edit", path=values.said(fact.path), key=fact.key, value=fresh)
    talk.call("read_file", path=fact.path)
    new = fact.line.replace(fact.value, fresh)
    talk.call("edit_file", path=fact.path, old_text=fact.line, new_text=new)
    talk.answer("answer.edited", path=fact.path, old=fact.value, new=fresh)
    return talk.done()


def run_write(supplies: Supplies) -> Conversation:
    """Run a command, then keep what it printed."""
    values = supplies.values
    command, path, room_files = _printing(supplies)
    talk = Talk("run_write", supplies, supplies.furnish(room_files))
    talk.say(
        "two.run_write", command=f"`{command}`" if supplies.chance(0.6) else command, path=values.said(path)
    )
    result = talk.call("run_command", command=command)
    if result.status != "ok" or result.text.startswith("["):
        ran(talk, result)
        return talk.done()
    talk.call("write_file", path=path, content=result.text)
    talk.answer("answer.written", path=path)
    return talk.done()


def run_read(supplies: Supplies) -> Conversation:
    """Run a command that makes a file, then read that file."""
    values, random = supplies.values, supplies.random
    source, target = values.path(), values.file_name()
    text = values.text(random.randint(1, 3))
    file, made = quoted_path(source), quoted_path(target)
    command = random.choice(
        (
            f"cp {file} {made}",
            f"sort {file} > {made}",
            f"mv {file} {made}",
            f"cat {file} > {made}",
            f"head -n 1 {file} > {made}",
        )
    )
    talk = Talk("run_read", supplies, supplies.furnish({source: text}))
    talk.say(
        "two.run_read", command=f"`{command}`" if random.random() < 0.5 else command, path=values.said(target)
    )
    talk.call("run_command", command=command)
    result = talk.call("read_file", path=target)
    talk.answer("answer.show", path=target, text=result.text.rstrip("\n"))
    return talk.done()


def read_write(supplies: Supplies) -> Conversation:
    """Read a file, then write a fact of it, or all of it, to another."""
    values = supplies.values
    fact, target = fact_file(supplies), values.path()
    talk = Talk("read_write", supplies, supplies.furnish({fact.path: fact.text}))
    whole = supplies.chance(0.3)
    section = "two.copy" if whole else "two.read_write"
    talk.say(section, path=values.said(fact.path), newpath=values.said(target), key=fact.key)
    talk.call("read_file", path=fact.path)
    talk.call("write_file", path=target, content=fact.text.rstrip("\n") if whole else fact.value)
    talk.answer("answer.written", path=target)
    return talk.done()


def time_write(supplies: Supplies) -> Conversation:
    """Ask the clock, then write down what it says."""
    values, random = supplies.values, supplies.random
    path = values.path()
    talk = Talk("time_write", supplies, supplies.furnish({}))
    if random.random() < 0.5:
        zone = random.choice(words.ZONES)
        sentence = talk.say("two.timezone_write", path=values.said(path), zone=zone)
        result = talk.call("current_time", timezone=zone)
    else:
        sentence = talk.say("two.time_write", path=values.said(path))
        result = talk.call("current_time")
    date = "date" in sentence.text and "time" not in sentence.text
    _, rest = result.text.split(", ", 1)
    talk.call("write_file", path=path, content=rest[:10] if date else rest[11:16])
    talk.answer("answer.written", path=path)
    return talk.done()


def write_run(supplies: Supplies) -> Conversation:
    """Write a file, then run it or look at it with a command."""
    values, random = supplies.values, supplies.random
    if random.random() < 0.6:
        path = values.path("py")
        content = (
            f'print("{values.noun()}")'
            if random.random() < 0.7
            else f"print({values.number()} * {values.number()})"
        )
        command = f"python3 {quoted_path(path)}"
    else:
        path, content = values.path("txt"), values.sentence().replace('"', "'")
        command = f"{random.choice(('cat', 'wc -w', 'wc -c'))} {quoted_path(path)}"
    talk = Talk("write_run", supplies, supplies.furnish({}))
    said = content if '"' in content else values.said(content)
    talk.say("two.write_run", path=values.said(path), content=said, command=command)
    talk.call("write_file", path=path, content=content)
    ran(talk, talk.call("run_command", command=command))
    return talk.done()


def search_edit(supplies: Supplies) -> Conversation:
    """Find where a text stands, then change it there."""
    values = supplies.values
    path, text, old, new = change(supplies)
    files = {path: text} | values.others(count=supplies.random.randint(1, 2))
    talk = Talk("search_edit", supplies, supplies.furnish(files))
    talk.say("two.search_edit", old=values.said(old), new=values.said(new))
    result = talk.call("search_files", pattern=escaped(old))
    at = result.text.split("\n")[0].split(":")[0]
    if at != path:
        found(talk, result, old)
        return talk.done()
    talk.call("edit_file", path=path, old_text=old, new_text=new)
    talk.answer("answer.edited", path=path, old=old, new=new)
    return talk.done()


def _single_fact(supplies: Supplies) -> FactFile:
    """Return a fact whose line is in its file once."""
    while True:
        fact = fact_file(supplies)
        if fact.text.count(fact.line) == 1 and re.search(r"\w", fact.value):
            return fact


def _printing(supplies: Supplies) -> tuple[str, str, dict[str, str]]:
    """Return a command that prints something, where to keep that, and the files it needs."""
    values = supplies.values
    source, script = values.path(), values.path("py")
    files = {source: values.text(2), script: f'print("{values.noun()} {values.number()}")\n'}
    while True:
        command = command_line(supplies, source, script)
        if command.split()[0] in _PRINTING:
            return command, values.path(), files
