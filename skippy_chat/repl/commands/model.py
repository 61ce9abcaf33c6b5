"""Commands about the model, what is kept for it, and the tools it is offered."""

from __future__ import annotations

from skippy_chat.cache_wording import summary_lines, tree_lines, tree_sentences
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.quoting import complete
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


def _model(chat: Chat, _argument: str) -> Reply:
    model = chat.conversation.model
    lines = [
        f"Model: {model.name}",
        f"Kind: {model.kind}, architecture {model.architecture}",
        f"Context: {plural(model.context_size, 'token')}",
        f"SHA-256: {model.sha256}",
    ]
    chat.face.say("\n".join(lines))
    return None


MODEL = (
    Command("/tools", "List the tools, and which calls ask first.", _tools),
    Command("/undo", "Put back the files that the last turn wrote.", _undo),
    Command("/cache", "Show what is kept of this session, and what an edit would cost.", _cache),
    Command("/model", "Show the loaded model.", _model),
)
