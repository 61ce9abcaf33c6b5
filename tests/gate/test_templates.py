"""How the gate finds out what it can say to a model, through chat templates of every sort."""

from __future__ import annotations

import pytest

from skippy_chat.errors import ModelFileError
from tests.gate.conftest import Gate, WideModel, failures

pytestmark = [pytest.mark.native, pytest.mark.model]

_START = "{%- for message in messages -%}"
_END = "{%- endfor -%}{%- if add_generation_prompt -%}[assistant] {%- endif -%}"
_MESSAGE = "[{{ message.role }}] {{ message.content }}[end]"
PLAIN = f"{_START}{_MESSAGE}{_END}"
_REFUSAL = "{%- if message.role == 'system' -%}{{ raise_exception('no system') }}{%- endif -%}"
REFUSES_SYSTEM = f"{_START}{_REFUSAL}{_MESSAGE}{_END}"
JOINS_SYSTEM = (
    "{%- set seen = namespace(system='') -%}" + _START + "{%- if message.role == 'system' -%}"
    "{%- set seen.system = message.content + ' ' -%}{%- else -%}"
    "[{{ message.role }}] {{ seen.system }}{{ message.content }}[end]{%- set seen.system = '' -%}{%- endif -%}"
    + _END
)
HIDES_TOOLS = f"{_START}{{%- if message.role != 'tool' -%}}{_MESSAGE}{{%- endif -%}}{_END}"
SAYS_NOTHING = f"{_START}[{{{{ message.role }}}}]{_END}"


def test_a_plain_template_is_talked_to_in_words(gate: Gate, templated: WideModel) -> None:
    report = gate.run(templated(PLAIN), "changed_tail", "edits", by_ids=None)
    assert failures(report) == []
    assert report.material["mode"] == "text"
    assert report.notes == ()
    assert any(check.what.startswith("edited tool result") for check in report.phases[1].checks)


@pytest.mark.parametrize("template", [REFUSES_SYSTEM, JOINS_SYSTEM], ids=["refuses", "joins"])
def test_a_template_without_a_system_prompt_still_has_a_prefix(
    template: str, gate: Gate, templated: WideModel
) -> None:
    report = gate.run(templated(template), "changed_tail", "exact_replay", by_ids=None)
    assert failures(report) == []
    assert report.material["mode"] == "text"
    assert any("takes no system prompt" in note for note in report.notes)


def test_a_template_that_shows_nothing_is_not_talked_to(gate: Gate, templated: WideModel) -> None:
    report = gate.run(templated(SAYS_NOTHING), "changed_tail", by_ids=None)
    assert failures(report) == []
    assert report.material["mode"] == "ids"
    assert any("does not show what is said" in note for note in report.notes)


def test_who_asks_for_words_is_told_why_there_are_none(gate: Gate, templated: WideModel) -> None:
    with pytest.raises(ModelFileError, match="does not show what is said"):
        gate.run(templated(SAYS_NOTHING), "changed_tail", by_ids=False)


def test_a_template_without_tools_has_no_tool_results_to_edit(gate: Gate, templated: WideModel) -> None:
    report = gate.run(templated(HIDES_TOOLS), "edits", by_ids=None)
    assert failures(report) == []
    (skipped,) = [check for check in report.phases[0].checks if check.state == "not_applicable"]
    assert (skipped.what, skipped.found) == ("edited tool result", "the chat template shows no tool results")
