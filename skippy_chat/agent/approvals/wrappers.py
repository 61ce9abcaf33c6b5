"""Seeing through programs that run other programs: a rule for ``rm`` must not be got round by ``env rm``.

A wrapper is taken off where its words say plainly what it runs; where they do not, or where the program would run as
somebody else or elsewhere, the call is asked about.

Invariant: what is returned covers everything the command starts as far as its words tell.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from skippy_chat.agent.approvals import git
from skippy_chat.agent.approvals.shell import simple_commands

_MOST_LAYERS = 8
_SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "csh", "tcsh", "rbash"})
# Whatever they run, they run it as others, elsewhere, later, or with words that are not on the command line.
_NEVER_PLAIN_WORDS = {
    "runs as another user": "sudo doas su runuser pkexec setpriv sg newgrp",
    "runs elsewhere": "chroot unshare nsenter ssh docker podman kubectl systemd-run bwrap firejail",
    "takes its words from its input": "xargs parallel",
    "reads its words as a command line": "eval",
    "runs a script in the shell": ". source",
    "runs a command later": "trap at batch crontab",
    "changes what names mean": "alias unalias hash enable",
    "changes the shell or its environment": "set shopt export declare typeset local readonly unset read umask ulimit",
    "runs another program": (
        "script watch strace ltrace gdb flock expect screen tmux chrt taskset unbuffer entr ssh-agent"
        " dbus-run-session proxychains setarch linux32 linux64 faketime fakeroot"
    ),
}
_NEVER_PLAIN = {name: why for why, names in _NEVER_PLAIN_WORDS.items() for name in names.split()}
_FIND_ACTIONS = re.compile(r"-(exec|execdir|ok|okdir|delete|fprint|fprint0|fprintf|fls|files0-from)")
_ASSIGNMENT = re.compile(r"[^=]+=")


class Doubtful(ValueError):
    """A command of which its words do not say all; the message says why."""


def unwrapped(line: str) -> list[list[str]]:
    """Return every simple command of a command line, wrappers taken off; the wrappers' own words are left out.

    Raises:
        NotPlain: the line is more than words.
        Doubtful: a program in it may run more than its words say.
    """
    return [argv for command in simple_commands(line) for argv in _unwrap(command, _MOST_LAYERS)]


def program_name(word: str) -> str:
    """Return the name of a program without its folder."""
    return word.rpartition("/")[2]


def _unwrap(argv: Sequence[str], layers: int) -> list[list[str]]:
    if layers == 0:
        raise Doubtful("programs are wrapped too deep")
    if not argv or not argv[0]:
        raise Doubtful("a program without a name")
    name = program_name(argv[0]).lower()  # some file systems take "SUDO" for sudo
    if name in _NEVER_PLAIN:
        raise Doubtful(f"{name} {_NEVER_PLAIN[name]}")
    if name in _SHELLS:
        return _shell(argv, layers)
    _refuse_actions(name, argv)
    strip = _STRIPPED.get(name)
    inner = strip(list(argv[1:])) if strip is not None else []
    return _unwrap(inner, layers - 1) if inner else [list(argv)]


def _refuse_actions(name: str, argv: Sequence[str]) -> None:
    """Refuse programs that run others only when some word of theirs says so."""
    if name == "find":
        for word in argv[1:]:
            if _FIND_ACTIONS.fullmatch(word):
                raise Doubtful(f"find {word} runs, writes or deletes")
    if name == "git" and (why := git.doubt(argv)):
        raise Doubtful(why)


def _shell(argv: Sequence[str], layers: int) -> list[list[str]]:
    name = program_name(argv[0])
    if len(argv) == 3 and argv[1] == "-c":
        return [each for command in simple_commands(argv[2]) for each in _unwrap(command, layers - 1)]
    if len(argv) > 1 and not argv[1].startswith(("-", "+")):
        return [list(argv)]  # a script, judged by its name
    raise Doubtful(f"{name} runs a command line that is not plain")


def _busybox(rest: list[str]) -> list[str]:
    if rest and rest[0].startswith("-"):
        raise Doubtful(f"busybox {rest[0]} is not understood")
    return rest


def _env(rest: list[str]) -> list[str]:
    while rest and rest[0] in ("-i", "-", "--ignore-environment"):
        rest.pop(0)
    if rest and rest[0].startswith("-"):
        raise Doubtful(f"env {rest[0]} changes how the command is read")
    if rest and _ASSIGNMENT.match(rest[0]):
        raise Doubtful(f"env sets {rest[0].partition('=')[0]}")
    return rest


def _plain_wrapper(name: str) -> Callable[[list[str]], list[str]]:
    def strip(rest: list[str]) -> list[str]:
        if rest and rest[0] == "--":
            return rest[1:]
        if rest and rest[0].startswith("-"):
            raise Doubtful(f"{name} {rest[0]} is not understood")
        return rest

    return strip


def _timeout(rest: list[str]) -> list[str]:
    rest = _plain_wrapper("timeout")(rest)
    if rest and not re.fullmatch(r"[0-9.]+[smhd]?", rest[0]):
        raise Doubtful(f"timeout {rest[0]} is not understood")
    return rest[1:]


def _nice(rest: list[str]) -> list[str]:
    if len(rest) > 1 and rest[0] == "-n" and re.fullmatch(r"[+-]?\d+", rest[1]):
        return rest[2:]
    return _plain_wrapper("nice")(rest)


def _command(rest: list[str]) -> list[str]:
    if rest and rest[0] in ("-v", "-V"):
        return []  # only tells where a program is
    return _plain_wrapper("command")(rest)


_STRIPPED: dict[str, Callable[[list[str]], list[str]]] = {
    "env": _env,
    "busybox": _busybox,
    "toybox": _busybox,
    "timeout": _timeout,
    "nice": _nice,
    "command": _command,
    **{
        name: _plain_wrapper(name)
        for name in ("nohup", "time", "exec", "builtin", "setsid", "stdbuf", "ionice")
    },
}
