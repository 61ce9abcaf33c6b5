"""Markdown for people: readable, and nothing in it opens or closes what is around it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from skippy_chat.chat.export_markdown import contained, fenced, markdown_export
from skippy_chat.chat.export_words import clean
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, Session, ToolCall
from skippy_chat.chat.trees import MAIN, SessionTree, branch_tree
from tests.chat.random_trees import texts, trees

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
CARD = re.compile(r"<details>\n<summary>[^<>\n]*</summary>\n?|</details>\n?")


def parsed(text: str) -> tuple[list[Token], dict[str, object]]:
    env: dict[str, object] = {}
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text, env), env


def one(role: str, content: str, **more: object) -> SessionTree:
    message = Message("m", "S", None, role, content, **more)  # type: ignore[arg-type]
    return branch_tree(Session("S", "t", "", 1, 2, ""), [message])


@settings(max_examples=60, deadline=None)
@given(trees())
def test_no_text_leaves_its_place(tree: SessionTree) -> None:
    text = markdown_export(tree)
    assert CONTROL.search(text) is None
    tokens, env = parsed(text)
    headings = [
        (each.tag, tokens[at + 1].content) for at, each in enumerate(tokens) if each.type == "heading_open"
    ]
    assert [tag for tag, _ in headings].count("h1") == 1
    numbers = [content.partition(" · ")[0] for tag, content in headings if tag == "h2"]
    assert numbers == [str(number) for number in range(1, len(tree.messages) + 1)]
    blocks = [each for each in tokens if each.type == "html_block"]
    assert all(CARD.fullmatch(each.content) and each.level == 0 for each in blocks)
    openings = [each.content.startswith("<details>") for each in blocks]
    assert openings == [True, False] * (len(blocks) // 2)
    assert not any(child.type == "html_inline" for each in tokens for child in each.children or ())
    assert not env.get("references")


@settings(max_examples=60, deadline=None)
@given(texts)
@example("\r```\r")
@example("`" * 70)
@example("a\n\n\n")
def test_a_result_is_in_its_fence_as_it_was(text: str) -> None:
    tokens, _ = parsed(markdown_export(one("tool", text, detail=text)))
    held = [each.content.rstrip("\n") for each in tokens if each.type == "fence"]
    assert held == [clean(text).rstrip("\n")] * (2 if text else 1)


@settings(max_examples=60, deadline=None)
@given(texts, st.sampled_from(["user", "assistant", "system"]))
def test_a_message_is_its_own_markdown_or_its_source(text: str, role: str) -> None:
    shown = contained(clean(text))
    if shown == fenced(clean(text)):
        return
    # But for headings, which stand two levels lower, every line is as it was.
    plain = re.compile(r"^( {0,3})#+", re.MULTILINE)
    assert plain.sub(r"\1#", shown) == plain.sub(r"\1#", clean(text).strip("\n"))
    assert shown in markdown_export(one(role, text)) or not text.strip()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Plain *words* and `<div>`.", "Plain *words* and `<div>`."),
        ("# Plan\n\n###### Deep\n\n#hashtag", "### Plan\n\n###### Deep\n\n#hashtag"),
        ("```\n# no heading\n```", "```\n# no heading\n```"),
        ("```py\nunclosed", "````\n```py\nunclosed\n````"),
        ("- list\n\n  ```\n  code", "- list\n\n  ```\n  code"),
        ("You\n===", "```\nYou\n===\n```"),
        ("> # You", "```\n> # You\n```"),
        ("</details>", "```\n</details>\n```"),
        ("a <b>bold</b> word", "```\na <b>bold</b> word\n```"),
        ("[a]: https://e.example\n", "```\n[a]: https://e.example\n```"),
        ("x" * 40_001, f"```\n{'x' * 40_001}\n```"),
    ],
)
def test_what_would_reach_beyond_itself_is_shown_as_source(text: str, shown: str) -> None:
    assert contained(text) == shown


def test_a_whole_session(history: History) -> None:
    made = history.create_session(folder=Path("/here"), title="a [trip]", model="default")
    asked = history.append(made.id, None, "user", "What is in notes?")
    calls = (ToolCall("c", "read_file", '{"path": "notes"}'), ToolCall("d", "write_file", "{broken"))
    called = history.append(made.id, asked.id, "assistant", "", reasoning="Look first.", tool_calls=calls)
    result = history.append(made.id, called.id, "tool", "hello", tool_call_id="c", status="ok")
    denied = history.append(made.id, result.id, "tool", "No.", tool_call_id="d", status="denied")
    history.finish(denied.id, "No.", status="denied", detail="-old\n+new")
    answer = history.append(made.id, denied.id, "assistant", "It says hello.", state="interrupted")
    history.append(made.id, None, "user", "What is in diary?", head=None)
    tree = history.tree(made.id)
    whole = markdown_export(tree)
    assert whole.startswith(
        "# a \\[trip\\]\n\nModel: default · 6 messages · 2023-11-14 22:13 UTC\n\n---\n\n**Branch 1"
    )
    assert whole.endswith(
        "\n\n---\n\n**Branch 2, from the beginning**\n\n## 6 · You · 2023-11-14 22:13 UTC\n\nWhat is in diary?\n"
    )
    assert (
        markdown_export(tree.branch(answer.id))
        == """\
# a \\[trip\\]

Model: default · 5 messages · 2023-11-14 22:13 UTC

## 1 · You · 2023-11-14 22:13 UTC

What is in notes?

## 2 · Assistant · 2023-11-14 22:13 UTC

<details>
<summary>Reasoning</summary>

```
Look first.
```

</details>

<details>
<summary>→ read_file</summary>

```
{
  "path": "notes"
}
```

</details>

<details>
<summary>→ write_file</summary>

```
{broken
```

</details>

## 3 · Tool · 2023-11-14 22:13 UTC

<details>
<summary>✓ read_file</summary>

```
hello
```

</details>

## 4 · Tool · 2023-11-14 22:13 UTC

<details>
<summary>⊘ denied: write_file</summary>

```
No.
```

```diff
-old
+new
```

</details>

## 5 · Assistant (interrupted) · 2023-11-14 22:13 UTC

It says hello.
"""
    )


def test_a_session_without_messages_or_with_a_time_that_is_none() -> None:
    empty = SessionTree(Session("S", "", "", 1, 2, ""), ())
    assert markdown_export(empty) == "# S\n\n0 messages\n"
    odd = one("user", "hi", created=1 << 62)
    assert "## 1 · You\n\nhi\n" in markdown_export(odd)
    assert SessionTree(odd.session, odd.messages, {MAIN: "m"}) == odd


def test_where_a_model_lies_is_not_told() -> None:
    kept = Session("S", "t", "", 1, 2, "/home/somebody/models/tiny.gguf")
    assert "\nModel: tiny.gguf · 0 messages\n" in markdown_export(SessionTree(kept, ()))
