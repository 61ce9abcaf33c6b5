"""``fetch_url``: a page as text, from the public network only, unless a person allowed more.

No cookies, no stored sign-in, no proxy of the environment: what a model asks for is asked for in nobody's name. Each
redirect is judged like a first address.
"""

from __future__ import annotations

import codecs
import http.client
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar
from urllib.parse import urljoin

from skippy_chat.agent.tools.addresses import Target, read_url, resolve
from skippy_chat.agent.tools.described import BuiltIn
from skippy_chat.agent.tools.process import Program, run_program
from skippy_chat.agent.tools.protocol import Arguments, Needs, ToolContext, ToolResult
from skippy_chat.errors import ToolError

_MOST_REDIRECTS = 5
_PAGE_TEXT = Path(__file__).with_name("page_text.py")
_HTML = ("text/html", "application/xhtml+xml")
_TEXT = ("text/", "application/json", "application/xml", "application/javascript")
_PIECE = 65536


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a server said; ``body`` is cut at the limit, ``cut`` tells."""

    status: int
    location: str | None
    kind: str
    charset: str
    body: bytes
    cut: bool


class FetchUrl(BuiltIn):
    """Fetches pages."""

    name: ClassVar[str] = "fetch_url"
    needs: ClassVar[Needs] = Needs(network="url")

    def __init__(self, *, allow_private: bool = False) -> None:
        """``allow_private`` lets it reach private and loopback addresses."""
        self._allow_private = allow_private

    def run(self, arguments: Arguments, context: ToolContext) -> ToolResult:
        """Return the page's text, with the address it came from when that is another."""
        target = read_url(arguments["url"])
        deadline = time.monotonic() + context.limits.fetch_seconds
        for _ in range(_MOST_REDIRECTS + 1):
            answer = self._ask(target, deadline, context)
            if answer.location is None:
                return self._result(target, answer, deadline, context)
            target = read_url(urljoin(target.url, answer.location))
        raise ToolError(f"The address was redirected more than {_MOST_REDIRECTS} times.")

    def _ask(self, target: Target, deadline: float, context: ToolContext) -> _Answer:
        addresses = resolve(target, allow_private=self._allow_private, seconds=deadline - time.monotonic())
        try:
            with (
                _connected(target, addresses, deadline) as sock,
                _ended_in_time(sock, deadline, context.cancel) as cut_off,
            ):
                answer = _exchange(target, sock, context.limits.fetch_bytes)
                if cut_off.is_set():  # a body without a length looks whole then
                    raise TimeoutError("cut off")
                return answer
        except (OSError, http.client.HTTPException, ValueError) as error:
            if context.cancel.is_set():
                raise ToolError("Cancelled.") from error
            if time.monotonic() >= deadline:
                raise ToolError(
                    f"{target.host} took longer than {context.limits.fetch_seconds:g} seconds."
                ) from error
            raise ToolError(f"{target.url} cannot be fetched: {type(error).__name__}: {error}.") from error

    def _result(self, target: Target, answer: _Answer, deadline: float, context: ToolContext) -> ToolResult:
        if (
            not answer.kind.startswith(_TEXT)
            and answer.kind not in _HTML
            and not answer.kind.endswith(("+json", "+xml"))
        ):
            raise ToolError(f"{target.url} is {answer.kind or 'of no kind it tells'}, not text.")
        if answer.kind in _HTML:
            text = _as_text(answer, deadline, context)
        else:
            text = answer.body.decode(answer.charset, "replace")
        if answer.cut:
            text += f"\n[… cut after {context.limits.fetch_bytes:,} bytes …]"
        head = f"{target.url} (HTTP {answer.status})"
        return ToolResult("ok" if answer.status < 400 else "error", f"{head}\n\n{text}")


@contextmanager
def _connected(target: Target, addresses: list[str], deadline: float) -> Iterator[socket.socket]:
    """Connect to one of the judged addresses, in order."""
    fault: OSError = OSError("no address")
    for address in addresses:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("too late")
        try:
            sock = socket.create_connection((address, target.port), timeout=left)
        except OSError as error:
            fault = error
            continue
        with sock:
            if target.scheme == "http":
                yield sock
                return
            with ssl.create_default_context().wrap_socket(sock, server_hostname=target.host) as secure:
                yield secure
                return
    raise fault


@contextmanager
def _ended_in_time(
    sock: socket.socket, deadline: float, cancel: threading.Event
) -> Iterator[threading.Event]:
    """Shut the connection at the deadline or on cancel: a server that drips bytes defeats time-outs of single reads.

    The event given tells whether that happened.
    """
    done, cut_off = threading.Event(), threading.Event()

    def watch() -> None:
        while not done.wait(0.05):
            if cancel.is_set() or time.monotonic() >= deadline:
                cut_off.set()
                with suppress(OSError):
                    sock.shutdown(socket.SHUT_RDWR)
                return

    watcher = threading.Thread(target=watch, daemon=True, name="fetch-watch")
    watcher.start()
    try:
        yield cut_off
    finally:
        done.set()
        watcher.join()


def _exchange(target: Target, sock: socket.socket, most: int) -> _Answer:
    connection = http.client.HTTPConnection(target.host, target.port)
    connection.sock = sock
    headers = {
        "Host": target.host_header,
        "User-Agent": "skippy-chat",
        "Accept": "text/html, text/*;q=0.9, application/json;q=0.8",
        "Accept-Encoding": "identity",  # so that a small answer stays small
        "Connection": "close",
    }
    connection.putrequest("GET", target.path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    answer = connection.getresponse()
    if answer.status in (301, 302, 303, 307, 308):
        return _Answer(answer.status, answer.getheader("Location") or "", "", "utf-8", b"", cut=False)
    if (answer.getheader("Content-Encoding") or "identity").lower() != "identity":
        raise ToolError(f"{target.url} came compressed, though that was not asked for.")
    body = bytearray()
    while len(body) <= most and (piece := answer.read1(_PIECE)):
        body += piece
    if answer.length and len(body) <= most:
        raise http.client.IncompleteRead(b"", answer.length)
    kind = answer.headers.get_content_type() if answer.getheader("Content-Type") else ""
    return _Answer(
        answer.status,
        None,
        kind,
        _charset(answer.headers.get_content_charset()),
        bytes(body[:most]),
        len(body) > most,
    )


def _charset(name: str | None) -> str:
    try:
        # Some of Python's codecs are no character sets at all, and turn bytes into bytes.
        return name if name and isinstance(b"".decode(codecs.lookup(name).name), str) else "utf-8"
    except (LookupError, ValueError):
        return "utf-8"


def _as_text(answer: _Answer, deadline: float, context: ToolContext) -> str:
    output = bytearray()

    def take(data: bytes) -> bool:
        output.extend(data)
        return len(output) <= 4 * context.limits.fetch_bytes

    with tempfile.TemporaryFile() as page, context.gate.open_folder(".") as folder:
        page.write(answer.body)
        page.seek(0)
        program = Program(
            [sys.executable, "-I", "-S", str(_PAGE_TEXT), answer.charset],
            folder.fd,
            {},
            max(deadline - time.monotonic(), 1.0),
            context.limits.memory_bytes,
            page.fileno(),
        )
        ended = run_program(program, take, context.cancel)
    if ended.how != "exit" or ended.code != 0:
        raise ToolError("The page could not be turned into text.")
    return output.decode("utf-8", "replace")
