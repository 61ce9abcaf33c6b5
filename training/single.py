"""Scenes of one call: one function a tool, each a person's request, the call, its real result and an answer."""

from __future__ import annotations

import re

from skippy_chat.agent.tools.protocol import ToolResult
from training import words
from training.conversation import Conversation, Supplies, Talk
from training.facts import fact_file
from training.pieces import change, command_line, escaped, formula, hit, quoted_path

_CALL_ONLY = 0.15  # of scenes end with the call: it is the call that is hard


def read_file(supplies: Supplies) -> Conversation:
    """Read a whole file, some lines of it, or a fact in it; now and then it is not there."""
    values, random = supplies.values, supplies.random
    fact = fact_file(supplies)
    style = random.random()
    if style < 0.5:
        talk = Talk("read_file", supplies, supplies.furnish({fact.path: fact.text} | values.others()))
        asked = {"person": "read.who", "date": "read.when", "place": "read.where"}.get(fact.kind, "read.fact")
        if fact.kind in ("number", "amount") and random.random() < 0.4:
            asked = "read.howmuch"
        section = asked if random.random() < 0.6 else "read.fact"
        talk.say(section, path=values.said(fact.path), key=fact.key)
        talk.call("read_file", path=fact.path)
        talk.answer("answer.fact", path=fact.path, key=fact.key, value=fact.value)
        return talk.done()
    path, text = values.path(), values.text(random.randint(1, 4))
    if style < 0.68:
        text = values.text(random.randint(3, 8))
        lines = text.split("\n")[:-1]
        first = random.randint(1, len(lines))
        last = first if random.random() < 0.35 else random.randint(first, len(lines))
        talk = Talk("read_file", supplies, supplies.furnish({path: text}))
        section = "read.line" if first == last else "read.lines"
        talk.say(section, path=values.said(path), first=first, last=last)
        talk.call("read_file", path=path, first_line=first, last_line=last)
        talk.answer("answer.lines", text="\n".join(lines[first - 1 : last]))
        return talk.done()
    missing = random.random() < 0.12
    talk = Talk(
        "read_file",
        supplies,
        supplies.furnish(values.others() if missing else {path: text} | values.others()),
    )
    talk.say("read.show", path=values.said(path))
    result = talk.call("read_file", path=path)
    if result.status == "ok":
        talk.answer("answer.show", path=path, text=text.rstrip("\n"))
    else:
        talk.answer("answer.missing", error=result.text)
    return talk.done()


def list_directory(supplies: Supplies) -> Conversation:
    """List a folder, or the workspace."""
    values, random = supplies.values, supplies.random
    folder = values.folder()
    files = values.others(folder, random.randint(1, 4))
    talk = Talk(
        "list_directory", supplies, supplies.furnish(files | values.others(count=random.randint(0, 2)))
    )
    if random.random() < 0.2:
        talk.say("list.root")
        result = talk.call("list_directory")
        talk.answer(
            "answer.list", folder="this folder", names=names(result), count=len(result.text.split("\n"))
        )
        return talk.done()
    said = values.said(folder + ("/" if random.random() < 0.12 else ""))
    talk.say("list.folder", folder=said)
    result = talk.call("list_directory", path=folder)
    talk.answer("answer.list", folder=folder, names=names(result), count=len(result.text.split("\n")))
    return talk.done()


def search_files(supplies: Supplies) -> Conversation:
    """Search all files, a folder or one file."""
    values, random = supplies.values, supplies.random
    pattern = values.pattern()
    folder, name = values.folder(), values.file_name()
    path = f"{folder}/{name}" if random.random() < 0.6 else name
    lines = values.text(random.randint(1, 4)).split("\n")[:-1]
    if random.random() < 0.9:
        at = random.randint(0, len(lines))
        lines.insert(at, hit(supplies, pattern))
    talk = Talk("search_files", supplies, supplies.furnish({path: "\n".join(lines) + "\n"} | values.others()))
    quoted = values.said(pattern)
    style = random.random()
    if style < 0.5:
        talk.say("search.all", pattern=quoted)
        arguments = {"pattern": escaped(pattern)}
    else:
        where = folder if path != name and style < 0.8 else path
        talk.say("search.in", pattern=quoted, path=values.said(where))
        arguments = {"pattern": escaped(pattern), "path": where}
    if random.random() < _CALL_ONLY:
        talk.call_only("search_files", **arguments)
        return talk.done()
    found(talk, talk.call("search_files", **arguments), pattern)
    return talk.done()


def write_file(supplies: Supplies) -> Conversation:
    """Write a new file, or over an old one."""
    values, random = supplies.values, supplies.random
    path = values.path()
    content = values.sentence()
    said = content
    if random.random() < 0.7:
        mark = '"' if '"' not in content and random.random() < 0.7 else "'"
        said = f"{mark}{content}{mark}" if mark not in content else content
    if random.random() < 0.12:
        more = values.sentence()
        said, content = f'two lines, "{content}" and "{more}"', f"{content}\n{more}"
    talk = Talk("write_file", supplies, supplies.furnish(values.others(count=1)))
    talk.say("write.file", path=values.said(path), content=said)
    if random.random() < 2 * _CALL_ONLY:
        talk.call_only("write_file", path=path, content=content)
        return talk.done()
    talk.call("write_file", path=path, content=content)
    talk.answer("answer.written", path=path)
    return talk.done()


def edit_file(supplies: Supplies) -> Conversation:
    """Replace a text in a file."""
    values, random = supplies.values, supplies.random
    path, text, old, new = change(supplies)
    talk = Talk("edit_file", supplies, supplies.furnish({path: text} | values.others(count=1)))
    quote = random.choice(("", "", '"', "'", "`"))
    quote = "" if quote in old or quote in new else quote
    talk.say("edit.change", path=values.said(path), old=f"{quote}{old}{quote}", new=f"{quote}{new}{quote}")
    if random.random() < 2 * _CALL_ONLY:
        talk.call_only("edit_file", path=path, old_text=old, new_text=new)
        return talk.done()
    result = talk.call("edit_file", path=path, old_text=old, new_text=new)
    if result.status == "ok":
        talk.answer("answer.edited", path=path, old=old, new=new)
    else:
        talk.answer("answer.missing", error=result.text)
    return talk.done()


def run_command(supplies: Supplies) -> Conversation:
    """Run a command line that is given, or one that follows from what is asked."""
    values, random = supplies.values, supplies.random
    path, text = values.path(), values.text()
    script, made = values.path("py"), values.sentence().replace('"', "'")
    files = {path: text, script: f'print("{made}")\n'}
    talk = Talk("run_command", supplies, supplies.furnish(files))
    if random.random() < 0.35:
        sentence = talk.say(
            "run.implied",
            path=quoted_path(path),
            newpath=quoted_path(values.path()),
            newfolder=quoted_path(values.folder()),
            script=quoted_path(script),
            target=values.noun() if random.random() < 0.5 else values.rare(),
            count=random.randint(1, 9),
        )
        command = sentence.rest
    else:
        command = command_line(supplies, path, script)
        mark = random.choice(("`", "`", '"', "'", "", ""))
        talk.say("run.command", command=command if mark in command else f"{mark}{command}{mark}")
    if command.split()[0] not in _HARMLESS or random.random() < _CALL_ONLY:
        talk.call_only("run_command", command=command)
        return talk.done()
    ran(talk, talk.call("run_command", command=command))
    return talk.done()


def calculator(supplies: Supplies) -> Conversation:
    """Compute something, given as an expression, in words or as a little story."""
    values, random = supplies.values, supplies.random
    talk = Talk("calculator", supplies, supplies.furnish({}))
    style = random.random()
    if style < 0.4:
        expression = formula(supplies)
        talk.say("calc.plain", expr=expression)
    else:
        thing, things = random.choice(words.THINGS)
        sentence = talk.say(
            "calc.words" if style < 0.75 else "calc.story",
            a=values.amount() if random.random() < 0.5 else values.number(),
            b=values.amount() if random.random() < 0.4 else values.number(2, 400),
            n=values.number(2, 60),
            m=values.number(2, 60),
            p=random.randint(1, 80),
            s=random.randint(2, 12),
            thing=thing,
            things=things,
            parts=random.choice(words.PARTS),
        )
        expression = sentence.rest
    result = talk.call("calculator", expression=expression)
    if result.status == "ok":
        talk.answer("answer.computed", expr=expression, value=result.text)
    else:
        talk.answer("answer.missing", error=result.text)
    return talk.done()


def current_time(supplies: Supplies) -> Conversation:
    """Ask for the time or the date, here or in a zone."""
    random = supplies.random
    talk = Talk("current_time", supplies, supplies.furnish({}))
    if random.random() < 0.5:
        sentence = talk.say("time.local")
        result = talk.call("current_time")
        date = re.search(r"date|day|year|month", sentence.text) is not None
    else:
        zone = random.choice(words.ZONES)
        sentence = talk.say("time.zone", zone=zone)
        result = talk.call("current_time", timezone=zone)
        date = re.search(r"\b(day|date)\b", sentence.text) is not None
    told_time(talk, result, date=date)
    return talk.done()


def fetch_url(supplies: Supplies) -> Conversation:
    """Ask for a page; there is no network where this runs, so the call is the end."""
    values, random = supplies.values, supplies.random
    host = f"{random.choice(('www.', '', '', 'docs.'))}{values.noun()}{random.choice(('-', '', '.'))}{values.rare()}"
    url = f"{random.choice(('https', 'https', 'http'))}://{host}.{random.choice(('com', 'org', 'net', 'io', 'dev'))}"
    if random.random() < 0.75:
        url += "/" + "/".join(
            random.choice((values.noun(), values.rare(), random.choice(words.OFFICE), str(values.number())))
            for _ in range(random.randint(1, 2))
        )
        url += random.choice(("", "", ".html", "/", f"?id={values.number()}"))
    talk = Talk("fetch_url", supplies)
    talk.say("fetch.url", url=values.said(url))
    talk.call_only("fetch_url", url=url)
    return talk.done()


_HARMLESS = frozenset(
    (
        "cat",
        "head",
        "tail",
        "wc",
        "sort",
        "uniq",
        "cut",
        "tr",
        "echo",
        "ls",
        "grep",
        "sed",
        "python3",
        "expr",
        "seq",
        "basename",
        "dirname",
        "mkdir",
        "cp",
        "mv",
        "rm",
    )
)


def names(result: ToolResult) -> str:
    """Return what a listing names, without sizes."""
    return ", ".join(re.sub(r" \([^()]*\)$", "", line) for line in result.text.split("\n"))


def found(talk: Talk, result: ToolResult, pattern: str) -> None:
    """Answer with what a search gave."""
    if result.text == "No line matches.":
        talk.answer("answer.none", pattern=pattern)
    else:
        lines = result.text.split("\n")
        shown = lines[0] if len(lines) == 1 else "\n\n" + "\n".join(lines[:6])
        talk.answer("answer.found", lines=shown)


def ran(talk: Talk, result: ToolResult) -> None:
    """Answer with what a command printed."""
    if result.text == "[done, without output]":
        talk.answer("answer.quiet")
    else:
        talk.answer("answer.ran", text=result.text)


def told_time(talk: Talk, result: ToolResult, *, date: bool) -> None:
    """Answer with a clock's time, or its date."""
    day, rest = result.text.split(", ", 1)
    if date:
        talk.answer("answer.date", day=day, date=rest[:10])
    else:
        talk.answer("answer.time", time=rest[11:16])
