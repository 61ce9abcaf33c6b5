"""Every error and every miss a person can meet: what it is, why it comes about, and the mend.

What an error is, and the words it comes with, are read from the code; why and the mend are written here, one entry for
each class, so that a class without one is found by the tests.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import get_args

from scripts.reference.json_shapes import error_kinds, first_sentence
from skippy_chat.events import MissKind, MissReason

_PACKAGE = Path(__file__).parents[2] / "skippy_chat"
_ANYTHING = "…"

WHY: Mapping[str, tuple[str, str]] = {
    "SkippyError": (
        "Something that has no kind of its own; the words say what.",
        "Do what the second sentence says; `--debug` writes a log and shows where it happened.",
    ),
    "UsageError": (
        "Options that exclude each other, a number out of range, a command that has nothing to work on.",
        "The second sentence says what to write; `skippy-chat COMMAND --help` has examples.",
    ),
    "ConfigError": (
        "A file of settings, personas, prompts, rules or tools has a mistake, or others can write to it.",
        "Mend the line that is named; nothing starts until then. `skippy-chat config show` tells what counts.",
    ),
    "ModelFileError": (
        "A file that is cut off, no GGUF, of an architecture this build does not know, or not there.",
        "`skippy-chat models check FILE` loads it and tries it; fetch it again, or take another with `--model`.",
    ),
    "NativeError": (
        "llama.cpp is missing, is the stock build without the patches, or refused a call.",
        "`skippy-chat doctor` says which; `python3 build_llama.py` builds it again.",
    ),
    "TemplateRefused": (
        "The model's chat template has no form for a part of the conversation: a system prompt, tools, a call.",
        "Leave out what it refuses, or take another model: [what each template knows](templates.md).",
    ),
    "EngineDied": (
        "The model's process ended: out of memory, a fault in native code, or a kill. What was written is kept.",
        "Say something: the next turn starts it again and resumes from disk. If it dies again, use a smaller `--ctx`.",
    ),
    "ContextFull": (
        "The conversation and room to answer are more tokens than the context holds. Nothing is cut in silence.",
        "A larger `--ctx`, up to what the model was trained for; a shorter conversation; or a new session.",
    ),
    "SessionNotFound": (
        "A name that is mistyped, belongs to another folder, or was deleted.",
        "`skippy-chat sessions list --all` shows every session with its id.",
    ),
    "SessionLocked": (
        "Another skippy-chat has the session open; two writers would mix their messages.",
        "Close that one, or go on in a copy: `f` in the app, `/fork` in the REPL, `skippy-chat sessions fork`.",
    ),
    "HistoryError": (
        "The database of conversations is damaged, newer than this program, or on a disk that refuses.",
        "It is never changed to make it fit: mend its rights or place, update skippy-chat, or choose `--data-dir`.",
    ),
    "AttachmentRefused": (
        "A file named with `@` is missing, outside the workspace, no text, or too large.",
        "Name another; what is only meant as text is written without the `@`.",
    ),
    "ExportFailed": (
        "The file exists, its folder is missing, or the disk is full.",
        "Name another file, or `--force`.",
    ),
    "ImportRefused": (
        "The file is no conversation as skippy-chat or chat APIs write them. Nothing of it is stored.",
        "Mend the place that is named, for example `messages[3].role`.",
    ),
    "ToolError": (
        "A tool could not do what the model asked for. It is a result that the model sees, and the turn goes on.",
        "Usually the model mends it; else say what it should do.",
    ),
    "PathRefused": (
        "The model asked for a file outside the workspace, a device, or a link that leads out.",
        "`--workspace` says where tools may go; nothing else opens a way out.",
    ),
    "UndoRefused": (
        "Files were changed since the agent wrote them, or it wrote none. Nothing is touched.",
        "Put them back by hand, or keep them.",
    ),
    "AnswerUnfit": (
        "A script asked for data of a shape, and the answer broke off before it was whole.",
        "More `max_tokens`, or ask for less; the answer is in the session.",
    ),
    "CheckpointError": (
        "The cache folder cannot be read or written. Conversations are elsewhere, and the turn goes on without it.",
        "Mend the folder's rights, or `--cache-dir`; until then prompts are read from the start.",
    ),
    "DamagedCheckpoint": (
        "Bytes on disk are not what was recorded: a failing disk, or a program that wrote there.",
        "Nothing: they are set aside, read again and recorded afresh. `skippy-chat cache verify` looks at all of them.",
    ),
    "RecordingStopped": (
        "The byte budget has no room, the disk is full, or another program writes the store at that moment.",
        "`skippy-chat cache prune`, a larger `disk_budget`, or nothing: the next turn tries again.",
    ),
}
MISSES: Mapping[str, tuple[str, str]] = {
    "nothing_stored": (
        "No checkpoint has the beginning of this prompt: a new conversation with a system prompt or tools of its own.",
        "Nothing; the next turn resumes.",
    ),
    "diverged": (
        "The prompt is another one from that token on: a message was edited, or system prompt or tools changed.",
        "Nothing; `/cache` shows where an edit of each message would resume.",
    ),
    "evicted": (
        "It was recorded, and gave way to others when the budget was used up.",
        "A larger `disk_budget`; `skippy-chat cache stats` tells what is used.",
    ),
    "not_stored": (
        "It was fed once, and is not on disk: never recorded (`--no-cache`, a full disk), or removed (`cache prune`).",
        "Nothing; it is recorded now.",
    ),
    "damaged": (
        "A checkpoint's bytes were not what was recorded; it is never used again.",
        "Nothing once; often: look at the disk, and run `skippy-chat cache verify`.",
    ),
    "other_model": (
        "This was read by another model, with another KV type, or by another build, whose states do not fit.",
        "Nothing; going back to the first one finds its checkpoints again.",
    ),
    "template_rewrote": (
        "The model's chat template writes that earlier message in another way now, as those do that drop reasoning.",
        "Nothing; what it costs for each template is on the page [templates](templates.md).",
    ),
    "not_proven": (
        "The self-test of this architecture found that a restored state is not the same, so nothing is restored.",
        "None; [architectures](architectures.md) lists those that are proven.",
    ),
    "off": ("`--no-cache`, `--replay`, or `cache = false`.", "Leave it out."),
}


def troubles() -> str:
    """Return a section for each error class: what, why, the mend, and the words it comes with."""
    parts = []
    for kind in error_kinds():
        why, mend = WHY[kind.__name__]
        told = _table(kind.__name__)
        parts += [
            f"### {kind.__name__}",
            "",
            f"`{kind.code}`, exit code {kind.exit_code}. {first_sentence(kind)}",
            "",
            f"- **Why:** {why}",
            f"- **Mend:** {mend}",
            "",
        ]
        if told:
            count = len(told) - 2
            parts += [f"<details><summary>The words ({count})</summary>", "", *told, "", "</details>", ""]
    return "\n".join(parts).rstrip()


def misses() -> str:
    """Return what each reason for a miss means."""
    rows = [f"| `{MissReason(kind)}` | {' | '.join(MISSES[kind])} |" for kind in get_args(MissKind)]
    return "\n".join(["| reason | what it means | what to do |", "|---|---|---|", *rows])


def _table(name: str) -> list[str]:
    rows = sorted({f"| {what} | {mend} |" for what, mend in _raised().get(name, ())})
    return ["| what it says | the mend it names |", "|---|---|", *rows] if rows else []


@cache
def _raised() -> Mapping[str, list[tuple[str, str]]]:
    """Return, for each class, the words it is raised with; what is put in at run time is shown as three dots."""
    names = {kind.__name__ for kind in error_kinds()}
    found: dict[str, list[tuple[str, str]]] = {}
    for file in sorted(_PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                what, mend = (*(_words(each) for each in node.args[:2]), "", "")[:2]
                if what.strip(f"{_ANYTHING} ."):
                    found.setdefault(node.func.id, []).append((what, mend))
    return found


def _words(node: ast.expr) -> str:
    """Return the text of an expression as it can be read in a table."""
    text = "".join(_pieces(node)) or _ANYTHING
    for raw, shown in (("|", "\\|"), ("<", "&lt;"), ("\n", " "), ("*", "\\*"), ("_", "\\_"), ("`", "")):
        text = text.replace(raw, shown)
    return text


def _pieces(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Constant):
        yield str(node.value)
    elif isinstance(node, ast.JoinedStr):
        for each in node.values:
            yield from _pieces(each)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _pieces(node.left)
        yield from _pieces(node.right)
    else:
        yield _ANYTHING
