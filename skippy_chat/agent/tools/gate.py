"""The one gate that every path of a model goes through.

A path is walked from the workspace root folder by folder, each opened relative to the one before and never through a
link; links are read and walked by hand. So what was checked is what is used: a link swapped in between makes the open
fail, and a folder moved in between stays the folder that was checked.

Invariant: a descriptor given out lies in the root (or, for reading, in one of the few other readable folders) and is a
plain file or a folder.
"""

from __future__ import annotations

import copy
import os
import stat
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from skippy_chat.agent.tools.near import OPEN_FOLDER, meant
from skippy_chat.errors import PathRefused

_Missing: TypeAlias = Literal["refuse", "make", "pass"]  # what becomes of missing folders on the way

_LONGEST = 4096
_MOST_LINKS = 20
# Not blocking: a fifo swapped in for a file must not hang the open.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_FROM_THE_ROOT = "Write it from the workspace root, for example src/main.py."


@dataclass(frozen=True, slots=True)
class Place:
    """Where a path really leads: names below ``root``, links resolved; ``linked`` when there were any."""

    root: Path
    parts: tuple[str, ...]
    exists: bool
    linked: bool

    @property
    def relative(self) -> str:
        """The path from the root, ``.`` for the root itself."""
        return "/".join(self.parts) or "."


@dataclass(frozen=True, slots=True)
class OpenFile:
    """A plain file, opened for reading."""

    fd: int
    place: Place
    info: os.stat_result


@dataclass(frozen=True, slots=True)
class OpenFolder:
    """A folder, opened."""

    fd: int
    place: Place


@dataclass(frozen=True, slots=True)
class OpenParent:
    """The folder a file is to be written in: ``info`` is the file's own, None where there is none yet."""

    fd: int
    name: str
    place: Place
    info: os.stat_result | None
    made: tuple[str, ...]  # folders made on the way, relative to the root


@dataclass(slots=True)
class _Walk:
    """Folders opened so far, the root first, and the last name when it is no folder (or not there)."""

    root: Path
    folders: list[tuple[str, int]]
    leaf: str | None = None
    info: os.stat_result | None = None
    linked: bool = False
    made: list[str] = field(default_factory=list)
    beyond: tuple[str, ...] = ()  # names below a leaf that is not there

    @property
    def fd(self) -> int:
        return self.folders[-1][1]

    @property
    def parts(self) -> tuple[str, ...]:
        names = [name for name, _ in self.folders[1:]]
        return (*names, self.leaf, *self.beyond) if self.leaf is not None else tuple(names)

    @property
    def place(self) -> Place:
        return Place(self.root, self.parts, self.leaf is None or self.info is not None, self.linked)

    def back_to_root(self) -> None:
        while len(self.folders) > 1:
            os.close(self.folders.pop()[1])

    def close(self) -> None:
        while self.folders:
            os.close(self.folders.pop()[1])


class PathGate:
    """Opens what a model names, inside ``root``; files in ``readable`` folders may be read by their absolute paths."""

    def __init__(self, root: Path, readable: Sequence[Path] = ()) -> None:
        """Fix the root by device and inode.

        Raises:
            PathRefused: it is not a folder.
        """
        self.root = root.resolve()
        self._readable = tuple(each.resolve() for each in readable)
        self._known: dict[Path, tuple[int, int]] = {}
        info = self._stat_root()
        self._known[self.root] = (info.st_dev, info.st_ino)
        self._special = _special_devices()
        self._expected: Mapping[str, Place] = {}

    def _stat_root(self) -> os.stat_result:
        try:
            info = self.root.stat()
        except OSError as error:
            raise PathRefused(f"The workspace {self.root} cannot be used: {error.strerror}.") from error
        if not stat.S_ISDIR(info.st_mode):
            raise PathRefused(f"The workspace {self.root} is not a folder.")
        return info

    def expecting(self, places: Mapping[str, Place]) -> PathGate:
        """Return this gate for one call: each of these paths must lead where it led when the call was judged."""
        twin = copy.copy(self)
        twin._expected = dict(places)
        return twin

    def locate(self, path: str) -> Place:
        """Tell where ``path`` leads; it need not exist, nor the folders on the way.

        Raises:
            PathRefused: it leads outside, through a dangling link, or not to a file or folder.
        """
        with self._walk(path, read=True, missing="pass") as walk:
            if walk.info is not None:
                _refuse_special(path, walk.info)
            return walk.place

    @contextmanager
    def open_file(self, path: str) -> Iterator[OpenFile]:
        """Open a plain file for reading.

        Raises:
            PathRefused: as ``locate``; also when there is no such file.
        """
        with self._walk(path, read=True) as walk:
            if walk.leaf is None:
                raise PathRefused(f"{_quoted(path)} is a folder, not a file.")
            if walk.info is None:
                raise PathRefused(f"There is no file {_quoted(path)}.", self._hint(walk.leaf, walk))
            _refuse_special(path, walk.info)
            fd = self._open(path, walk.leaf, _FILE, walk.fd, walk.info)
            try:
                yield OpenFile(fd, walk.place, os.fstat(fd))
            finally:
                os.close(fd)

    @contextmanager
    def open_folder(self, path: str) -> Iterator[OpenFolder]:
        """Open a folder.

        Raises:
            PathRefused: as ``locate``; also when there is no such folder.
        """
        with self._walk(path, read=True) as walk:
            if walk.leaf is not None:
                if walk.info is None:
                    raise PathRefused(f"There is no folder {_quoted(path)}.", self._hint(walk.leaf, walk))
                raise PathRefused(f"{_quoted(path)} is not a folder.")
            yield OpenFolder(walk.fd, walk.place)

    @contextmanager
    def open_parent(self, path: str, *, make: bool = False) -> Iterator[OpenParent]:
        """Open the folder that holds, or is to hold, the plain file ``path``; ``make`` makes missing folders.

        Raises:
            PathRefused: as ``locate``; also when a folder or no plain file is there.
        """
        with self._walk(path, read=False, missing="make" if make else "refuse") as walk:
            if walk.leaf is None:
                raise PathRefused(f"{_quoted(path)} is a folder, not a file.")
            if walk.info is not None:
                _refuse_special(path, walk.info)
            yield OpenParent(walk.fd, walk.leaf, walk.place, walk.info, tuple(walk.made))

    @contextmanager
    def _walk(self, path: str, *, read: bool, missing: _Missing = "refuse") -> Iterator[_Walk]:
        root, names = self._split(path, read=read)
        walk = _Walk(root, [])
        try:
            walk.folders.append(("", self._open_root(root)))
            try:
                self._follow(path, names, walk, missing)
            except OSError as error:
                raise PathRefused(f"{_quoted(path)} cannot be used: {error.strerror or error}.") from error
            expected = self._expected.get(path)
            if expected is not None and (expected.root, expected.parts) != (walk.root, walk.parts):
                raise PathRefused(f"{_quoted(path)} leads elsewhere than when the call was judged.")
            yield walk
        finally:
            walk.close()

    def _split(self, path: str, *, read: bool) -> tuple[Path, list[str]]:
        if not path:
            raise PathRefused("The path is empty.", _FROM_THE_ROOT)
        if len(path) > _LONGEST:
            raise PathRefused(f"The path is longer than {_LONGEST} characters.")
        if any(unicodedata.category(each) in ("Cc", "Cs") for each in path):
            raise PathRefused(f"{_quoted(path)} holds control characters or half characters.")
        if path.startswith("~"):
            raise PathRefused(f"{_quoted(path)} is refused: home folders are not known here.", _FROM_THE_ROOT)
        names = path.split("/")
        if ".." in names:
            raise PathRefused(f'{_quoted(path)} is refused: ".." is not allowed in paths.', _FROM_THE_ROOT)
        if not path.startswith("/"):
            return self.root, names
        for root in (self.root, *(self._readable if read else ())):
            below = _below(root, names)
            if below is not None:
                return root, below
        raise PathRefused(f"{_quoted(path)} is refused: it lies outside the workspace.", _FROM_THE_ROOT)

    def _open_root(self, root: Path) -> int:
        try:
            fd = os.open(root, OPEN_FOLDER)
        except OSError as error:
            raise PathRefused(f"{root} cannot be opened: {error.strerror}.") from error
        info = os.fstat(fd)
        if self._known.setdefault(root, (info.st_dev, info.st_ino)) != (info.st_dev, info.st_ino):
            os.close(fd)
            raise PathRefused(f"{root} is no longer the folder it was.", "Start again in the new one.")
        return fd

    def _follow(self, path: str, names: list[str], walk: _Walk, missing: _Missing) -> None:
        pending = [each for each in reversed(names) if each not in ("", ".")]
        links = 0
        of_link = 0  # how many of the pending names a link put there
        while pending:
            name = pending.pop()
            from_link, of_link = of_link > 0, max(0, of_link - 1)
            if name == "..":  # from a link: the path itself has none
                if len(walk.folders) == 1:
                    raise _leaves(path)
                os.close(walk.folders.pop()[1])
                continue
            try:
                info = os.stat(name, dir_fd=walk.fd, follow_symlinks=False)
            except FileNotFoundError:
                if from_link:
                    raise PathRefused(
                        f"{_quoted(path)} is refused: a link on the way leads nowhere."
                    ) from None
                self._missing(path, name, pending, walk, missing)
                continue
            if stat.S_ISLNK(info.st_mode):
                links += 1
                if links > _MOST_LINKS:
                    raise PathRefused(f"{_quoted(path)} is refused: too many links.")
                walk.linked = True
                target = self._target(path, os.readlink(name, dir_fd=walk.fd), walk)
                pending += target
                of_link += len(target)
            else:
                self._step(path, name, info, walk, last=not pending)

    def _step(self, path: str, name: str, info: os.stat_result, walk: _Walk, *, last: bool) -> None:
        """Enter a folder, or arrive at what is none."""
        _refuse_other_spelling(path, name, info, walk.fd)
        if info.st_dev in self._special:
            raise PathRefused(f"{_quoted(path)} is refused: it lies in a file system of the kernel.")
        if stat.S_ISDIR(info.st_mode):
            walk.folders.append((name, self._open(path, name, OPEN_FOLDER, walk.fd, info)))
        elif not last:
            raise PathRefused(f"{_quoted(path)} cannot be used: {_quoted(name)} is not a folder.")
        else:
            walk.leaf, walk.info = name, info

    def _missing(self, path: str, name: str, pending: list[str], walk: _Walk, missing: _Missing) -> None:
        """Deal with a name that is not there: the last one may be missing, a folder only where ``missing`` allows."""
        if not pending:
            walk.leaf = name
            return
        if missing == "pass":
            walk.leaf, walk.beyond = name, tuple(reversed(pending))
            pending.clear()
            return
        if missing == "refuse":
            hint = self._hint(name, walk, below=tuple(reversed(pending)))
            raise PathRefused(f"There is no folder {_quoted(name)} on the way to {_quoted(path)}.", hint)
        os.mkdir(name, dir_fd=walk.fd)
        walk.folders.append((name, os.open(name, OPEN_FOLDER, dir_fd=walk.fd)))
        walk.made.append("/".join(walk.parts))

    def _hint(self, name: str, walk: _Walk, *, below: tuple[str, ...] = ()) -> str:
        """Return what a name that is not in the folder reached so far was probably meant to be."""
        # Outside the workspace a path is given from the very root, as it must be.
        root = () if walk.root == self.root else (str(walk.root),)
        above = (*root, *(each for each, _ in walk.folders[1:]))
        return meant(name, walk.fd, above=above, below=below, top=(walk.folders[0][1], root))

    def _target(self, path: str, target: str, walk: _Walk) -> list[str]:
        """Return the names of a link's target, last first; an absolute one starts over at the root."""
        names = target.split("/")
        if target.startswith("/"):
            below = _below(walk.root, names)
            if below is None:
                raise _leaves(path)
            names = below
            walk.back_to_root()
        return [each for each in reversed(names) if each not in ("", ".")]

    def _open(self, path: str, name: str, flags: int, folder: int, seen: os.stat_result) -> int:
        """Open what was looked at a moment ago, and make sure that it is that."""
        try:
            fd = os.open(name, flags, dir_fd=folder)
        except OSError as error:
            raise PathRefused(f"{_quoted(path)} cannot be opened: {error.strerror}.") from error
        info = os.fstat(fd)
        if (info.st_dev, info.st_ino, stat.S_IFMT(info.st_mode)) != (
            seen.st_dev,
            seen.st_ino,
            stat.S_IFMT(seen.st_mode),
        ):
            os.close(fd)
            raise PathRefused(f"{_quoted(path)} was exchanged while it was opened.", "Try again.")
        return fd


def _below(root: Path, names: list[str]) -> list[str] | None:
    """Return the names below ``root`` of an absolute path, None when it does not begin with it."""
    names = [each for each in names if each]
    above = [each for each in root.parts if each != "/"]
    return names[len(above) :] if names[: len(above)] == above else None


def _refuse_special(path: str, info: os.stat_result) -> None:
    if not stat.S_ISREG(info.st_mode) and not stat.S_ISDIR(info.st_mode):
        raise PathRefused(f"{_quoted(path)} is refused: it is a device, a pipe or a socket, not a file.")


def _refuse_other_spelling(path: str, name: str, info: os.stat_result, folder: int) -> None:
    """Refuse a name that a folder knows only in another case or another composition of its characters.

    Rules compare names; where the file system takes two spellings for one, only the stored one counts.
    """
    if name.isascii():
        other = name.swapcase()
        if other == name:
            return
        try:
            twin = os.stat(other, dir_fd=folder, follow_symlinks=False)
        except OSError:
            return
        if (twin.st_dev, twin.st_ino) != (info.st_dev, info.st_ino):
            return
    if name not in os.listdir(folder):
        raise PathRefused(f"{_quoted(path)} is refused: the name is spelt otherwise on disk.")


def _special_devices() -> frozenset[int]:
    """Return the devices of /proc and /sys: what looks like a file there is the kernel's."""
    kernel = {each.stat().st_dev for each in map(Path, ("/proc", "/sys")) if each.is_dir()}
    return frozenset(kernel - {Path("/").stat().st_dev})


def _leaves(path: str) -> PathRefused:
    return PathRefused(f"{_quoted(path)} is refused: a link on the way leads out of the workspace.")


def _quoted(text: str) -> str:
    shown = text if len(text) <= 200 else f"{text[:200]}…"
    return '"' + shown.encode("utf-8", "backslashreplace").decode() + '"'
