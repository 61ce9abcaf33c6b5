"""Which git command lines do only what they say: git can be told to run other programs in many ways.

Aliases, settings on the command line, and options that name programs are doubtful. Commands that run a repository's
hooks pass, but a rule must name them (``patterns.py``); the hooks themselves no tool writes unasked.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_KNOWN_WORDS = (
    "add am apply archive bisect blame branch bundle cat-file check-attr check-ignore checkout cherry cherry-pick clean"
    " clone commit count-objects describe diff diff-tree fetch format-patch fsck gc grep help init log ls-files"
    " ls-remote ls-tree merge merge-base mv name-rev notes prune pull push range-diff rebase reflog remote reset"
    " restore rev-list rev-parse revert rm shortlog show show-ref sparse-checkout stash status switch symbolic-ref"
    " tag version worktree write-tree"
)
_KNOWN = frozenset(_KNOWN_WORDS.split())
_HOOKED_WORDS = (
    "am checkout cherry-pick clone commit fetch gc merge pull push rebase reset restore revert stash switch"
    " worktree"
)
_HOOKED = frozenset(_HOOKED_WORDS.split())
# Before the command: what changes git's settings, its programs or the place it works in.
_BEFORE = re.compile(
    r"-[cCp].*|--(config-env|exec-path|git-dir|work-tree|namespace|super-prefix|paginate)(=.*)?"
)
# After it: what names a program to run or a file to write. Git takes any beginning of a long option that is unique.
_AFTER_WORDS = (
    "exec upload-pack receive-pack ext-diff textconv open-files-in-pager output template config tool extcmd strategy"
    " gpg-sign show-signature separate-git-dir output-directory edit remote"
)
_AFTER = frozenset(_AFTER_WORDS.split())
_RUNNING = re.compile(r"-x.*|-O.*|-u.+|[a-z0-9+.-]+::.*")


def doubt(argv: Sequence[str]) -> str:
    """Say why a git command line may do more than its words tell; empty when it does not."""
    rest = list(argv[1:])
    while rest and rest[0].startswith("-"):
        option = rest.pop(0)
        if _BEFORE.fullmatch(option):
            return f"git {option.partition('=')[0]} changes what git runs, or where"
    if not rest:
        return ""
    command = rest[0]
    if command not in _KNOWN:
        return f"git {command} may be an alias or a program of its own"
    if (command, rest[1:2]) == ("bisect", ["run"]):
        return "git bisect run runs commands"
    for word in rest[1:]:
        if command in ("clone", "ls-remote", "fetch") and word.startswith(("-c", "-u")):
            return f"git {command} {word} may run or write what it names"
        name = word.partition("=")[0]
        # Two letters and more: shorter beginnings are not unique, or are plain "--".
        long = name[2:] if name.startswith("--") and len(name) > 3 else ""
        if _RUNNING.fullmatch(word) or (long and any(each.startswith(long) for each in _AFTER)):
            return f"git {command} {name} may run or write what it names"
    return ""


def bare(argv: Sequence[str]) -> list[str]:
    """Return a git command line without the options before the command, so that a rule for the command fits it."""
    rest = list(argv[1:])
    while rest and rest[0].startswith("-"):
        rest.pop(0)
    return [argv[0], *rest]


def runs_hooks(argv: Sequence[str]) -> str:
    """Return the command's own word when it runs a repository's hooks, else nothing."""
    command = next((each for each in argv[1:] if not each.startswith("-")), "")
    return command if command in _HOOKED else ""
