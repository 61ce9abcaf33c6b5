"""Commands that ask the model again: an edit, another answer, going on with a turn that was stopped."""

from __future__ import annotations

import contextlib

from skippy_chat.agent.protocol import TurnOptions
from skippy_chat.agent.rearranging import turn_of
from skippy_chat.cache_wording import amend_line, cost_of, edit_line, foreseen_line
from skippy_chat.chat.messages import Message
from skippy_chat.errors import SkippyError, UsageError
from skippy_chat.repl.commands.command import Chat, Command, Reply
from skippy_chat.repl.telling import number_of, sentence
from skippy_chat.sampling_words import read_sampling, sampling_told, sampling_with
from skippy_chat.tool_wording import cut
from skippy_chat.wording import amended


def _edit(chat: Chat, argument: str) -> Reply:
    old = _meant(chat, argument, "edit")
    _tell_cost(chat, old)
    chat.face.foretell(lambda text: _foreseen(chat, old, text))
    return _changed(chat, old, chat.face.ask(prefill=old.content))


def _editor(chat: Chat, argument: str) -> Reply:
    if not chat.face.can_ask:
        raise UsageError("An editor needs a terminal.", "In a pipe each line is a message.")
    editor = chat.services.editor
    if argument:
        old = _meant(chat, argument, "edit")
        _tell_cost(chat, old)
        return _changed(chat, old, editor(old.content))
    text = editor("")
    if not text.strip():
        chat.face.status("Nothing was written, so nothing is sent.")
        return None
    chat.face.say(text)
    message = chat.sent(chat.services.edited(text))
    return lambda: chat.conversation.send(message)


def _meant(chat: Chat, argument: str, act: str) -> Message:
    asked = chat.asked()
    if not asked:
        raise UsageError(f"There is no message to {act} yet.", "Write one first.")
    return asked[number_of(argument, len(asked), "message", default=len(asked)) - 1]


def _changed(chat: Chat, old: Message, text: str) -> Reply:
    if not text.strip() or text == old.content:
        chat.face.status("The message stays as it was.")
        return None
    message = chat.sent(chat.services.edited(text, old.content))
    return lambda: chat.conversation.edit(old.id, message)


def _foreseen(chat: Chat, old: Message, text: str) -> str:
    """Return where an edit would resume, with the files that it names; nothing where that cannot be known."""
    try:
        return foreseen_line(
            chat.conversation.foresee(chat.services.edited(text, old.content).text, old.id), why=False
        )
    except SkippyError:
        return ""


def _tell_cost(chat: Chat, old: Message) -> None:
    """Say what a change will cost, before a word of it is typed; nothing where the worker cannot tell."""
    with contextlib.suppress(SkippyError):
        cost = cost_of(chat.conversation.checkpoints(), old.id)
        if cost is not None:
            line = edit_line(cost) if old.role == "user" else amend_line(cost)
            chat.face.status(sentence(line) if chat.face.sentences else line)


def _amend(chat: Chat, argument: str) -> Reply:
    old = (
        _result_meant(chat, argument) if argument.split()[:1] == ["result"] else _answer_meant(chat, argument)
    )
    if not old.content.strip():
        raise UsageError("There is no text to amend in it.", "/history shows what there is.")
    _tell_cost(chat, old)
    text = chat.face.ask(prefill=old.content)
    if not text.strip() or text == old.content:
        chat.face.status("It stays as it was.")
        return None
    chat.conversation.amend(old.id, text)
    chat.face.status(amended(chat.conversation.messages()))
    return None


def _answer_meant(chat: Chat, argument: str) -> Message:
    """Return the last answer to the person's message of a number, or the last of all."""
    messages = chat.conversation.messages()
    if not argument:
        answers = [each for each in messages if each.role == "assistant"]
        if not answers:
            raise UsageError("There is no answer to amend yet.", "Write a message first.")
        return answers[-1]
    number = number_of(argument, len(chat.asked()), "message", default=0)
    start, stop = turn_of(messages, chat.asked()[number - 1].id) or (0, 0)
    answers = [each for each in messages[start:stop] if each.role == "assistant"]
    if not answers:
        raise UsageError(f"Your message {number} has no answer.", "/history shows what there is.")
    return answers[-1]


def _result_meant(chat: Chat, argument: str) -> Message:
    results = [each for each in chat.conversation.messages() if each.role == "tool"]
    if not results:
        raise UsageError("No tool has given a result yet.", "/history shows what there is.")
    number = argument.partition(" ")[2].strip()
    return results[number_of(number, len(results), "result", default=len(results)) - 1]


def _regenerate(chat: Chat, argument: str) -> Reply:
    if not chat.asked():
        raise UsageError("There is no answer to regenerate yet.", "Write a message first.")
    changes = read_sampling(argument)
    if not changes:
        return chat.conversation.regenerate
    sampling = sampling_with(chat.conversation.sampling(), changes)
    chat.face.status(f"Drawn with {sampling_told(sampling)}.")
    return lambda: chat.conversation.regenerate(TurnOptions(sampling=sampling))


def _remove(chat: Chat, argument: str) -> Reply:
    old = _meant(chat, argument, "remove")
    chat.conversation.remove(old.id)
    chat.face.status(f"Left out “{cut(old.content, 40)}” and its answer. The old branch stays: /back")
    return None


def _continue(chat: Chat, _argument: str) -> Reply:
    return chat.conversation.go_on


TURNS = (
    Command("/edit [N]", "Edit your message N (the last) and answer it; the old branch stays.", _edit),
    Command(
        "/editor [N]", "Write a message, or edit your message N, in your editor ($VISUAL, $EDITOR).", _editor
    ),
    Command(
        "/regenerate [NAME=N]",
        "Answer your last message again, drawn so this once (temperature=1.2 seed=7); the old answer stays.",
        _regenerate,
    ),
    Command(
        "/amend [N|result N]",
        "Put your own version in place of the last answer, that to your message N, or a result; asks nothing.",
        _amend,
        ("result",),
    ),
    Command("/remove [N]", "Leave out your message N (the last) and its answer, in a new branch.", _remove),
    Command("/continue", "Go on with a turn that was stopped, or ended at a limit.", _continue),
)
