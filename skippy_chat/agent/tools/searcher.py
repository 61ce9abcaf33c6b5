"""Search files by a Python regular expression: for ``search_files`` where ripgrep is missing. It runs as a script.

A process of its own, since ``re`` cannot be interrupted: a pattern that runs away is killed with it. Reads the current
folder, or standard input when the second argument is ``-``; writes ``path NUL line:text`` as ripgrep does.
"""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import BinaryIO

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def main(pattern: str, where: str, most_bytes: int, *skipped: str) -> int:
    """Print all matches; returns 0 with some, 1 with none, 2 when the pattern is wrong."""
    try:
        wanted = re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        sys.stdout.write(f"the pattern is not a regular expression: {error}\n")
        return 2
    found = False
    if where == "-":
        found = _search(sys.stdin.buffer, "", wanted)
    else:
        for folder, name, fd in _files(set(skipped)):
            info = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if not stat.S_ISREG(info.st_mode) or info.st_size > int(most_bytes):
                continue
            try:
                file = os.fdopen(os.open(name, _FLAGS, dir_fd=fd), "rb")
            except OSError:
                continue
            with file:
                found = _search(file, os.path.normpath(os.path.join(folder, name)), wanted) or found  # noqa: PTH118
    return 0 if found else 1


def _files(skipped: set[str]) -> Iterator[tuple[str, str, int]]:
    for folder, folders, names, fd in os.fwalk("."):
        folders[:] = sorted(each for each in folders if each not in skipped)
        for name in sorted(names):
            yield folder, name, fd


def _search(file: BinaryIO, path: str, wanted: re.Pattern[str]) -> bool:
    try:
        data = file.read()
    except OSError:
        return False
    if b"\0" in data[:8192]:
        return False
    found = False
    out = sys.stdout.buffer
    for number, line in enumerate(data.decode("utf-8", "replace").split("\n"), 1):
        if wanted.search(line.removesuffix("\r")):
            found = True
            out.write(os.fsencode(path) + b"\0%d:" % number + line.encode("utf-8", "replace") + b"\n")
            out.flush()
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], int(sys.argv[3]), *sys.argv[4:]))
