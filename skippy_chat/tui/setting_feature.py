"""What the app does about settings: the screen, and reasoning on or off.

Invariant: what can hold at once does, in the open session, on the screen and on the keys; the rest says when it will.
"""

from __future__ import annotations

from collections.abc import Mapping

from skippy_chat.agent.adjusting import ADJUSTABLE
from skippy_chat.agent.protocol import Conversation
from skippy_chat.config import Settings
from skippy_chat.errors import UsageError
from skippy_chat.setting_table import TABLE, checked
from skippy_chat.setting_wording import holds, unset_text, value_text
from skippy_chat.tui.command import AppCommand, Feature, Parts
from skippy_chat.tui.settings import Desk, SettingsScreen
from skippy_chat.tui.shell import Shell

_SWITCH = ("on", "off")


class _Changing:
    """Changes settings; its methods wait for the disk, and run in the screen's thread."""

    def __init__(self, parts: Parts) -> None:
        assert isinstance(parts.app, Shell)
        self._shell = parts.app
        self._parts = parts
        self._preferences = parts.services.preferences

    def read(self) -> Settings:
        """Return the settings in force: the open session's, and what the files say by now of the app itself."""
        conversation = self._parts.turns.conversation
        if conversation is None:
            return self._preferences.settings({})
        return conversation.settings

    def keep(self, key: str, text: str) -> str:
        """Let the file say it, and let what can hold at once hold."""
        if not text:
            return self.drop(key)
        if key == "keys":
            wanted = checked(key, text, "keys")
            assert isinstance(wanted, Mapping)
            board = self._shell.keyboard.changed(wanted)
            self._preferences.keep(key, text)
            self._shell.call_from_thread(self._shell.rebind, board)
            return f"keys hold from now on, and stand in {self._file}."
        written = value_text(self._preferences.keep(key, text))
        if key == "theme":
            self._shell.call_from_thread(self._shell.wear, written)
        conversation = self._parts.turns.conversation
        if key in ADJUSTABLE and conversation is not None:
            conversation.adjust({key: text})
        return f"{key} is {written or unset_text(key)} in {self._file}; it holds {holds(key)}.{self._hidden(key)}"

    def drop(self, key: str) -> str:
        """Take it out of the file."""
        if not self._preferences.drop(key):
            return f"{self._file} says nothing for {key}."
        now = self._preferences.settings({})
        if key == "theme":
            self._shell.call_from_thread(self._shell.wear, now.theme)
        if key == "keys":
            self._shell.call_from_thread(self._shell.rebind, self._shell.keyboard.changed(now.keys))
        when = "at once" if key in ("theme", "keys") else "in new sessions" if TABLE[key].kept else holds(key)
        return f"{self._file} says nothing for {key} any more; that holds {when}."

    def adjust(self, key: str, text: str) -> str:
        """Let the open session have it."""
        conversation = self._parts.turns.conversation
        if conversation is None:
            raise UsageError("No session is open yet.", "Wait until the model is loaded.")
        conversation.adjust({key: text or "auto"})
        return (
            f"{key} is {value_text(getattr(conversation.settings, key)) or unset_text(key)} in this session."
        )

    @property
    def _file(self) -> str:
        return "config.toml" if self._preferences.file is None else self._preferences.file.name

    def _hidden(self, key: str) -> str:
        """Return what to say when something goes before the file everywhere."""
        source = self._preferences.settings({}).sources.get(key, "")
        hidden = source and self._preferences.file and not source.startswith(str(self._preferences.file))
        return f" It does not count here: {source} goes before it." if hidden else ""


def _short(path: str, home: str) -> str:
    return f"~{path[len(home) :]}" if home and path.startswith(f"{home}/") else path


def _settings(parts: Parts, _argument: str) -> None:
    changing = _Changing(parts)
    file = parts.services.preferences.file
    told = "no file" if file is None else _short(str(file), parts.services.environment.get("HOME", ""))
    desk = Desk(changing.read, changing.keep, changing.drop, changing.adjust, told)
    parts.app.push_screen(SettingsScreen(desk))


def _reasoning(parts: Parts, argument: str) -> bool:
    word = argument.lower()
    conversation = parts.turns.conversation
    if word not in ("", *_SWITCH) or conversation is None:
        parts.bar.change(hint="Say /reasoning on or /reasoning off.")
        return False
    if not conversation.model.thinks:
        parts.bar.change(hint="This model's template knows no reasoning: there is nothing to switch.")
        return True

    def switch(conversation: Conversation) -> str:
        on = word == "on" if word else not conversation.settings.reasoning
        conversation.adjust({"reasoning": on})
        return f"Reasoning is {'on' if on else 'off'} from the next answer on; this session keeps it."

    parts.turns.do(switch)
    return True


SETTINGS = Feature(
    (
        AppCommand("settings", "every setting: what it means, what it is, and change it", _settings),
        AppCommand(
            "reasoning",
            "let the model reason before it answers, or not",
            _reasoning,
            usage="[on|off]",
            needs="free",
        ),
    )
)
