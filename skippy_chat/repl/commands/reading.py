"""Commands that look at what was said: the branch, its branches, places in it, and copies of parts."""

from __future__ import annotations

from skippy_chat.errors import UsageError
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.finding import found_text
from skippy_chat.repl.telling import branch_row, history_text, number_of, result_text, tail_text
from skippy_chat.text.code_blocks import CodeBlock, code_blocks
from skippy_chat.tool_wording import cut
from skippy_chat.wording import plural


def _back(chat: Chat, _argument: str) -> Reply:
    if not chat.trail:
        raise UsageError("No other branch was shown before this one.", "/branch lists those there are.")
    chat.conversation.switch(chat.trail.pop())
    chat.face.say(tail_text(chat.conversation.messages()))
    return None


def _history(chat: Chat, argument: str) -> Reply:
    messages = chat.conversation.messages()
    if not messages:
        chat.face.status("Nothing has been said yet.")
        return None
    begin = number_of(argument, max(1, len(chat.asked())), "message", default=1)
    chat.face.say(history_text(messages, begin))
    return None


def _goto(chat: Chat, argument: str) -> Reply:
    asked = len(chat.asked())
    if not asked:
        raise UsageError("There is no message to go to yet.", "Write one first.")
    number = number_of(argument, asked, "message", default=asked)
    chat.face.say(history_text(chat.conversation.messages(), number, number + 1))
    return None


def _find(chat: Chat, argument: str) -> Reply:
    messages = chat.conversation.messages()
    chat.face.say(found_text(messages, argument, sentences=chat.face.sentences))
    return None


def _copy(chat: Chat, argument: str) -> Reply:
    answers = [each for each in chat.conversation.messages() if each.role == "assistant" and each.content]
    if not answers:
        raise UsageError("There is no answer to copy yet.", "Write a message first.")
    word, _, number = argument.partition(" ")
    if word not in {"", "code"}:
        raise UsageError(f"There is no {word} to copy.", "Give /copy, or /copy code [N].")
    text, what = answers[-1].content, "the answer"
    if word:
        blocks = code_blocks(text)
        if not blocks:
            raise UsageError("The last answer has no block of code.", "/copy copies all of it.")
        if len(blocks) > 1 and not number:
            word = "Block " if chat.face.sentences else "  "
            chat.face.say("\n".join(f"{word}{_block_line(at, block)}" for at, block in enumerate(blocks, 1)))
            chat.face.status("/copy code N copies one of them.")
            return None
        at = number_of(number.strip(), len(blocks), "block of code", default=1)
        text, what = blocks[at - 1].code, f"block of code {at}"
    copied = chat.services.copy(text, what)
    if copied.sequence and not chat.face.can_clip:
        raise UsageError(
            "Not copied: no program that sets the clipboard was found, and nothing is sent to the terminal here.",
            "Install xclip, wl-copy or xsel, or /export the conversation.",
        )
    chat.face.clip(copied.sequence)
    chat.face.status(copied.told)
    return None


def _block_line(number: int, block: CodeBlock) -> str:
    first = next((line.strip() for line in block.code.splitlines() if line.strip()), "")
    about = (
        f"{block.language}, {plural(block.lines, 'line')}" if block.language else plural(block.lines, "line")
    )
    return f"{number}, {about}: {cut(first, 60)}"


def _result(chat: Chat, argument: str) -> Reply:
    chat.face.say(result_text(chat.conversation.messages(), argument))
    return None


def _branch(chat: Chat, argument: str) -> Reply:
    conversation, face = chat.conversation, chat.face
    leaves = conversation.leaves()
    if not leaves:
        raise UsageError("There is no branch yet.", "Write a message first.")
    current = {message.id for message in conversation.messages()}
    if argument:
        leaf = leaves[number_of(argument, len(leaves), "branch", default=1) - 1]
        conversation.switch(leaf.id)
        face.say(tail_text(conversation.messages()))
        return None
    branches = [conversation.branch(leaf.id) for leaf in leaves]
    lines = [branch_row(n, each, current, sentences=face.sentences) for n, each in enumerate(branches, 1)]
    face.say("\n".join(lines))
    if len(leaves) > 1:
        star = "" if face.sentences else "; the star marks this one"
        face.status(f"/branch N switches to a branch{star}.")
    return None


READING = (
    Command("/branch [N]", "List the branches, or switch to one.", _branch),
    Command("/back", "Go back to the branch that was shown before this one.", _back),
    Command("/history [N]", "Show this branch, your messages numbered; from your message N on.", _history),
    Command("/goto [N]", "Show your message N (the last), and what it led to.", _goto),
    Command("/find TEXT", "Show where in this branch a text stands.", _find),
    Command("/copy [code [N]]", "Copy the last answer, or a block of code in it, as it was written.", _copy),
    Command("/result [N]", "Show all of a tool's result N (the last).", _result),
)
