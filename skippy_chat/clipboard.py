"""What is copied goes to the system's clipboard: through a program that sets it, or else through the terminal.

A program says whether it worked. A terminal is asked with OSC 52 and never answers, so what is told about it says so.
Invariant: what is copied has no control characters but line breaks and tabs, so that pasting it runs nothing.
"""

from __future__ import annotations

import base64
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skippy_chat.text.sanitise import sanitise
from skippy_chat.text.sizes import format_size
from skippy_chat.wording import plural

SURELY = 74_994
"""Bytes that terminals with OSC 52 take; beyond it many take nothing."""
AT_MOST = 1_000_000
"""Bytes that are sent to a terminal at all."""
_PATIENCE = 3.0
_CHUNK = 76  # screen takes no long strings


@dataclass(frozen=True, slots=True)
class Copied:
    """What became of a copy: ``told`` says it; ``sequence`` is to be written to the terminal, empty for nothing."""

    told: str
    sequence: str = ""


def copied(text: str, what: str, env: Mapping[str, str], *, platform: str = sys.platform) -> Copied:
    """Copy ``text``, which is ``what`` ("the answer"), as far as this can be done without the terminal.

    Waits for another program, up to some seconds for each that there is.
    """
    clean = sanitise(text)
    size = len(clean.encode("utf-8", "replace"))
    lines = plural(len(clean.splitlines()), "line")
    told = f"{what}: {lines}, {plural(len(clean), 'character')}"
    for command in _programs(env, platform):
        if _gave(command, clean, env):
            return Copied(f"Copied {told} ({command[0]}).")
    if size > AT_MOST:
        return Copied(
            f"Not copied: {told}, {format_size(size)}, is more than a terminal takes, and no program that sets the "
            "clipboard was found. /export writes the conversation to a file."
        )
    if size > SURELY:
        told += f"; many terminals take no more than {format_size(SURELY)}, so it may not be there"
    return Copied(f"Sent to the terminal's clipboard: {told}.", osc52(clean, env))


def osc52(text: str, env: Mapping[str, str]) -> str:
    """Return what asks a terminal to take a text into its clipboard, wrapped for the multiplexer around it."""
    data = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    plain = f"\x1b]52;c;{data}\x07"
    if env.get("TMUX"):
        # As set-clipboard lets tmux take it itself, and as allow-passthrough lets it pass.
        return plain + "\x1bPtmux;" + plain.replace("\x1b", "\x1b\x1b") + "\x1b\\"
    if env.get("STY") or env.get("TERM", "").startswith("screen"):
        pieces = [plain[at : at + _CHUNK] for at in range(0, len(plain), _CHUNK)]
        return "".join(f"\x1bP{piece}\x1b\\" for piece in pieces)
    return plain


def _programs(env: Mapping[str, str], platform: str) -> Sequence[Sequence[str]]:
    """Return the commands that would set the clipboard of the screen the person sits at, the surest first."""
    found: list[Sequence[str]] = []
    far = bool(env.get("SSH_CONNECTION") or env.get("SSH_TTY"))
    if platform == "darwin" and not far:
        found.append(["pbcopy"])
    if env.get("WAYLAND_DISPLAY"):
        found.append(["wl-copy"])
    if env.get("DISPLAY"):
        found += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if env.get("TMUX"):
        found.append(["tmux", "load-buffer", "-w", "-"])
    return [command for command in found if shutil.which(command[0], path=env.get("PATH")) is not None]


def _gave(command: Sequence[str], text: str, env: Mapping[str, str]) -> bool:
    try:
        # What it says goes nowhere, and is not waited for: xclip stays behind to serve what it was given.
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(env),
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
