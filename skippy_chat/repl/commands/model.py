"""Commands about the model: which one, whether it reasons, its settings, what is kept for it, its tools."""

from __future__ import annotations

from collections.abc import Sequence

from skippy_chat.agent.adjusting import ADJUSTABLE
from skippy_chat.cache_wording import summary_lines, tree_lines, tree_sentences
from skippy_chat.errors import UsageError
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.commands.reopening import reopened
from skippy_chat.repl.quoting import complete
from skippy_chat.repl.services import Services
from skippy_chat.setting_table import TABLE, refuse_unknown
from skippy_chat.tool_wording import tools_text, undone_text
from skippy_chat.wording import plural


def _tools(chat: Chat, _argument: str) -> Reply:
    chat.face.say(complete(tools_text(chat.conversation.tools)))
    return None


def _undo(chat: Chat, _argument: str) -> Reply:
    chat.face.say(complete(undone_text(chat.conversation.undo())))
    return None


def _cache(chat: Chat, _argument: str) -> Reply:
    kept = chat.conversation.checkpoints()
    drawn = tree_sentences(kept) if chat.face.sentences else tree_lines(kept)
    chat.face.say("\n".join([*drawn, *summary_lines(kept)]))
    return None


def _model(chat: Chat, argument: str) -> Reply:
    if argument:
        chat.services.check_model(argument)
        return reopened(chat, {"model": argument})
    model = chat.conversation.model
    lines = [
        f"Model: {model.name}",
        f"Kind: {model.kind}, architecture {model.architecture}",
        f"Context: {plural(model.context_size, 'token')}",
        f"SHA-256: {model.sha256}",
    ]
    others = chat.services.models()
    if others:
        lines += ["Models that are here, for /model NAME:", *(f"  {each}" for each in others)]
    chat.face.say("\n".join(lines))
    return None


def _reasoning(chat: Chat, argument: str) -> Reply:
    conversation = chat.conversation
    if argument not in {"", "on", "off"}:
        raise UsageError(f"Reasoning cannot be {argument}.", "Give on or off.")
    settings = conversation.adjust({"reasoning": argument == "on"}) if argument else conversation.settings
    told = f"Reasoning is {'on' if settings.reasoning else 'off'}."
    if not conversation.model.thinks:
        told += " This model's template knows none, so it makes no difference."
    chat.face.status(told)
    return None


def _settings(chat: Chat, argument: str) -> Reply:
    key, _, value = argument.partition(" ")
    key = key.replace("-", "_")
    conversation = chat.conversation
    if not key:
        lines = conversation.settings.describe()
        width = max(len(line.key) for line in lines)
        if chat.face.sentences:
            rows = [f"{line.key} is {_shown(line.value)}, by {line.source}." for line in lines]
        else:
            rows = [f"{line.key:<{width}}  {_shown(line.value)} · {line.source}" for line in lines]
        chat.face.say("\n".join(rows))
        chat.face.status("/settings KEY tells what one means. For good: skippy-chat config set KEY VALUE")
        return None
    refuse_unknown(key, f"key {key}")
    if value:
        conversation.adjust({key: value.strip()})
    line = next(each for each in conversation.settings.describe() if each.key == key)
    chat.face.say(f"{key} is {_shown(line.value)} ({line.source}). {TABLE[key].meaning}")
    if not value and key in ADJUSTABLE:
        chat.face.status(f"/settings {key} VALUE changes it for this session.")
    return None


def _shown(value: object) -> str:
    if value is None or value in ((), "", {}):
        return "not set"
    if isinstance(value, bool):
        return "on" if value else "off"
    return ", ".join(str(each) for each in value) if isinstance(value, tuple) else str(value)


def _names(services: Services) -> Sequence[str]:
    return [line.split()[0] for line in services.models()]


MODEL = (
    Command(
        "/model [NAME]",
        "Show the loaded model and those that are here, or go on with another one.",
        _model,
        look_up=_names,
    ),
    Command(
        "/reasoning [on|off]", "Say whether the model reasons before it answers.", _reasoning, ("on", "off")
    ),
    Command(
        "/settings [KEY [VALUE]]",
        "Show the settings, or change one for this session.",
        _settings,
        tuple(TABLE),
    ),
    Command("/tools", "List the tools, and which calls ask first.", _tools),
    Command("/undo", "Put back the files that the last turn wrote.", _undo),
    Command("/cache", "Show what is kept of this session, and what an edit would cost.", _cache),
)
