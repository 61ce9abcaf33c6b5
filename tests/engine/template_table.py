"""What is reused after each kind of edit, for templates that rewrite history: the table of docs/templates.md.

``python -m tests.engine.template_table`` prints the page; a test compares it with the file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.engine.llama_source import template_source, vocabulary
from tests.engine.template_sessions import Message, TemplateSession, Visit

FAMILIES = {
    "ChatML (Qwen 2.5)": ("Qwen-Qwen2.5-7B-Instruct", "qwen2"),
    "Qwen 3.5": ("Qwen3.5-4B", "qwen35"),
    "LFM2.5": ("LFM2.5-8B-A1B", "llama-bpe"),
    "Granite 4": ("ibm-granite-granite-4.0", "starcoder"),
    "Nemotron 3 Nano": ("NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", "llama-bpe"),
    "Nemotron Nano 2": ("NVIDIA-Nemotron-Nano-v2", "llama-bpe"),
    "Hermes 3": ("NousResearch-Hermes-3-Llama-3.1-8B-tool_use", "llama-bpe"),
    "Llama 3.1": ("meta-llama-Llama-3.1-8B-Instruct", "llama-bpe"),
    "Mistral Nemo": ("mistralai-Mistral-Nemo-Instruct-2407", "llama-spm"),
    "Mistral Small 3.2": ("Mistral-Small-3.2-24B-Instruct-2506", "llama-bpe"),
    "gpt-oss": ("openai-gpt-oss-120b", "llama-bpe"),
}

CALL_ID = "call12345"  # some templates want nine letters or digits
NAMES = [
    "system",
    "user 1",
    "call",
    "result",
    "answer 1",
    "user 2",
    "answer 2",
    "user 3",
    "answer 3",
    "user 4",
]


def user(content: str) -> Message:
    return {"role": "user", "content": content}


def assistant(content: str, reasoning: str = "", path: str = "") -> Message:
    message: Message = {"role": "assistant", "content": content}
    if reasoning:
        message["reasoning_content"] = reasoning
    if path:
        function = {"name": "read_file", "arguments": f'{{"path": "{path}"}}'}
        message["tool_calls"] = [{"id": CALL_ID, "type": "function", "function": function}]
    return message


def result(content: str) -> Message:
    return {"role": "tool", "content": content, "tool_call_id": CALL_ID, "name": "read_file"}


def tool(name: str, description: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters},
    }


TOOLS = [tool("read_file", "Read a text file."), tool("list_directory", "List a folder.")]
MORE_TOOLS = [*TOOLS, tool("search_files", "Search in files.")]

CONVERSATION: list[Message] = [
    {"role": "system", "content": "You are a helpful assistant who answers briefly."},
    user("What do my notes say about apples? They are in the documents folder."),
    assistant(
        "", "The notes may be a file, so I should read it before I answer.", "documents/notes-2024.txt"
    ),
    result("Apples are red and round. Pears are green. Plums are not in season before July."),
    assistant("Your notes say that apples are red and round.", "The file has a line about apples."),
    user("And what about pears? Please answer in one line."),
    assistant("Pears are green.", "It was in the same file, so I need not read it again."),
    user("When is the season for plums?"),
    assistant("Plums are in season from July on."),
    user("Thank you, that is all for today."),
]


@dataclass(frozen=True)
class Edit:
    """A prompt after the conversation; ``kept``: how many messages stand in it as they stood before."""

    name: str
    messages: Callable[[list[Message]], list[Message]]
    kept: int
    tools: bool = False


EDITS = [
    Edit("a tool's result comes in", lambda c: c[:4], 3),
    Edit("next turn, after a tool loop", lambda c: c[:6], 5),
    Edit("next turn, after an answer with reasoning", lambda c: c[:8], 7),
    Edit("next turn, after an answer without reasoning", lambda c: c[:10], 9),
    Edit("answer 3 regenerated", lambda c: c[:8], 8),
    Edit("user 3 edited", lambda c: [*c[:7], user("When do strawberries ripen?")], 7),
    Edit("user 2 edited", lambda c: [*c[:5], user("And cherries? In one line.")], 5),
    Edit("turn 2 deleted", lambda c: [*c[:5], *c[7:8]], 5),
    Edit("tool result edited", lambda c: [*c[:3], result("Apples are yellow.")], 3),
    Edit("system prompt changed", lambda c: [{"role": "system", "content": "Answer at length."}, *c[1:8]], 0),
    Edit("tool list changed", lambda c: c[:8], 0, tools=True),
]


@dataclass(frozen=True)
class Cell:
    """How one edit went for one template."""

    visit: Visit
    wanted: int
    """Characters that must have been reused: all that messages say which stand in the text as they were fed."""

    @property
    def prompt(self) -> int:
        return len(self.visit.prompt.ids)

    @property
    def rewritten(self) -> int | None:
        return self.visit.prompt.rewritten_at(self.visit.reused)

    @property
    def text(self) -> str:
        return f"{self.visit.reused} of {self.prompt}"


@functools.cache
def table(family: str) -> dict[str, Cell]:
    """Run the conversation with one template, then try every edit on what is then stored."""
    name, vocabulary_name = FAMILIES[family]
    return run(name, vocabulary_name)


def run(template: str, vocabulary_name: str, edits: list[Edit] | None = None) -> dict[str, Cell]:
    """Run the conversation and try edits; "next" edits are looked at as the conversation comes by."""
    session = TemplateSession(vocabulary(vocabulary_name), template_source(template))
    session.tools = TOOLS
    cells: dict[str, Cell] = {}
    fed: list[str] = []
    chosen = EDITS if edits is None else edits
    for index, message in enumerate(CONVERSATION):
        asked = CONVERSATION[: index + 1]
        for edit in chosen:
            if edit.name.startswith(("next", "a tool")) and edit.messages(CONVERSATION) == asked:
                cells[edit.name] = look(session, edit, fed)
        if message["role"] in {"user", "tool"} and index + 1 < len(CONVERSATION):
            visit = session.ask(asked, CONVERSATION[index + 1])
            fed.append(visit.text + session.vocabulary.spell(session.answers[-1][1].ids))
    for edit in chosen:
        if edit.name not in cells:
            session.tools = MORE_TOOLS if edit.tools else TOOLS
            cells[edit.name] = look(session, edit, fed)
    return {edit.name: cells[edit.name] for edit in chosen}


def look(session: TemplateSession, edit: Edit, fed: list[str]) -> Cell:
    """Plan the edited prompt, and find by plain text how much of it was ever fed."""
    messages = edit.messages(CONVERSATION)
    visit = session.look(messages)
    known = max((shared(visit.text, each) for each in fed), default=0)
    wanted = 0
    # Tools stand in the system prompt's own message, often behind its text, so none is whole when they change.
    for message in () if edit.tools else messages:
        said = message["content"] or "documents/notes-2024.txt"
        stop = visit.text.find(said) + len(said)
        if not len(said) <= stop <= known:
            break
        wanted = stop
    return Cell(visit, wanted)


def shared(first: str, second: str) -> int:
    """Return how many characters two texts have in common from the start."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((at for at, (ours, theirs) in pairs if ours != theirs), min(len(first), len(second)))


INTRO = """# What is reused with templates that rewrite history

<!-- Written by: python -m tests.engine.template_table > docs/templates.md -->

A chat template may show a past message in another way than it did when the message was new. Reasoning is the usual
case: it stands in the prompt while tools are called, and is dropped when the next user message comes. What the model
has read is then no prefix of the new prompt, and what follows the first changed message is read again.

skippy-chat does not read more than that. This is how:

- **Tokens as fed are kept** wherever the template writes the text that they spell: an answer's own ids stand in the
  prompt, not ids made from its text again. An answer whose text stands behind another generation prompt than its own
  (an empty `<think></think>` that history does not show) keeps its ids too, but it is read again.
- **A call keeps its ids in other words too**: templates write the arguments of a call from their values, a model with
  its own spaces, line breaks and escapes. Where the text is another, llama.cpp's parser reads both, and if it finds the
  same content, thoughts and calls, the answer's ids stand. So each step of a tool loop reads no more than the new
  result. A template that shows a call otherwise once there is a result (without its thoughts, say) is named as usual.
- **Every message ends at a cut**, so there is a state before every user message. Rewriting the answers of the last turn
  costs that turn, not the conversation. The reason shown is `template_rewrote` with the first message that changed.
- **Where a message ends** is what the template writes after such a message whatever follows it: learnt by rendering
  the first message of each role as the last one and with others behind it. Results of one tool step often share a
  frame; each of them ends inside it. If a template will not render that (Qwen 3.5 refuses a conversation without a user
  message), the end is where the messages so far end, or where the next message's delimiter stands.
- **Text is tokenised as in one go**: scaffold and content of a message together, so ids are those that the model was
  trained on. Only the end of a message and of a generation prompt is always a border between tokens, because a state
  stands there that must not depend on what follows. In plain tokenisation a merge may cross such a border: behind a
  generation prompt that ends with a line break, before an answer that starts with white space and that was not
  generated here; or between messages in templates without special tokens. There the border wins.
- **A special token is one only where the template writes it.** Text of a message, a tool's result, a call or a tool's
  description that spells a control token is tokenised as text; so is text that spells a user-defined token which the
  template writes, except in the model's own words, where only what begins a turn is. Vocabularies that put a space
  before text (SentencePiece) put it where they would in one go, and not at the borders made here.

## The figures

The conversation is the same for all: a system prompt with two tools; user 1, a call with reasoning, its result and
answer 1 with reasoning; user 2 and answer 2 with reasoning; user 3 and answer 3 without. The model writes what the
template shows for it. Figures are **tokens reused of tokens in the prompt**, for a model with recurrent state (which
can stand at cuts only), counted by the product's own rendering and planning on the templates and vocabularies that come
with llama.cpp. Where a model's own vocabulary does not come with it, another stands in, so figures differ from the
model's by what its special tokens save. "Rewritten" says that the template is why reading starts there; the message
is the one that `template_rewrote` names.
"""


def page() -> str:
    """Return docs/templates.md."""
    parts = [INTRO]
    for family, (template, vocabulary_name) in FAMILIES.items():
        parts.append(f"\n### {family}\n\n`{template}.jinja` with the vocabulary `{vocabulary_name}`.\n")
        parts.append("\n| after | reused | read again from |\n|---|---|---|\n")
        for name, cell in table(family).items():
            at = cell.visit.prompt.message_at(cell.visit.reused)
            start = "nothing" if at is None else name_of(cell, at)
            why = "" if cell.rewritten is None else ", rewritten"
            parts.append(f"| {name} | {cell.text} | {start}{why} |\n")
    return "".join(parts)


def name_of(cell: Cell, index: int) -> str:
    """Name a message of an edited prompt."""
    message = cell.visit.messages[index] if index < len(cell.visit.messages) else None
    if message is None:
        return "the generation prompt"
    known = [at for at, each in enumerate(CONVERSATION) if each is message]
    return NAMES[known[0]] if known else "the changed message"


if __name__ == "__main__":
    print(page(), end="")
