"""The table of settings: its JSON Schemas let nothing through that is refused, and it fits the fields and options."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skippy_chat.cli.options import SETTINGS
from skippy_chat.cli.root import skippy_chat
from skippy_chat.config import KEYS, Settings
from skippy_chat.config_schema import config_schema
from skippy_chat.setting_table import TABLE, checked, project_keys

WORDS = [
    "",
    "on",
    "off",
    "auto",
    "none",
    "true",
    "yes",
    "deny",
    "f16",
    "a.py",
    "read_file",
    "2GiB",
    "1.5 mb",
    "7",
    "x y",
]
NUMBERS = [
    0,
    1,
    255,
    256,
    4096,
    1 << 24,
    (1 << 24) + 1,
    1 << 32,
    -1,
    0.05,
    0.5,
    1.5,
]  # not 1.0: JSON Schema calls it whole
VALUES: st.SearchStrategy[Any] = st.one_of(
    st.booleans(), st.sampled_from(NUMBERS), st.sampled_from(WORDS), st.text(max_size=6), st.integers(-10, 20000),
    st.lists(st.sampled_from(WORDS), max_size=3),
)  # fmt: skip


@pytest.mark.parametrize("of_project", [False, True])
def test_the_schemas_are_schemas(of_project: bool) -> None:
    jsonschema.Draft202012Validator.check_schema(config_schema(of_project=of_project))


@settings(max_examples=60, deadline=None)
@given(value=VALUES)
@pytest.mark.parametrize("key", KEYS)
def test_what_the_schema_lets_through_is_taken(key: str, value: Any) -> None:
    schema = config_schema(of_project=False)["properties"][key]
    if jsonschema.Draft202012Validator(schema).is_valid(value):
        checked(key, value, key)


def test_defaults_fit_their_own_schema() -> None:
    schema = config_schema(of_project=False)
    values = {key: getattr(Settings(), key) for key in KEYS if getattr(Settings(), key) is not None}
    jsonschema.validate(json.loads(json.dumps(values)), schema)
    assert set(config_schema(of_project=True)["properties"]) == {*project_keys(), "rule"}


def test_every_default_and_every_none_is_told() -> None:
    for key in KEYS:
        assert (getattr(Settings(), key) is None) == bool(TABLE[key].unset), key


def test_every_option_that_is_a_setting_is_in_the_table() -> None:
    flags = {param.opts[0] for param in skippy_chat.params if str(param.name) in SETTINGS}
    assert {key.flag for key in TABLE.values() if key.flag} == flags
