"""What the documentation says of settings, events, JSON and errors is what the code says."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest

from scripts.reference.__main__ import ROOT, current
from scripts.reference.json_shapes import STEP_FIELDS, TURN_FIELDS, sample_turn
from skippy_chat import errors
from skippy_chat.config import KEYS, load_settings
from skippy_chat.events import EVENT_TYPES
from skippy_chat.personas import read_persona

CONFIGURATION = (ROOT / "docs/configuration.md").read_text("utf-8")
JSON_PAGE = (ROOT / "docs/json.md").read_text("utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "docs/configuration.md",
        "docs/json.md",
        "docs/keys.md",
        "docs/troubleshooting.md",
        "docs/schema/config.json",
        "docs/schema/project.json",
        "skippy_chat/cli/words.json",
    ],
)
def test_it_is_current(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == current()[name], "Run: python -m scripts.reference"


def test_every_field_of_a_turn_is_told() -> None:
    turn = sample_turn()
    assert tuple(TURN_FIELDS) == tuple(turn)
    assert all(tuple(STEP_FIELDS) == tuple(step) for step in turn["steps"])
    told = json.loads(JSON_PAGE.partition("```json\n")[2].partition("```")[0])
    assert told == turn


def test_the_sample_keeps_the_invariant() -> None:
    for each in (*sample_turn()["steps"], sample_turn()["usage"]):
        assert each["cached_tokens"] + each["prefilled_tokens"] == each["prompt_tokens"]


def test_every_event_setting_and_error_is_there() -> None:
    assert all(f"### `{kind}`\n" in JSON_PAGE for kind in EVENT_TYPES)
    assert all(f"| `{key}` |" in CONFIGURATION for key in KEYS)
    raised = {
        each.code
        for each in vars(errors).values()
        if isinstance(each, type) and issubclass(each, errors.SkippyError)
    }
    assert all(f"| `{code}` |" in JSON_PAGE for code in raised)


def test_the_examples_of_the_page_can_be_used(tmp_path: Path) -> None:
    (persona, prompt) = re.findall(r"```\n(\+\+\+\n.*?)```", CONFIGURATION, re.DOTALL)
    (tmp_path / "reviewer.md").write_text(persona)
    found = read_persona("reviewer", tmp_path / "reviewer.md", of_project=False)
    assert found.values["temperature"] == 0.2
    assert "$ARGUMENTS" in prompt


def test_the_committed_schema_knows_a_good_file_from_a_bad_one(tmp_path: Path) -> None:
    schema = json.loads((ROOT / "docs/schema/config.json").read_text("utf-8"))
    good = {
        "ctx": 512,
        "tools": ["read_file"],
        "disk_budget": "2GiB",
        "seed": "auto",
        "flash_attention": True,
    }
    jsonschema.validate(good, schema)
    file = tmp_path / "config.toml"
    file.write_text("\n".join(f"{key} = {json.dumps(value)}" for key, value in good.items()))
    load_settings(flags={}, user_file=file)
    for bad in ({"temprature": 1}, {"ctx": 5}, {"approve": "yes"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(bad, schema)


def test_links_lead_somewhere() -> None:
    for page in ("configuration.md", "json.md"):
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / "docs" / page).read_text("utf-8")):
            assert target.startswith("http") or (ROOT / "docs" / target).exists(), target
