"""Which network addresses a model may reach: the public ones, unless a person allowed more.

A name is resolved once, every address it gives is judged, and the connection is made to a judged address: a name that
changes its mind in between gains nothing.
"""

from __future__ import annotations

import ipaddress
import queue
import socket
import threading
from dataclasses import dataclass
from urllib.parse import urlsplit

from skippy_chat.errors import ToolError

_LONGEST = 4096


@dataclass(frozen=True, slots=True)
class Target:
    """Where an address of a page leads; ``path`` is what the request line says."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def host_header(self) -> str:
        """The host as a request names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        usual = {"http": 80, "https": 443}[self.scheme]
        return host if self.port == usual else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        """The address again."""
        return f"{self.scheme}://{self.host_header}{self.path}"


def read_url(url: str) -> Target:
    """Take an address apart.

    Raises:
        ToolError: not http or https, a user or password in it, or no address at all.
    """
    if len(url) > _LONGEST or any(ord(each) <= 32 or ord(each) == 127 or each == "\\" for each in url):
        raise ToolError("The address is too long, or holds spaces or control characters.")
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".")
        port = parts.port
        host = host if ":" in host else host.encode("idna").decode("ascii")
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        path = "".join(each if each.isascii() else _percent(each) for each in path)
    except ValueError as error:
        raise ToolError(f"That is no address of a page: {ascii(str(error))[1:-1]}.") from error
    if parts.scheme not in ("http", "https"):
        raise ToolError("Only addresses that begin with http:// or https:// can be fetched.")
    if parts.username is not None or parts.password is not None:
        raise ToolError("An address with a user or password in it is not fetched.")
    if not host:
        raise ToolError("The address names no host.")
    return Target(parts.scheme, host, port or {"http": 80, "https": 443}[parts.scheme], path)


def resolve(target: Target, *, allow_private: bool, seconds: float) -> list[str]:
    """Return the addresses of a host, all of them judged.

    Raises:
        ToolError: not found in time, or one of them is private and that is not allowed.
    """
    answers: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys(str(each[4][0]) for each in found)))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    # The resolver takes no time limit; a thread that outlives it ends by itself.
    threading.Thread(target=look_up, daemon=True, name="fetch-resolve").start()
    try:
        found = answers.get(timeout=max(seconds, 0.001))
    except queue.Empty as error:
        raise ToolError(f"The name {target.host} was not resolved in time.") from error
    if not isinstance(found, list) or not found:
        raise ToolError(f"The host {target.host} cannot be found.")
    if not allow_private:
        for address in found:
            if not is_public(address):
                raise ToolError(
                    f"{target.host} is at {address}, a private or local address, which is not allowed."
                )
    return found


def is_public(address: str) -> bool:
    """Tell whether an address belongs to the public network, also when wrapped in an IPv6 one."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(parsed, ipaddress.IPv6Address):
        # The ways to write an IPv4 address inside an IPv6 one: mapped, 6to4, NAT64, Teredo, compatible.
        value = int(parsed)
        if parsed.teredo is not None or parsed in _COMPATIBLE or parsed in _LOCAL_NAT64:
            return False
        inner = parsed.ipv4_mapped or parsed.sixtofour
        if inner is None and parsed in _NAT64:
            inner = ipaddress.IPv4Address(value & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return parsed.is_global and not parsed.is_multicast and not parsed.is_reserved


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_LOCAL_NAT64 = ipaddress.ip_network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.ip_network("::/96")


def _percent(character: str) -> str:
    return "".join(f"%{each:02X}" for each in character.encode("utf-8", "replace"))
