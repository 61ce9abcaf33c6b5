"""Scenes of two turns: the second can only be understood with the first."""

from __future__ import annotations

from training import words
from training.conversation import Conversation, Supplies, Talk
from training.double import _single_fact
from training.facts import fact_file, sum_file
from training.pieces import command_line, escaped, hit, quoted_path
from training.single import found, names, ran, told_time


def path_then_read(supplies: Supplies) -> Conversation:
    """A file is named, then it is to be read, or a fact in it is wanted."""
    values = supplies.values
    fact = fact_file(supplies)
    talk = Talk("path_then_read", supplies, supplies.furnish({fact.path: fact.text} | values.others()))
    talk.say("follow.path", path=values.said(fact.path))
    talk.answer("answer.noted", echo=fact.path)
    if supplies.chance(0.5):
        talk.say("follow.read")
        talk.call("read_file", path=fact.path)
        talk.answer("answer.show", path=fact.path, text=fact.text.rstrip("\n"))
    else:
        talk.say("follow.fact", key=fact.key)
        talk.call("read_file", path=fact.path)
        talk.answer("answer.fact", path=fact.path, key=fact.key, value=fact.value)
    return talk.done()


def read_then_change(supplies: Supplies) -> Conversation:
    """A file is named or read, then something in it is to be changed."""
    values = supplies.values
    fact = _single_fact(supplies)
    fresh = values.of_kind(fact.kind)
    talk = Talk("read_then_change", supplies, supplies.furnish({fact.path: fact.text}))
    if supplies.chance(0.5):
        talk.say("follow.path", path=values.said(fact.path))
        talk.answer("answer.noted", echo=fact.path)
        old, new = fact.value, fresh
    else:
        talk.say("read.show", path=values.said(fact.path))
        talk.call("read_file", path=fact.path)
        talk.answer("answer.show", path=fact.path, text=fact.text.rstrip("\n"))
        old, new = fact.line, fact.line.replace(fact.value, fresh)
    talk.say("follow.change", old=values.said(old), new=values.said(new))
    result = talk.call("edit_file", path=fact.path, old_text=old, new_text=new)
    if result.status == "ok":
        talk.answer("answer.edited", path=fact.path, old=old, new=new)
    else:
        talk.answer("answer.missing", error=result.text)
    return talk.done()


def folder_then_list(supplies: Supplies) -> Conversation:
    """A folder is named, then it is to be listed."""
    values = supplies.values
    folder = values.folder()
    talk = Talk(
        "folder_then_list", supplies, supplies.furnish(values.others(folder, supplies.random.randint(1, 3)))
    )
    talk.say("follow.folder", folder=values.said(folder))
    talk.answer("answer.noted", echo=folder)
    talk.say("follow.list")
    result = talk.call("list_directory", path=folder)
    talk.answer("answer.list", folder=folder, names=names(result), count=len(result.text.split("\n")))
    return talk.done()


def list_then_read(supplies: Supplies) -> Conversation:
    """A folder is listed, then one of its files is to be read."""
    values, random = supplies.values, supplies.random
    folder = values.folder()
    files = values.others(folder, random.randint(2, 4))
    talk = Talk("list_then_read", supplies, supplies.furnish(files))
    talk.say("list.folder", folder=values.said(folder))
    result = talk.call("list_directory", path=folder)
    talk.answer("answer.list", folder=folder, names=names(result), count=len(result.text.split("\n")))
    listed = sorted(files)
    path = random.choice(listed)
    name = path.rsplit("/", 1)[1]
    stem = name.split(".")[0] or name
    text, bare = random.choice(
        (
            (f"Open {name}.", "Open _."),
            (f"Read {stem}", "Read _"),
            (f"What is in {name}?", "What is in _?"),
            (f"Show me the {stem} file", "Show me the _ file"),
        )
    )
    if sum(stem in each for each in listed) > 1:
        text, bare = f"Read {name}", "Read _"
    if random.random() < 0.25:
        at, path = random.choice((("first", listed[0]), ("last", listed[-1])))
        text, bare = f"Read the {at} one.", f"Read the {at} one."
    talk.say_text(text, bare)
    talk.call("read_file", path=path)
    talk.answer("answer.show", path=path, text=files[path].rstrip("\n"))
    return talk.done()


def word_then_search(supplies: Supplies) -> Conversation:
    """A word is named, then it is to be searched for."""
    values = supplies.values
    pattern, path = values.pattern(), values.path()
    talk = Talk(
        "word_then_search",
        supplies,
        supplies.furnish({path: hit(supplies, pattern) + "\n"} | values.others()),
    )
    talk.say("follow.word", pattern=values.said(pattern))
    talk.answer("answer.noted", echo=pattern)
    talk.say("follow.search")
    found(talk, talk.call("search_files", pattern=escaped(pattern)), pattern)
    return talk.done()


def number_then_calc(supplies: Supplies) -> Conversation:
    """A number is named, then something is to be computed with it."""
    values, random = supplies.values, supplies.random
    thing, things = random.choice(words.THINGS)
    number: object = values.amount() if random.random() < 0.4 else values.number()
    talk = Talk("number_then_calc", supplies, supplies.furnish({}))
    talk.say("follow.number", n=number, thing=thing, things=things)
    talk.answer("answer.noted", echo=number)
    sentence = talk.say("follow.calc", n=number, b=values.number(2, 500), thing=thing, things=things)
    result = talk.call("calculator", expression=sentence.rest)
    talk.answer("answer.computed", expr=sentence.rest, value=result.text)
    return talk.done()


def read_then_calc(supplies: Supplies) -> Conversation:
    """Figures are read, then computed with."""
    values = supplies.values
    sums = sum_file(supplies)
    talk = Talk("read_then_calc", supplies, supplies.furnish({sums.path: sums.text}))
    talk.say("read.show", path=values.said(sums.path))
    talk.call("read_file", path=sums.path)
    talk.answer("answer.show", path=sums.path, text=sums.text.rstrip("\n"))
    text, bare = supplies.random.choice(
        (
            (f"What is {sums.asked}?", "What is _?"),
            (f"Now compute {sums.asked}.", "Now compute _."),
            (f"And {sums.asked}?", "And _?"),
        )
    )
    talk.say_text(text, bare)
    result = talk.call("calculator", expression=sums.expression)
    talk.answer("answer.computed", expr=sums.expression, value=result.text)
    return talk.done()


def zone_then_time(supplies: Supplies) -> Conversation:
    """A zone is named, then its time is wanted."""
    zone = supplies.random.choice(words.ZONES)
    talk = Talk("zone_then_time", supplies, supplies.furnish({}))
    talk.say("follow.zone", zone=zone)
    talk.answer("answer.noted", echo=zone)
    talk.say("follow.time")
    told_time(talk, talk.call("current_time", timezone=zone), date=False)
    return talk.done()


def text_then_write(supplies: Supplies) -> Conversation:
    """A text is said, then where it goes; or a file, then its text."""
    values = supplies.values
    content, path = values.sentence(), values.path()
    talk = Talk("text_then_write", supplies, supplies.furnish({}))
    quoted = f'"{content}"' if supplies.chance(0.5) and '"' not in content else content
    if supplies.chance(0.5):
        talk.say("follow.text", content=quoted)
        talk.answer("answer.noted", echo=content)
        talk.say("follow.save", path=values.said(path))
    else:
        talk.say("follow.name", path=values.said(path))
        talk.answer("answer.noted", echo=path)
        talk.say("follow.content", content=quoted)
    talk.call("write_file", path=path, content=content)
    talk.answer("answer.written", path=path)
    return talk.done()


def command_then_run(supplies: Supplies) -> Conversation:
    """A command is named, then it is to be run."""
    values = supplies.values
    path, script = values.path(), values.path("py")
    command = command_line(supplies, path, script)
    talk = Talk("command_then_run", supplies, supplies.furnish({path: values.text(), script: "print(1)\n"}))
    talk.say("follow.command", command=f"`{command}`" if supplies.chance(0.6) else command)
    talk.answer("answer.noted", echo=quoted_path(command) if '"' not in command else command)
    talk.say("follow.run")
    if command.split()[0] in ("cat", "head", "tail", "wc", "sort", "echo", "seq", "expr", "cut", "python3"):
        ran(talk, talk.call("run_command", command=command))
    else:
        talk.call_only("run_command", command=command)
    return talk.done()
