"""Examples of every command, for its help and its manual page.

Invariant: each line is one that the command line takes; a test reads them all.
"""

from __future__ import annotations

import click

# By the command's path, without the program's name; each is what one types, and what it does.
EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "": (
        ("skippy-chat", "the app, on a session of this folder"),
        ("skippy-chat --continue --tools default", "go on with the newest one, with tools"),
        ("skippy-chat --model path/to/model.gguf --new", "another model"),
    ),
    "repl": (
        ("skippy-chat repl --session trip", "line by line"),
        ("skippy-chat repl --plain --persona reviewer", "for a screen reader"),
    ),
    "run": (
        ('skippy-chat run "Why is the sky blue?"', "one answer"),
        ("git diff | skippy-chat run --persona reviewer -", "a prompt from a pipe"),
        ('skippy-chat run --session trip --json "And in May?" | jq .content', "one object"),
        ("skippy-chat run --session trip --replay", "compute the last answer again, and compare"),
    ),
    "sessions": (("skippy-chat sessions list", "this folder's sessions"),),
    "sessions list": (
        ("skippy-chat sessions list --all --limit 10", "of every folder"),
        ('skippy-chat sessions list --search "harbour wall"', "by title and by what was said"),
        ("skippy-chat sessions list --deleted", "what can be restored"),
    ),
    "sessions show": (("skippy-chat sessions show trip", "what was said"),),
    "sessions search": (('skippy-chat sessions search "harbour wall" --all', "messages with both words"),),
    "sessions rename": (('skippy-chat sessions rename trip "Trip to Brest"', ""),),
    "sessions fork": (("skippy-chat sessions fork trip trip-2", "a copy to try something in"),),
    "sessions delete": (("skippy-chat sessions delete trip-2", "can be restored"),),
    "sessions restore": (("skippy-chat sessions restore trip-2", ""),),
    "sessions prune": (
        ("skippy-chat sessions prune", "what was deleted 30 days ago or earlier"),
        ("skippy-chat sessions prune --all --dry-run", "what else could go"),
    ),
    "sessions rm": (("skippy-chat sessions rm trip-2 --yes", "for good, without a question"),),
    "sessions branches": (("skippy-chat sessions branches trip", ""),),
    "sessions export": (("skippy-chat sessions export trip -o trip.html", "by the file's ending"),),
    "sessions import": (("skippy-chat sessions import trip.json", ""),),
    "cache": (("skippy-chat cache stats", "what checkpoints take"),),
    "cache stats": (("skippy-chat cache stats --json", ""),),
    "cache verify": (("skippy-chat cache verify", "read and check everything"),),
    "cache prune": (("skippy-chat cache prune --to 2GiB --dry-run", "what would be given back"),),
    "cache clear": (("skippy-chat cache clear --yes", "delete all; it costs only time"),),
    "models": (("skippy-chat models list", "what is on this machine"),),
    "models list": (("skippy-chat models list --json", ""),),
    "models info": (("skippy-chat models info default", "what its file says"),),
    "models check": (("skippy-chat models check path/to/model.gguf", "does its state come back exactly?"),),
    "tools": (("skippy-chat tools list", "what a model may call"),),
    "tools list": (
        ("skippy-chat tools list --tools default --approve auto-read", "as a chat would have it"),
    ),
    "tools check": (("skippy-chat tools check mine.py", "load a file, and show what a model reads"),),
    "bench": (("skippy-chat bench --json", "every suite"),),
    "gate": (("skippy-chat gate --model default", "every phase"),),
    "doctor": (("skippy-chat doctor", "what is wrong, and the mend"),),
    "config": (("skippy-chat config show", "what counts, and why"),),
    "config show": (("skippy-chat config show -c ctx=4096 --json", ""),),
    "config path": (("$EDITOR $(skippy-chat config path)", ""),),
    "config init": (("skippy-chat config init", "a file with every key in it, as comments"),),
    "config set": (
        ("skippy-chat config set temperature 0.2", ""),
        ("skippy-chat config set tools read_file,search_files", "a list"),
    ),
    "config unset": (("skippy-chat config unset temperature", "the default counts again"),),
    "config schema": (("skippy-chat config schema > config.schema.json", "for an editor"),),
    "config trust": (("skippy-chat config trust", "after you have read the workspace's files"),),
    "config untrust": (("skippy-chat config untrust", ""),),
    "personas": (("skippy-chat personas list", ""),),
    "personas list": (("skippy-chat personas list --json", ""),),
    "personas show": (("skippy-chat personas show reviewer", ""),),
    "completion": (('eval "$(skippy-chat completion bash)"', "in ~/.bashrc"),),
    "man": (
        ("skippy-chat man | man -l -", "read the first page"),
        ("skippy-chat man run > ~/.local/share/man/man1/skippy-chat-run.1", "keep one"),
    ),
}


def with_examples(command: click.Command, path: str) -> click.Command:
    """Give a command, and those below it, their examples as the end of their help."""
    if command.epilog is None and path in EXAMPLES:
        lines = EXAMPLES[path]
        told = [f"  {line}" + (f"    # {what}" if what else "") for line, what in lines]
        command.epilog = "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *told])
    if isinstance(command, click.Group) and path:
        for name, below in command.commands.items():
            with_examples(below, f"{path} {name}")
    return command
