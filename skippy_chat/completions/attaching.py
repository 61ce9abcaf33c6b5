"""Files that a message names by ``@path``: their text follows the message, each in a frame with its name.

They are read where tools read: inside the workspace, through the same gate, links that lead out refused. What is framed
is text like any other; special tokens in it stay text, as in all of a message.

Invariant: a file goes in whole or the message is not sent; nothing is cut. A file's own text cannot end its frame, and
what is in a frame already is neither read again nor searched for names, so that a sent message can be edited.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.completions.mentions import Mention, mentions
from skippy_chat.errors import AttachmentRefused, PathRefused
from skippy_chat.text.sizes import format_size

MOST_BYTES = 256 << 10  # of all files of a message
_MOST_FILES = 50
_TEXT = "Write \\@ to keep it text."
_LOOKS_LIKE_ONE = re.compile(r"[\w.-]+(?:/[\w.-]+)+|[\w-]+\.[a-z]\w{0,5}")
_FRAME = re.compile(r"(?:^|\n\n)File ([^\n]+):\n(`{3,})[a-z0-9+-]*\n((?:[^\n]*\n)*?)\2(?=\n\n|\Z)")
_FRAME_HEAD = re.compile(r"(?:^|\n\n)File [^\n]+:\n`{3}")
_LANGUAGE = re.compile(r"[a-z0-9+-]{1,12}")


@dataclass(frozen=True, slots=True)
class Attached:
    """A message with the files it names: ``files`` are their paths, ``notes`` what a person should know."""

    text: str
    files: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def attach(text: str, workspace: Path, before: str = "") -> Attached:
    """Return a message with the text of the files that it names behind it.

    A name of nothing that exists is text, and so is a folder's. ``before`` is the message that this one is an edit of:
    what that names already stays as it was sent, text or file.

    Raises:
        AttachmentRefused: a file that exists lies outside, is no text, or is too long; the message is not to be sent.
    """
    old = {path for mention in mentions(before) for path in mention.paths}
    found = [mention for mention in mentions(text) if mention.escaped or not old.intersection(mention.paths)]
    if not found:
        return Attached(text)
    try:
        gate = PathGate(workspace)
    except PathRefused as error:
        raise AttachmentRefused(error.message, _TEXT) from error
    meant = [(mention, _meant(mention, gate.root)) for mention in found]
    notes = [*_notes(meant, gate.root)]
    files: dict[str, str] = {}
    room = MOST_BYTES
    for mention, path in meant:
        if path is None or mention.escaped or path in files or _is_folder(gate.root, path):
            continue
        if _framed(text, path):
            continue
        if len(files) == _MOST_FILES:
            raise AttachmentRefused(f"More than {_MOST_FILES} files are named.", _TEXT)
        files[path] = _read(gate, path, room)
        room -= len(files[path].encode())
    said = _without_backslashes(text, [each for each, path in meant if each.escaped and path is not None])
    frames = [_frame(path, content) for path, content in files.items()]
    return Attached("\n\n".join([said.rstrip("\n") if frames else said, *frames]), tuple(files), tuple(notes))


def split_files(text: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    """Return what was said in a sent message, and the files behind it as (path, text): for showing, no more."""
    first = _FRAME_HEAD.search(text)  # nothing behind it is tried, so that any text is read once
    if first is None:
        return text, ()
    files = []
    at = first.start()
    while (found := _FRAME.match(text, at)) is not None:
        files.append((found[1], found[3]))
        at = found.end()
    return (text, ()) if at < len(text) else (text[: first.start()], tuple(files))


def _meant(mention: Mention, root: Path) -> str | None:
    """Return which of its paths exists, wherever that is: the gate says what becomes of it."""
    return next((path for path in mention.paths if _exists(root, path)), None)


def _exists(root: Path, path: str) -> bool:
    try:
        return os.path.lexists(root / Path(path).expanduser())
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, a home that nobody knows
        return False


def _is_folder(root: Path, path: str) -> bool:
    return ".." not in path.split("/") and (root / path).is_dir()


def _notes(meant: list[tuple[Mention, str | None]], root: Path) -> Iterator[str]:
    for mention, path in meant:
        if mention.escaped:
            continue
        if path is None and _LOOKS_LIKE_ONE.fullmatch(mention.paths[-1]):
            yield f"There is no file {mention.paths[-1]} in the workspace: its name was sent as text."
        elif path is not None and _is_folder(root, path):
            yield f"{path} is a folder: its name was sent, not what is in it."


def _read(gate: PathGate, path: str, room: int) -> str:
    try:
        with gate.open_file(path) as file:
            size = file.info.st_size
            data = b"" if size > room else os.pread(file.fd, room + 1, 0)
    except PathRefused as error:
        raise AttachmentRefused(f"Not sent: {error.message}", _TEXT) from error
    except OSError as error:
        raise AttachmentRefused(f"Not sent: {path} cannot be read: {error.strerror}.", _TEXT) from error
    if max(size, len(data)) > room:
        raise AttachmentRefused(
            f"Not sent: {path} ({format_size(size)}) is too long; the files of a message may have "
            f"{format_size(MOST_BYTES)} together.",
            "Have the model read parts of it with --tools read_file, or paste what matters.",
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise AttachmentRefused(f"Not sent: {path} ({format_size(size)}) is binary, not UTF-8 text.", _TEXT)
    return text.replace("\r\n", "\n")


def _frame(path: str, content: str) -> str:
    longest = max((len(each) for each in re.findall(r"`+", content)), default=0)
    fence = "`" * max(3, longest + 1)
    language = PurePosixPath(path).suffix[1:].lower()
    told = language if _LANGUAGE.fullmatch(language) else ""
    body = content if not content or content.endswith("\n") else f"{content}\n"
    return f"{_head(path)}\n{fence}{told}\n{body}{fence}"


def _head(path: str) -> str:
    return f"File {path}:"


def _framed(text: str, path: str) -> bool:
    return re.search(rf"^{re.escape(_head(path))}\n`{{3,}}", text, re.MULTILINE) is not None


def _without_backslashes(text: str, escaped: list[Mention]) -> str:
    for mention in reversed(escaped):
        text = text[: mention.start] + text[mention.start + 1 :]
    return text
