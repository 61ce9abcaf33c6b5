"""What becomes of the text in the box."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from skippy_chat.completions.aids import Outgoing, TypingAids
from skippy_chat.tui.reading import ReadingScreen
from tests.fakes.conversation import FakeConversation, Turn
from tests.tui.aids import aids_in
from tests.tui.screen import Desk, app_on

pytestmark = pytest.mark.timeout(180)


def said(conversation: FakeConversation) -> list[str]:
    return [each.content for each in conversation.messages() if each.role == "user"]


async def test_a_file_goes_along_and_shows_as_it_was_sent(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("Milk.",))])
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("Sum up @notes.md")
        await desk.wait_until(lambda: "Milk." in desk.texts)
        assert said(conversation) == ["Sum up @notes.md\n\nFile notes.md:\n```md\nBuy milk.\n```"]
        assert "Buy milk." in desk.texts[0]
        assert desk.composer.text == ""


async def test_a_file_that_cannot_go_along_leaves_the_text_in_the_box_with_the_reason(tmp_path: Path) -> None:
    conversation = FakeConversation()
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("look at @logo.png")
        await desk.wait_until(lambda: "Not sent: logo.png" in desk.status)
        assert desk.composer.text == "look at @logo.png"
        assert said(conversation) == []


async def test_a_name_of_no_file_is_told_and_sent_as_text(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("Which?",))])
    async with app_on(conversation, aids=aids_in(tmp_path), size=(120, 24)) as desk:
        await desk.say("look at @src/mian.py")
        await desk.wait_until(lambda: said(conversation))
        assert said(conversation) == ["look at @src/mian.py"]
        await desk.wait_until(lambda: "There is no file src/mian.py" in desk.status)


async def test_a_prompt_of_ones_own_is_put_in(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("It is.",)), Turn(("A word.",))])
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("/explain a schooner")
        await desk.wait_until(lambda: "It is." in desk.texts)
        await desk.say("/nothing of this kind")
        await desk.wait_until(lambda: "A word." in desk.texts)
        assert said(conversation) == ["Explain a schooner.", "/nothing of this kind"]


async def test_an_unknown_word_stays_in_the_box(tmp_path: Path) -> None:
    conversation = FakeConversation()
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("/exprot")
        await desk.wait_until(lambda: "Did you mean /export?" in desk.status)
        assert desk.composer.text == "/exprot"


async def test_two_slashes_begin_a_message(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("Yes.",))])
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("//explain @notes.md")
        await desk.wait_until(lambda: said(conversation))
        assert said(conversation)[0].startswith("/explain @notes.md\n\nFile notes.md:")


async def test_messages_go_in_the_order_in_which_they_were_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    slow = threading.Event()
    whole = TypingAids.outgoing

    def waiting(self: TypingAids, text: str, taken: set[str]) -> Outgoing | None:
        if "@notes.md" in text:
            assert slow.wait(20)
        return whole(self, text, taken)

    monkeypatch.setattr(TypingAids, "outgoing", waiting)
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("first @notes.md")
        await desk.say("second")
        assert said(conversation) == []
        slow.set()
        await desk.wait_until(lambda: "Two." in desk.texts)
        assert [each.split()[0] for each in said(conversation)] == ["first", "second"]


async def test_what_is_typed_while_a_file_is_refused_stays_behind_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = threading.Event()
    whole = TypingAids.outgoing

    def waiting(self: TypingAids, text: str, taken: set[str]) -> Outgoing | None:
        assert slow.wait(20)
        return whole(self, text, taken)

    monkeypatch.setattr(TypingAids, "outgoing", waiting)
    async with app_on(FakeConversation(), aids=aids_in(tmp_path)) as desk:
        await desk.say("see @logo.png")
        await desk.type("more")
        slow.set()
        await desk.wait_until(lambda: "logo" in desk.composer.text)
        assert desk.composer.text == "see @logo.png\nmore"


async def _edit(desk: Desk, text: str) -> None:
    await desk.pilot.press("up")
    await desk.wait_until(lambda: desk.composer.text)
    desk.composer.put(text)
    await desk.pilot.press("enter")


async def test_an_edited_message_takes_files_along_and_is_back_in_the_edit_where_it_cannot(
    tmp_path: Path,
) -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("hello")
        await desk.ready()
        await _edit(desk, "hello @logo.png")
        await desk.wait_until(lambda: "Not sent" in desk.status)
        assert desk.composer.text == "hello @logo.png"
        assert said(conversation) == ["hello"]
        desk.composer.put("hello @notes.md")
        await desk.pilot.press("enter")
        await desk.wait_until(lambda: "Two." in desk.texts)
        assert said(conversation)[0].startswith("hello @notes.md\n\nFile notes.md:")
        assert "Buy milk." in desk.texts[0]


async def test_a_message_that_carries_a_file_can_be_edited_without_taking_it_twice(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("see @notes.md")
        await desk.wait_until(lambda: "One." in desk.texts)
        await desk.ready()
        await desk.pilot.press("up")
        await desk.wait_until(lambda: "Buy milk." in desk.composer.text)
        await _edit(desk, desk.composer.text.replace("see", "read"))
        await desk.wait_until(lambda: "Two." in desk.texts)
        (sent,) = said(conversation)
        assert sent.startswith("read @notes.md")
        assert sent.count("Buy milk.") == 1


async def test_what_was_typed_is_kept_but_not_behind_a_space(tmp_path: Path) -> None:
    aids = aids_in(tmp_path)
    conversation = FakeConversation([Turn(("Yes.",))] * 3)
    async with app_on(conversation, aids=aids) as desk:
        await desk.say("hello @notes.md")
        await desk.wait_until(lambda: len(said(conversation)) == 1)
        for text in (" secret", "/tools"):
            await desk.say(text)
            await desk.pilot.pause()
        await desk.over(ReadingScreen)
        await desk.pilot.press("escape")
        await desk.wait_until(lambda: len(said(conversation)) == 2)
        await desk.wait_until(lambda: len(aids.typed.search("")) == 2)
        assert [each.text for each in aids.typed.search("")] == ["/tools", "hello @notes.md"]
    aids.typed.close()


async def test_a_history_that_cannot_be_written_stops_no_message(tmp_path: Path) -> None:
    aids = aids_in(tmp_path)
    (tmp_path / "data").mkdir(mode=0o700)
    (tmp_path / "data" / "history.db").write_bytes(b"no database")
    conversation = FakeConversation([Turn(("Yes.",))])
    async with app_on(conversation, aids=aids) as desk:
        await desk.say("hello")
        await desk.wait_until(lambda: "Yes." in desk.texts)


async def test_a_name_that_was_kept_text_stays_text_when_its_message_is_edited(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("One.",)), Turn(("Two.",))])
    async with app_on(conversation, aids=aids_in(tmp_path)) as desk:
        await desk.say("what is \\@notes.md")
        await desk.wait_until(lambda: "One." in desk.texts)
        await desk.ready()
        await _edit(desk, "what may @notes.md be")
        await desk.wait_until(lambda: "Two." in desk.texts)
        assert said(conversation) == ["what may @notes.md be"]


async def test_a_long_file_is_folded_away_and_r_shows_it(tmp_path: Path) -> None:
    conversation = FakeConversation([Turn(("Yes.",))])
    aids = aids_in(tmp_path)
    (tmp_path / "work" / "long.txt").write_text("".join(f"line {number}\n" for number in range(500)))
    async with app_on(conversation, aids=aids) as desk:
        await desk.say("see @long.txt and @notes.md")
        await desk.wait_until(lambda: "Yes." in desk.texts)
        await desk.ready()
        assert desk.texts[0].startswith("see @long.txt and @notes.md")
        assert "500 lines · r shows them" in desk.texts[0]
        assert "line 499" not in desk.texts[0]
        await desk.pilot.press("shift+tab", "up", "r")
        await desk.wait_until(lambda: "line 499" in desk.texts[0])
        assert "line 499" in said(conversation)[0]
