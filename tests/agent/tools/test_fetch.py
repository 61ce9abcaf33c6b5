"""Fetching: real requests to a server on loopback, which has to be allowed for it."""

from __future__ import annotations

import dataclasses
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from skippy_chat.agent.tools import addresses
from skippy_chat.agent.tools.addresses import is_public, read_url
from skippy_chat.agent.tools.fetch import FetchUrl
from skippy_chat.agent.tools.protocol import Limits, ToolContext, ToolResult
from skippy_chat.agent.tools.registry import Registry
from skippy_chat.errors import ToolError

PAGE = """<!doctype html><html><head><title>A page</title><style>p {}</style><script>alert("no")</script></head>
<body><h1>Head &amp; line</h1><p>One   two
three</p><ul><li>first<li>second</ul><pre>  kept
    so</pre><p hidden>x</p></body></html>"""


class Server(ThreadingHTTPServer):
    """A site of a few pages, each there for one test."""

    daemon_threads = True
    stop: threading.Event
    asked: list[str]

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class Site(BaseHTTPRequestHandler):
    """Answers."""

    server: Server

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        name = self.path.partition("?")[0].strip("/")
        getattr(self, f"give_{name}", self.give_nothing)()

    def answer(self, body: bytes, kind: str = "text/plain", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def give_nothing(self) -> None:
        self.answer(b"nothing here", status=404)

    def give_page(self) -> None:
        self.answer(PAGE.encode(), "text/html; charset=utf-8")

    def give_latin(self) -> None:
        self.answer("caf\xe9".encode("latin-1"), "text/plain; charset=iso-8859-1")

    def give_json(self) -> None:
        self.answer(b'{"a": 1}', "application/json")

    def give_image(self) -> None:
        self.answer(b"\x89PNG", "image/png")

    def give_packed(self) -> None:
        self.answer(b"xxxx", Content_Encoding="gzip")

    def give_there(self) -> None:
        self.answer(b"", status=302, Location="/json?x=1")

    def give_round(self) -> None:
        self.answer(b"", status=302, Location="/round")

    def give_file(self) -> None:
        self.answer(b"", status=302, Location="file:///etc/passwd")

    def give_inward(self) -> None:
        self.answer(b"", status=302, Location="http://10.0.0.1/secret")

    def give_endless(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        try:
            while not self.server.stop.is_set():
                self.wfile.write(b"x" * 65536)
        except OSError:
            pass

    def give_slow(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        try:
            while not self.server.stop.wait(0.05):
                self.wfile.write(b"x")
                self.wfile.flush()
        except OSError:
            pass

    def give_short(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", "1000")
        self.end_headers()
        self.wfile.write(b"begun")
        self.close_connection = True

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


@pytest.fixture
def site() -> Iterator[Server]:
    server = Server(("127.0.0.1", 0), Site)
    server.stop, server.asked = threading.Event(), []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    yield server
    server.stop.set()
    server.shutdown()
    thread.join()
    server.server_close()


def fetch(url: str, context: ToolContext, *, allow_private: bool = True) -> ToolResult:
    registry = Registry([FetchUrl(allow_private=allow_private)])
    return registry.run("fetch_url", json.dumps({"url": url}), context)


def test_a_page_comes_as_text(site: Server, context: ToolContext) -> None:
    result = fetch(f"{site.address}/page", context)
    assert result.status == "ok"
    head, _, text = result.text.partition("\n\n")
    assert head == f"{site.address}/page (HTTP 200)"
    assert "A page" in text
    assert "# Head & line" in text
    assert "One two three" in text
    assert "- first\n" in text
    assert "  kept\n    so" in text
    assert "alert" not in text
    assert "p {}" not in text


def test_text_and_json_come_as_they_are(site: Server, context: ToolContext) -> None:
    assert fetch(f"{site.address}/json", context).text.endswith('\n\n{"a": 1}')
    assert fetch(f"{site.address}/latin", context).text.endswith("café")


def test_what_is_no_text_is_refused(site: Server, context: ToolContext) -> None:
    assert "image/png" in fetch(f"{site.address}/image", context).text
    assert "compressed" in fetch(f"{site.address}/packed", context).text


def test_an_error_page_is_an_error_with_its_text(site: Server, context: ToolContext) -> None:
    result = fetch(f"{site.address}/missing", context)
    assert result.status == "error"
    assert "HTTP 404" in result.text
    assert "nothing here" in result.text


def test_redirects_are_followed_and_counted(site: Server, context: ToolContext) -> None:
    assert fetch(f"{site.address}/there", context).text.startswith(f"{site.address}/json?x=1 ")
    assert "more than 5 times" in fetch(f"{site.address}/round", context).text


def test_redirects_are_judged_again(
    site: Server, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "http://" in fetch(f"{site.address}/file", context).text
    # Only the server of this test counts as public now.
    monkeypatch.setattr(addresses, "is_public", lambda address: address == "127.0.0.1")
    result = fetch(f"{site.address}/inward", context, allow_private=False)
    assert "10.0.0.1, a private or local address" in result.text
    assert site.asked[-1] == "/inward"


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "localhost", "[::1]", "0.0.0.0", "2130706433", "0x7f.1", "127.1", "[::ffff:127.0.0.1]"],
)
def test_loopback_is_refused_however_it_is_written(site: Server, context: ToolContext, host: str) -> None:
    result = fetch(f"http://{host}:{site.server_address[1]}/page", context, allow_private=False)
    assert result.status == "error"
    assert site.asked == []


def test_one_private_address_among_public_ones_is_enough(
    site: Server, context: ToolContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [(0, 0, 0, "", (each, 80)) for each in ("93.184.216.34", "192.168.1.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    assert "192.168.1.1" in fetch("http://example.org/", context, allow_private=False).text


def test_a_name_is_resolved_once(site: Server, context: ToolContext, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was judged is what is connected to: a second look-up could give another answer."""
    looked: list[str] = []

    def look_up(host: str, port: int, **more: Any) -> list[Any]:
        looked.append(host)
        return [(0, 0, 0, "", ("127.0.0.1", port))]

    connected: list[Any] = []
    real = socket.create_connection

    def connect(address: Any, timeout: float) -> socket.socket:
        connected.append(address[0])
        monkeypatch.undo()
        return real(address, timeout)

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(socket, "create_connection", connect)
    assert fetch(f"http://rebind.example:{site.server_address[1]}/json", context).status == "ok"
    assert (looked, connected) == (["rebind.example"], ["127.0.0.1"])


def test_size_is_limited(site: Server, context: ToolContext) -> None:
    small = dataclasses.replace(context, limits=Limits(fetch_bytes=1000))
    result = fetch(f"{site.address}/endless", small)
    assert result.text.endswith("x\n[… cut after 1,000 bytes …]")


def test_time_is_limited_also_against_drips(site: Server, context: ToolContext) -> None:
    quick = dataclasses.replace(context, limits=Limits(fetch_seconds=3.0))
    started = time.monotonic()
    result = fetch(f"{site.address}/slow", quick)
    assert time.monotonic() - started < 20
    assert result.status == "error"
    assert "longer than 3 seconds" in result.text


def test_an_answer_that_breaks_off_is_an_error(site: Server, context: ToolContext) -> None:
    assert "IncompleteRead" in fetch(f"{site.address}/short", context).text


def test_nobody_there_is_an_error(context: ToolContext) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        assert "ConnectionRefused" in fetch(f"http://127.0.0.1:{port}/", context).text


@pytest.mark.parametrize(
    "url",
    [
        "",
        "example.org",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:1",
        "http://",
        "http:///x",
        "http://user@example.org/",
        "http://user:pw@example.org/",
        "http://example.org:99999/",
        "http://example.org:x/",
        "http://[::1",
        "http://exa mple.org/",
        "http://example.org/\r\nHost: x",
        "http://example.org\\@127.0.0.1/",
        "http://" + "a" * 64 + "é.org/",
        "http://x/" + "a" * 5000,
    ],
)
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(ToolError):
        read_url(url)


def test_addresses_are_read() -> None:
    target = read_url("HTTPS://Example.ORG.:443/a/é?q=1#part")
    assert target.url == "https://example.org/a/%C3%A9?q=1"
    assert read_url("http://[::1]:81").host_header == "[::1]:81"
    assert read_url("http://bücher.example/").host == "xn--bcher-kva.example"


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1:248:1893:25c8:1946", True),
        ("127.0.0.1", False),
        ("10.1.2.3", False),
        ("172.16.0.1", False),
        ("192.168.0.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("255.255.255.255", False),
        ("224.0.0.1", False),
        ("::1", False),
        ("::", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:93.184.216.34", True),
        ("64:ff9b::a00:1", False),
        ("2002:7f00:1::", False),
        ("::127.0.0.1", False),
        ("no address", False),
    ],
)
def test_public_addresses(address: str, public: bool) -> None:
    assert is_public(address) is public
