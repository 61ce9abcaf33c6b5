"""A page by itself: every text escaped, nothing run, nothing fetched."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import example, given, settings

from skippy_chat.chat.export_html import html_export
from skippy_chat.chat.export_style import STYLE
from skippy_chat.chat.export_words import clean
from skippy_chat.chat.history import History
from skippy_chat.chat.messages import Message, Session, ToolCall
from skippy_chat.chat.trees import SessionTree, branch_tree
from tests.chat.random_trees import texts, trees

CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
VOID = frozenset({"meta", "hr", "br"})
TAG = re.compile(
    "html|head|meta|title|style|body|header|nav|main|article|details|summary|pre|div|span|h[1-6]|p|small|time|a|ins|del"
    "|em|strong|code|s|ul|ol|li|blockquote|hr|br|table|thead|tbody|tr|th|td"
)
ATTRIBUTE = re.compile("charset|class|content|dir|href|http-equiv|id|lang|name|rel|start|style|title")


class Page(HTMLParser):
    """Read a page; a tag, attribute or address that does not belong there fails."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.counts: dict[str, int] = {}
        self.users: list[str] = []
        self.in_user = False
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert TAG.fullmatch(tag)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        for name, value in attrs:
            assert ATTRIBUTE.fullmatch(name)
            if name == "href":
                assert re.match(r"https?://|#(m|branch)\d+$|mailto:", value or "")
            if name == "style":
                assert re.fullmatch(r"text-align:(left|center|right)", value or "")
            if name == "class" and tag == "article":
                self.in_user = value == "user"
        if tag == "pre" and self.in_user:
            self.users.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.in_user and self.open[-1:] == ["pre"]:
            self.users[-1] += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment")

    def unknown_decl(self, data: str) -> None:
        raise AssertionError("a declaration")

    def handle_pi(self, data: str) -> None:
        raise AssertionError("an instruction")


@settings(max_examples=60, deadline=None)
@given(trees())
def test_no_text_leaves_its_place(tree: SessionTree) -> None:
    text = html_export(tree)
    assert CONTROL.search(text) is None
    page = Page(text)
    assert page.counts.get("article", 0) == len(tree.messages)
    assert page.counts["style"] == page.counts["title"] == page.counts["main"] == 1


@settings(max_examples=60, deadline=None)
@given(texts)
@example("\n\nleading and trailing\n\n")
def test_what_a_person_wrote_is_there_to_the_character(text: str) -> None:
    page = Page(
        html_export(branch_tree(Session("S", "t", "", 1, 2, ""), [Message("m", "S", None, "user", text)]))
    )
    # Browsers drop one line break behind <pre>.
    assert [each.removeprefix("\n") for each in page.users] == ([clean(text)] if text.strip() else [])


def answered(content: str) -> str:
    return html_export(
        branch_tree(Session("S", "t", "", 1, 2, ""), [Message("m", "S", None, "assistant", content)])
    )


@pytest.mark.parametrize(
    ("content", "shown"),
    [
        ("# Plan\n\n- **one**", "<h1>Plan</h1>\n<ul>\n<li><strong>one</strong></li>\n</ul>"),
        ("`a < b`", "<code>a &lt; b</code>"),
        ("<b>no</b>", "&lt;b&gt;no&lt;/b&gt;"),
        ("![cat](https://t.example/p.png)", "<em>[image: cat https://t.example/p.png]</em>"),
        ("![<b>x](https://t.example/)", "<em>[image: &lt;b&gt;x https://t.example/]</em>"),
        ("[x](https://e.example)", '<a href="https://e.example" rel="noopener noreferrer nofollow">x</a>'),
        ("[x](javascript:alert(1))", "<p>[x](javascript:alert(1))</p>"),
        ("<javascript:alert(1)>", "&lt;javascript:alert(1)&gt;"),
    ],
)
def test_answers_are_drawn(content: str, shown: str) -> None:
    assert shown in answered(content)


def test_the_page_forbids_itself_to_fetch_or_run() -> None:
    page = answered("hi")
    assert (
        "Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri" in page
    )
    assert "<script" not in page
    assert re.search(r"url\(|@import|https?:", STYLE) is None
    assert "prefers-color-scheme: dark" in STYLE
    assert "@media print" in STYLE


def test_cards_and_branches(history: History) -> None:
    made = history.create_session(folder=Path("/here"), title="tools & <more>", model="default")
    asked = history.append(made.id, None, "user", "Look")
    call = ToolCall("c", "read_file", '{"path": "a"}')
    called = history.append(made.id, asked.id, "assistant", "", reasoning="Hm.", tool_calls=[call])
    result = history.append(made.id, called.id, "tool", "hello", tool_call_id="c", status="error")
    history.finish(result.id, "gone", status="error", detail="-old\n+new\n same")
    history.append(made.id, asked.id, "assistant", "Another answer.", head=None)
    page = html_export(history.tree(made.id))
    for shown in (
        "<title>tools &amp; &lt;more&gt;</title>",
        '<details class="reasoning"><summary>Reasoning</summary><pre dir="auto">\nHm.</pre></details>',
        '<details class="call"><summary>→ read_file</summary>',
        '<details class="result error"><summary>✗ failed: read_file</summary><pre dir="auto">\ngone</pre>',
        '<pre class="diff">\n<del>-old</del>\n<ins>+new</ins>\n<span> same</span></pre>',
        '<a href="#branch2">Branch 2, after message 1</a>',
        '<h2 id="branch2">Branch 2, after <a href="#m1">message 1</a></h2>',
        '<article id="m4" class="assistant">',
    ):
        assert shown in page
    Page(page)
