"""The gate, above all that what was checked is what is used."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from skippy_chat.agent.tools.gate import PathGate
from skippy_chat.errors import PathRefused


def read(gate: PathGate, path: str) -> bytes:
    with gate.open_file(path) as file:
        return os.pread(file.fd, 1000, 0)


def attempt(gate: PathGate, path: str) -> bytes:
    try:
        return read(gate, path)
    except PathRefused:
        return b"refused"


@pytest.fixture
def gate(workspace: Path) -> PathGate:
    (workspace / "a.txt").write_text("a")
    (workspace / "sub").mkdir()
    (workspace / "sub" / "b.txt").write_text("b")
    return PathGate(workspace)


@pytest.mark.parametrize(
    "path", ["a.txt", "./a.txt", "sub/b.txt", "sub//b.txt", "sub/./b.txt", "./sub/b.txt"]
)
def test_plain_paths_open(gate: PathGate, path: str) -> None:
    assert read(gate, path) in (b"a", b"b")


def test_an_absolute_path_inside_opens(gate: PathGate, workspace: Path) -> None:
    assert read(gate, f"{workspace}/sub/b.txt") == b"b"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "..",
        "../outside/secret.txt",
        "sub/../a.txt",
        "sub/../../outside/secret.txt",
        "/etc/passwd",
        "/",
        "//etc/passwd",
        "~/x",
        "~root/x",
        "a.txt\0",
        "a.txt\n",
        "\ud800",
        "a.txt/b",
        "sub",
        "missing",
        "missing/x",
        "x" * 5000,
        "/proc/self/environ",
        "/dev/null",
    ],
)
def test_other_paths_are_refused(gate: PathGate, path: str) -> None:
    with pytest.raises(PathRefused):
        read(gate, path)


def test_the_root_as_a_prefix_of_another_name_is_outside(gate: PathGate, workspace: Path) -> None:
    neighbour = workspace.with_name(workspace.name + "2")
    neighbour.mkdir()
    (neighbour / "x").write_text("no")
    with pytest.raises(PathRefused, match="outside"):
        read(gate, f"{neighbour}/x")


def test_links_inside_are_followed_to_their_real_place(gate: PathGate, workspace: Path) -> None:
    (workspace / "near").symlink_to("sub/b.txt")
    (workspace / "sub" / "up").symlink_to("../a.txt")
    (workspace / "far").symlink_to(workspace / "sub")
    assert read(gate, "near") == b"b"
    assert read(gate, "sub/up") == b"a"
    assert read(gate, "far/b.txt") == b"b"
    place = gate.locate("far/b.txt")
    assert (place.relative, place.linked) == ("sub/b.txt", True)


def test_links_out_are_refused(gate: PathGate, workspace: Path, outside: Path) -> None:
    (workspace / "file").symlink_to(outside / "secret.txt")
    (workspace / "folder").symlink_to(outside)
    (workspace / "relative").symlink_to("../outside/secret.txt")
    (workspace / "sub" / "hop").symlink_to("../relative")
    for path in ("file", "folder/secret.txt", "relative", "sub/hop"):
        with pytest.raises(PathRefused, match="leads out"):
            read(gate, path)
        with pytest.raises(PathRefused), gate.open_parent(path):
            pytest.fail("opened")


def test_dangling_and_circular_links_are_refused(gate: PathGate, workspace: Path) -> None:
    (workspace / "dangling").symlink_to("nothing")
    (workspace / "gone").symlink_to("nothing/below")
    (workspace / "one").symlink_to("two")
    (workspace / "two").symlink_to("one")
    for path in ("dangling", "gone", "one"):
        with pytest.raises(PathRefused):
            read(gate, path)
        with pytest.raises(PathRefused), gate.open_parent(path, make=True):
            pytest.fail("opened")
    assert not (workspace / "nothing").exists()


def test_new_files_below_a_link_inside_are_new_files(gate: PathGate, workspace: Path) -> None:
    (workspace / "near").symlink_to("sub")
    place = gate.locate("near/new/x")
    assert (place.relative, place.exists, place.linked) == ("sub/new/x", False, True)
    with gate.open_parent("near/new/x", make=True) as parent:
        assert (parent.place.relative, parent.made) == ("sub/new/x", ("sub/new",))


def test_a_fifo_and_a_socket_are_refused_without_waiting(gate: PathGate, workspace: Path) -> None:
    os.mkfifo(workspace / "fifo")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(workspace)  # addresses of sockets are short
        try:
            listener.bind("socket")
        finally:
            os.chdir(here)
        for path in ("fifo", "socket"):
            with pytest.raises(PathRefused, match="device, a pipe or a socket"):
                read(gate, path)


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc here")
def test_files_of_the_kernel_are_refused_even_below_the_root() -> None:
    gate = PathGate(Path("/"))
    for path in ("proc/self/environ", "dev/null", "dev/zero", "/proc/self/root/etc/passwd"):
        with pytest.raises(PathRefused):
            read(gate, path)


def swapping(monkeypatch: pytest.MonkeyPatch, name: str, swap: Callable[[], None]) -> None:
    """Do something between the look at ``name`` and its opening."""
    real = os.open

    def opened(path: str, flags: int, *arguments: int, dir_fd: int | None = None) -> int:
        if path == name:
            swap()
        return real(path, flags, *arguments, dir_fd=dir_fd)

    monkeypatch.setattr(os, "open", opened)


def test_a_link_swapped_in_for_the_file_is_not_followed(
    gate: PathGate, workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def swap() -> None:
        (workspace / "a.txt").unlink()
        (workspace / "a.txt").symlink_to(outside / "secret.txt")

    swapping(monkeypatch, "a.txt", swap)
    with pytest.raises(PathRefused):
        read(gate, "a.txt")


def test_a_link_swapped_in_for_a_folder_is_not_followed(
    gate: PathGate, workspace: Path, outside: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (outside / "b.txt").write_text("SECRET")

    def swap() -> None:
        (workspace / "sub").rename(workspace / "old")
        (workspace / "sub").symlink_to(outside)

    swapping(monkeypatch, "sub", swap)
    with pytest.raises(PathRefused):
        read(gate, "sub/b.txt")


def test_another_file_and_a_fifo_swapped_in_are_refused(
    gate: PathGate, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def other() -> None:
        (workspace / "c.txt").write_text("another")
        (workspace / "c.txt").replace(workspace / "a.txt")

    with monkeypatch.context() as patched:
        swapping(patched, "a.txt", other)
        with pytest.raises(PathRefused, match="exchanged"):
            read(gate, "a.txt")

    def fifo() -> None:
        (workspace / "a.txt").unlink()
        os.mkfifo(workspace / "a.txt")

    swapping(monkeypatch, "a.txt", fifo)
    with pytest.raises(PathRefused, match="exchanged"):
        read(gate, "a.txt")


def test_a_link_that_comes_and_goes_never_leads_out(gate: PathGate, workspace: Path, outside: Path) -> None:
    """A real race: another thread swaps a folder and a link to the outside as fast as it can."""
    (outside / "b.txt").write_text("SECRET")
    (workspace / "link").symlink_to(outside)
    stop = threading.Event()

    def swap() -> None:
        while not stop.is_set():
            (workspace / "sub").rename(workspace / "spare")
            (workspace / "link").rename(workspace / "sub")
            (workspace / "sub").rename(workspace / "link")
            (workspace / "spare").rename(workspace / "sub")

    swapper = threading.Thread(target=swap)
    swapper.start()
    seen = set()
    try:
        for _ in range(1500):
            seen.add(attempt(gate, "sub/b.txt"))
    finally:
        stop.set()
        swapper.join()
    assert seen <= {b"b", b"refused"}


def test_a_root_that_was_exchanged_is_refused(gate: PathGate, workspace: Path) -> None:
    workspace.rename(workspace.with_name("moved"))
    workspace.mkdir()
    (workspace / "a.txt").write_text("another")
    with pytest.raises(PathRefused, match="no longer"):
        read(gate, "a.txt")


def test_missing_folders_are_made_only_where_asked(gate: PathGate, workspace: Path) -> None:
    with pytest.raises(PathRefused), gate.open_parent("new/deep/x.txt"):
        pytest.fail("opened")
    assert gate.locate("new/deep/x.txt").relative == "new/deep/x.txt"
    assert not (workspace / "new").exists()
    with gate.open_parent("new/deep/x.txt", make=True) as parent:
        assert (parent.info, parent.made) == (None, ("new", "new/deep"))
    assert (workspace / "new" / "deep").is_dir()


def test_another_spelling_is_refused_where_the_file_system_takes_it(
    gate: PathGate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that takes both cases, as on macOS: names are looked up in small letters."""
    stat, opened = os.stat, os.open

    def folded_stat(
        path: str | int | Path, *, dir_fd: int | None = None, follow_symlinks: bool = True
    ) -> os.stat_result:
        name = path.lower() if isinstance(path, str) and dir_fd is not None else path
        return stat(name, dir_fd=dir_fd, follow_symlinks=follow_symlinks)

    def folded_open(path: str, flags: int, *mode: int, dir_fd: int | None = None) -> int:
        return opened(path.lower() if dir_fd is not None else path, flags, *mode, dir_fd=dir_fd)

    monkeypatch.setattr(os, "stat", folded_stat)
    monkeypatch.setattr(os, "open", folded_open)
    assert read(gate, "sub/b.txt") == b"b"
    for path in ("A.txt", "a.TXT", "SUB/b.txt", "sub/B.txt"):
        with pytest.raises(PathRefused, match="spelt otherwise"):
            read(gate, path)


def test_output_folders_are_readable_by_their_path_and_not_writable(workspace: Path, outside: Path) -> None:
    gate = PathGate(workspace, readable=(outside,))
    assert read(gate, f"{outside}/secret.txt").startswith(b"SECRET")
    with pytest.raises(PathRefused), gate.open_parent(f"{outside}/secret.txt"):
        pytest.fail("opened")


def test_no_descriptor_stays_open(gate: PathGate, workspace: Path, outside: Path) -> None:
    (workspace / "out").symlink_to(outside)
    before = len(list(Path("/dev/fd").iterdir()))
    for path in ("a.txt", "sub/b.txt", "out/secret.txt", "missing/x", "sub", "/etc/passwd"):
        for _ in range(5):
            attempt(gate, path)
    assert len(list(Path("/dev/fd").iterdir())) == before


NAMES = st.sampled_from(["a", "b", "c", "link", "up", "..", ".", "", "d"])
PATHS = st.lists(NAMES, min_size=1, max_size=6).map("/".join)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(links=st.dictionaries(PATHS, PATHS, max_size=4), files=st.lists(PATHS, max_size=4), asked=PATHS)
def test_what_opens_is_what_the_system_finds_inside(
    links: dict[str, str], files: list[str], asked: str
) -> None:
    """In any tree of files and links: what opens is the file that the system's own resolution finds, inside."""
    base = Path(tempfile.mkdtemp()).resolve()
    root = base / "root"
    try:
        for folder in (root, root / "a", root / "a" / "b", base / "out"):
            folder.mkdir()
        for path in files:
            place = root / os.path.normpath(f"./{path.lstrip('/')}").replace("..", "a")
            if place.parent.is_dir() and not place.exists():
                place.write_text(str(place))
        (base / "out" / "a").write_text("OUTSIDE")
        for path, target in links.items():
            place = root / os.path.normpath(f"./{path.lstrip('/')}").replace("..", "a")
            if place.parent.is_dir() and not os.path.lexists(place):
                place.symlink_to(target or "../out")
        gate = PathGate(root)
        try:
            found = read(gate, asked).decode()
        except PathRefused:
            real = Path(os.path.realpath(root / asked))
            climbs = any(".." in each or each.startswith("/") for each in (asked, *links.values(), *links))
            assert climbs or not (real.is_relative_to(root) and real.is_file())
        else:
            assert found == str(Path(os.path.realpath(root / asked)))
    finally:
        shutil.rmtree(base)
