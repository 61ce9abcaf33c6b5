"""``skippy-chat personas``, and ``--persona``."""

from __future__ import annotations

from tests.fakes.conversation import FakeConversation, Turn
from tests.fakes.host import Desk


def write(desk: Desk, name: str, text: str) -> None:
    folder = desk.root / "config" / "personas"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / f"{name}.md").write_text(text, "utf-8")


def test_list_and_show(desk: Desk) -> None:
    assert desk.run("personas", "list") == 0
    assert "config/personas/NAME.md" in desk.err
    write(desk, "brief", "Be brief.\x1b[2J")
    write(desk, "cold", '+++\ndescription = "No chance"\ntemperature = 0\ntools = ["read_file"]\n+++\n')
    assert desk.run("personas", "list") == 0
    rows = [line.split() for line in desk.out.splitlines()]
    assert rows[1:] == [["brief", "you", "Be", "brief."], ["cold", "you", "No", "chance"]]
    desk.run("personas", "show", "cold")
    assert "temperature = 0\ntools = read_file\n" in desk.out
    desk.run("personas", "show", "brief", "--json")
    assert desk.json["persona"]["system"] == "Be brief.\x1b[2J"
    assert "\x1b" not in desk.out
    assert desk.run("personas", "show", "brif") == 2
    assert "Did you mean brief?" in desk.err


def test_one_that_cannot_be_used_hides_no_other(desk: Desk) -> None:
    write(desk, "bad", "+++\nx = 1\n+++\n")
    write(desk, "good", "Good.")
    assert desk.run("personas", "list") == 1
    assert "good" in desk.out
    assert "bad.md, line 2, key x: unknown setting" in desk.err
    assert desk.run("personas", "list", "--json") == 1
    assert [each["name"] for each in desk.json["personas"]] == ["good"]
    assert desk.json["wrong"][0]["code"] == "config"


def test_a_conversation_gets_it(desk: Desk) -> None:
    write(desk, "cold", "+++\ntemperature = 0\n+++\nBe cold.")
    desk.conversation = FakeConversation([Turn()])
    assert desk.run("run", "--persona", "cold", "--temperature", "1", "hi") == 0
    settings = desk.opened[0]["settings"]
    assert (settings.persona, settings.system, settings.temperature) == ("cold", "Be cold.", 1.0)
    assert settings.for_session()["persona"] == "cold"
    assert desk.run("run", "--persona", "clod", "hi") == 2
    assert len(desk.opened) == 1


def test_a_workspaces_personas_are_trusted_with_it(desk: Desk) -> None:
    folder = desk.root / ".skippy-chat" / "personas"
    folder.mkdir(parents=True)
    (folder / "theirs.md").write_text("Theirs.")
    assert desk.run("personas", "show", "theirs") == 2
    desk.run("config", "show")
    assert f"{desk.root}/.skippy-chat is not trusted, so it does not count." in desk.err
    assert desk.run("config", "trust") == 0
    assert "theirs.md counts from now on" in desk.out
    assert "Theirs." in desk.out
    assert desk.run("personas", "show", "theirs") == 0
    (folder / "theirs.md").write_text("+++\ntools = ['all']\n+++\n")
    desk.run("config", "untrust")
    assert desk.run("config", "trust") == 2
    assert "a project's persona may not set this" in desk.err
