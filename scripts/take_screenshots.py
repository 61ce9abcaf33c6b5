"""Take the screenshots of docs/app.md: the real app on the default model, in sessions made for it.

Run it from the project's folder: ``.venv/bin/python -m scripts.take_screenshots``. Nothing in a picture is scripted but
the keys, the files in the workspace, and its name; the model is made to call a tool (``tool_choice``), so that the
pictures do not depend on its mood.
"""

from __future__ import annotations

import argparse
import asyncio
import re
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from textual.pilot import Pilot

from skippy_chat.agent.held import HeldSession
from skippy_chat.agent.protocol import Conversation, Held
from skippy_chat.chat.history import History
from skippy_chat.chat.session_rows import Overview
from skippy_chat.cli.host import process_host
from skippy_chat.cli.preferences import models_of
from skippy_chat.config import load_settings
from skippy_chat.errors import SessionLocked
from skippy_chat.paths import Paths
from skippy_chat.tui.app import SkippyApp
from skippy_chat.tui.approval import ApprovalPanel
from skippy_chat.tui.bridge import OnProgress
from skippy_chat.tui.composer import Composer
from skippy_chat.tui.preferences import Preferences
from skippy_chat.tui.services import Services
from skippy_chat.tui.sessions import Choice, SessionPicker
from skippy_chat.tui.shelf import HistoryShelf
from skippy_chat.tui.statusbar import StatusBar
from skippy_chat.tui.transcript import Transcript

OUT = Path(__file__).parents[1] / "docs" / "screenshots"
PATIENCE = 90.0
SMALL, LARGE = (80, 24), (200, 50)
FILE = "a test\n"
_FONTS = "font-family: 'Fira Code', 'DejaVu Sans Mono', Menlo, monospace"
# Parts that are fetched from elsewhere: a page should show without.
_FETCHED = re.compile(r"@font-face \{.*?\}\n", re.DOTALL)


@dataclass
class Desk:
    """The running app and how a person uses it."""

    app: SkippyApp
    pilot: Pilot[int]

    async def until(self, what: Callable[[], object]) -> None:
        """Let the app run until something holds."""
        end = time.monotonic() + PATIENCE
        while not what():
            if time.monotonic() > end:
                shown = [view.plain for view in self.app.query_one(Transcript).views]
                raise SystemExit(f"never came: {shown} {self.status!r}")
            await self.pilot.pause(0.05)
        await self.pilot.pause(0.2)

    @property
    def status(self) -> str:
        """What the status bar says."""
        return self.app.screen_stack[0].query_one(StatusBar).plain

    async def ready(self) -> None:
        """Wait until nothing is going on."""
        await self.until(lambda: " ready" in self.status)

    async def say(self, text: str) -> None:
        """Send a message and wait for the answer."""
        self.app.query_one(Composer).put(text)
        await self.pilot.press("enter")
        await self.until(lambda: " ready" not in self.status or "tok/s" in self.status)
        await self.ready()

    def save(self, name: str) -> None:
        """Write what is on the screen."""
        svg = _FETCHED.sub("", self.app.export_screenshot(title="skippy-chat"))
        svg = svg.replace("font-family: Fira Code, monospace", _FONTS)
        (OUT / f"{name}.svg").write_text("\n".join(line.rstrip() for line in svg.splitlines()) + "\n")


@dataclass(frozen=True)
class World:
    """Folders of its own, and how the app gets at sessions in them."""

    root: Path
    threads: int

    @property
    def paths(self) -> Paths:
        """Where conversations and checkpoints are kept."""
        folders = {"data_dir": self.root / "data", "cache_dir": self.root / "cache"}
        env = {"SKIPPY_CONFIG_DIR": str(self.root / "config"), "HOME": str(Path.home())}
        return Paths.resolve(env=env, **folders)

    def conversation(self, choice: Choice, progress: OnProgress, **flags: Any) -> Conversation:
        """Open a session."""
        settings = load_settings(
            flags={"temperature": 0.0, "threads": self.threads, "max_tokens": 90, **flags},
            assignments=[],
            env={},
            session={},
            user_file=None,
        )
        return process_host().open_conversation(
            paths=self.paths,
            settings=settings,
            session=choice.session or choice.name or None,
            continue_newest=False,
            new=choice.session is None and not choice.name,
            folder=self.root / "voyage",
            on_progress=progress,
            can_ask=True,
        )

    def sessions(self) -> Sequence[Overview]:
        """Return the workspace's sessions."""
        with History.open(self.paths.history_db, now=_now) as history:
            return history.overviews(self.root / "voyage", 50)

    def look(self, locked: SessionLocked) -> Held:
        """Read a session that another process writes."""
        return HeldSession(History.open(self.paths.history_db, now=_now), locked)

    @asynccontextmanager
    async def app(
        self, choice: Choice | None, size: tuple[int, int], *, theme: str = "dark", **flags: Any
    ) -> AsyncIterator[Desk]:
        """Run the app on a session; None: on the choice of one."""
        services = Services(
            "~/voyage",
            HistoryShelf(
                lambda: History.open(self.paths.history_db, now=_now),
                self.paths.locks_dir,
                self.root / "voyage",
            ),
            lambda chosen, progress: self.conversation(chosen, progress, **flags),
            self.look,
            time.monotonic,
            _now,
            self.root,
            preferences=Preferences(
                theme=theme,
                file=self.paths.user_config,
                settings=lambda session: load_settings(
                    flags={}, session=session, user_file=self.paths.user_config
                ),
                models=lambda: list(models_of(self.paths)),
            ),
            environment={"HOME": str(self.root)},
        )
        app = SkippyApp(services, choice)
        async with app.run_test(size=size) as pilot:
            yield Desk(app, pilot)
        app.bridge.close(30)


async def talk(world: World, size: tuple[int, int]) -> None:
    """Ask, ask again, answer anew, and begin an edit."""
    width, height = size
    name = f"lighthouse {width}"
    async with world.app(Choice(None, name), size) as desk:
        await desk.ready()
        await desk.say("What is a lighthouse for?")
        await desk.say("Write a Python function that adds two numbers, in a code block.")
        await desk.pilot.press("ctrl+r")
        await desk.until(lambda: " ready" not in desk.status)
        await desk.ready()
        desk.save(f"app-{width}x{height}")
        await desk.pilot.press("up", "!")
        await desk.pilot.pause(0.2)
        desk.save(f"edit-{width}x{height}")


async def tools(world: World) -> None:
    """Let the model change a file, as far as the question."""
    forced: dict[str, Any] = {"tools": ("write_file",), "tool_choice": "required", "max_tokens": 200}
    async with world.app(Choice(None, "greeting"), SMALL, **forced) as desk:
        await desk.ready()
        desk.app.query_one(Composer).put("Write the word hello into data/test.txt.")
        await desk.pilot.press("enter")
        panel = desk.app.query_one(ApprovalPanel)
        await desk.until(lambda: panel.has_class("asking"))
        desk.save("question-80x24")
        await desk.pilot.press("end")
        await desk.pilot.pause(0.2)
        await desk.pilot.press("y")
        await desk.until(lambda: " ready" in desk.status or "asking" in desk.status)
        desk.save("tools-80x24")
        await desk.pilot.press("escape")
        await desk.ready()


async def others(world: World) -> None:
    """Show the choice of a session, and one that another process writes."""
    async with world.app(None, SMALL) as desk:
        await desk.until(lambda: isinstance(desk.app.screen, SessionPicker))
        await desk.pilot.press("down")
        await desk.pilot.pause(0.2)
        desk.save("sessions-80x24")
        await desk.pilot.press("escape")
    written = next(each.session for each in world.sessions() if each.session.title == "lighthouse 80")
    with closing(world.conversation(Choice(written.id), lambda *_: None)):
        async with world.app(Choice(written.id), SMALL) as desk:
            await desk.until(lambda: "read-only" in desk.status)
            desk.save("read-only-80x24")


async def wishes(world: World) -> None:
    """Show the themes on a talk, and what settings, models and palette look like."""
    for theme in ("dark", "light", "ansi-dark"):
        async with world.app(Choice(None, f"in {theme}"), SMALL, theme=theme) as desk:
            await desk.ready()
            await desk.say("Write a Python function that adds two numbers, in a code block.")
            desk.save(f"theme-{theme}-80x24")
            if theme == "dark":
                await _wishes(desk)


async def _wishes(desk: Desk) -> None:
    for command, name, keys in (
        ("/settings", "settings", ["down"] * 7 + ["enter"]),
        ("/model", "models", ["down"]),
        ("/palette", "palette", ["m", "o", "d"]),
    ):
        desk.app.query_one(Composer).put(command)
        await desk.pilot.press("enter")
        await desk.until(lambda: len(desk.app.screen_stack) > 1)
        await desk.pilot.pause(1)
        await desk.pilot.press(*keys)
        await desk.pilot.pause(1)
        desk.save(f"{name}-80x24")
        while len(desk.app.screen_stack) > 1:
            await desk.pilot.press("escape")
            await desk.pilot.pause(0.2)


def _now() -> int:
    return time.time_ns() // 1_000_000


async def take(world: World, only: Sequence[str] = ()) -> None:
    """Take them all, or ``only`` some."""
    if only == ["wishes"]:
        (world.root / "voyage").mkdir()
        await wishes(world)
        return
    file = world.root / "voyage" / "data" / "test.txt"
    file.parent.mkdir(parents=True)
    file.write_text(FILE)
    await tools(world)
    for size in (SMALL, LARGE):
        await talk(world, size)
    await others(world)
    await wishes(world)


def main() -> None:
    """Take the screenshots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=["wishes"], action="append", help="settings, models, themes alone")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        asyncio.run(take(World(Path(name), arguments.threads), arguments.only or ()))


if __name__ == "__main__":
    main()
