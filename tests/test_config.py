from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from skippy_chat.config import KEYS, Settings, load_settings
from skippy_chat.errors import ConfigError


@pytest.fixture
def user_file(tmp_path: Path) -> Path:
    return tmp_path / "config.toml"


def told(
    *,
    flags: Mapping[str, object] | None = None,
    assignments: tuple[str, ...] = (),
    env: Mapping[str, str] | None = None,
    session: Mapping[str, object] | None = None,
    user_file: Path | None = None,
) -> ConfigError:
    with pytest.raises(ConfigError) as raised:
        load_settings(
            flags=flags or {}, assignments=assignments, env=env, session=session, user_file=user_file
        )
    assert raised.value.hint
    return raised.value


def test_defaults(user_file: Path) -> None:
    assert load_settings(flags={}, user_file=user_file) == Settings()


def test_each_layer_beats_those_below_it(user_file: Path) -> None:
    user_file.write_text("top_k = 1\n")
    layers = {
        "user_file": user_file,
        "session": {"top_k": 2},
        "env": {"SKIPPY_TOP_K": "3"},
        "assignments": ["top_k=4"],
        "flags": {"top_k": 5},
    }
    for size in range(len(layers) + 1):
        for chosen in itertools.combinations(layers, size):
            given = {"flags": {}, **{name: layers[name] for name in chosen}}
            expected = 1 + list(layers).index(chosen[-1]) if chosen else 40
            assert load_settings(**given).top_k == expected  # type: ignore[arg-type]


def test_every_value_can_be_given_as_text_and_as_toml(user_file: Path) -> None:
    text = {
        "model": "smol.gguf", "ctx": "4096", "threads": "2", "temperature": "0", "top_p": "0.5", "top_k": "0",
        "min_p": "0.1", "seed": "7", "max_tokens": "0", "reasoning": "off", "system": " Be brief. ", "cache": "no",
        "replay": "on", "disk_budget": "2GiB", "approve": "deny", "flash_attention": "off", "kv_type": "q8_0",
        "gpu_layers": "0", "patience": "2.5", "tools": "read_file, default,read_file", "tool_files": "/t/a.py,/t/b.py",
        "tool_choice": "required", "parallel_tools": "on", "sandbox": "yes", "pass_variables": "GH_TOKEN",
        "max_steps": "3", "max_turn_tokens": "500", "persona": "none", "agents_file": "off", "debug_text": "on",
        "titles": "off", "typed_history": "off", "notify": "bell", "notify_after": "5",
        "theme": "nord", "keys": "regenerate=ctrl+g f5,details=none",
    }  # fmt: skip
    assert set(text) == set(KEYS)
    expected = Settings(
        model="smol.gguf", ctx=4096, threads=2, temperature=0.0, top_p=0.5, top_k=0, min_p=0.1, seed=7, max_tokens=0,
        reasoning=False, system=" Be brief. ", cache=False, replay=True, disk_budget=2 << 30, approve="deny",
        flash_attention="off", kv_type="q8_0", gpu_layers=0, patience=2.5, tools=("read_file", "default"),
        tool_files=("/t/a.py", "/t/b.py"), tool_choice="required", parallel_tools=True, sandbox=True,
        pass_variables=("GH_TOKEN",), max_steps=3, max_turn_tokens=500, persona=None, agents_file="off",
        debug_text=True, titles=False, typed_history=False, notify="bell", notify_after=5.0,
        theme="nord", keys={"regenerate": ("ctrl+g", "f5"), "details": ()},
    )  # fmt: skip
    assert load_settings(flags={}, assignments=[f"{key}={value}" for key, value in text.items()]) == expected
    assert (
        load_settings(flags={}, env={f"SKIPPY_{key.upper()}": value for key, value in text.items()})
        == expected
    )
    user_file.write_text(
        'model = "smol.gguf"\nctx = 4096\nthreads = 2\ntemperature = 0\ntop_p = 0.5\ntop_k = 0\nmin_p = 0.1\n'
        'seed = 7\nmax_tokens = 0\nreasoning = false\nsystem = " Be brief. "\ncache = false\nreplay = true\n'
        'disk_budget = "2GiB"\napprove = "deny"\nflash_attention = false\nkv_type = "q8_0"\ngpu_layers = 0\n'
        'patience = 2.5\ntools = ["read_file", "default"]\ntool_files = ["/t/a.py", "/t/b.py"]\n'
        'tool_choice = "required"\nparallel_tools = true\nsandbox = true\npass_variables = ["GH_TOKEN"]\n'
        'max_steps = 3\nmax_turn_tokens = 500\npersona = "none"\nagents_file = false\ndebug_text = true\n'
        'titles = false\ntyped_history = false\nnotify = "bell"\nnotify_after = 5\n'
        'theme = "nord"\n[keys]\nregenerate = ["Ctrl-G", "f5"]\ndetails = ""\n'
    )
    assert load_settings(flags={}, user_file=user_file) == expected


def test_none_and_auto_take_a_lower_value_away() -> None:
    lower = {"threads": 4, "seed": 1}
    assert load_settings(flags={}, session=lower, assignments=["threads=auto", "seed=none"]) == Settings()


def test_options_that_were_not_typed_do_not_count() -> None:
    assert load_settings(flags={"ctx": None}, env={"SKIPPY_CTX": "512"}).ctx == 512


def test_describe_tells_where_each_value_comes_from(user_file: Path) -> None:
    user_file.write_text("\ntop_k = 1\n")
    settings = load_settings(
        flags={"cache": False}, assignments=["seed=1"], env={"SKIPPY_CTX": "512"}, session={"min_p": 0},
        user_file=user_file,
    )  # fmt: skip
    described = {each.key: (each.value, each.source) for each in settings.describe()}
    assert tuple(described) == KEYS
    assert described["cache"] == (False, "--no-cache")
    assert described["seed"] == (1, "-c seed")
    assert described["ctx"] == (512, "SKIPPY_CTX")
    assert described["min_p"] == (0.0, "session setting min_p")
    assert described["top_k"] == (1, f"{user_file}, line 2, key top_k")
    assert described["top_p"] == (0.95, "default")


def test_what_a_session_keeps_brings_the_settings_back() -> None:
    settings = load_settings(
        flags={"temperature": 0, "system": "s", "model": "m", "cache": False, "threads": 1}
    )
    kept = settings.for_session()
    assert kept["system"] == "s"
    assert "cache" not in kept
    again = load_settings(flags={}, session=kept)
    assert (again.temperature, again.system, again.model, again.cache) == (0.0, "s", "m", True)


def test_keys_of_a_later_version_in_a_session_are_ignored() -> None:
    assert load_settings(flags={}, session={"not_yet": 1}) == Settings()


@pytest.mark.parametrize(
    ("text", "line", "key", "hint"),
    [
        ("temperatur = 1", 1, "temperatur", "temperature"),
        ("ctx = 512\n\n  temprature=1", 3, "temprature", "temperature"),
        ("flash-attention = true", 1, "flash-attention", "flash_attention"),
        ("[sampling]\ntop_k = 1", 1, "sampling", "top_k"),
        ("sampling.top_k = 1", 1, "sampling", "top_k"),
        ('system = """\nctx = 1\n"""\n"ctx" = 1', 4, "ctx", "leave it out"),
        ("top_p = nan", 1, "top_p", "leave it out"),
        ('kv_type = "q8"', 1, "kv_type", "q8_0"),
    ],
)
def test_a_wrong_line_of_the_file_is_named(
    user_file: Path, text: str, line: int, key: str, hint: str
) -> None:
    user_file.write_text(text)
    error = told(user_file=user_file)
    assert error.message.startswith(f"{user_file}, line {line}, key {key}: ")
    assert hint in error.hint


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"ctx = 512\nseed =\n", 2),
        (b"ctx = 512\nctx = 513", 2),
        (b"a b", 1),
        (b"seed = 1\nsystem = '\xff'", 2),
    ],
)
def test_a_file_that_is_no_toml_is_told_with_its_line(user_file: Path, content: bytes, line: int) -> None:
    user_file.write_bytes(content)
    assert f"{user_file}, line {line}: not " in told(user_file=user_file).message


def test_a_byte_order_mark_is_no_fault(user_file: Path) -> None:
    user_file.write_bytes(b"\xef\xbb\xbfctx = 512\n")
    assert load_settings(flags={}, user_file=user_file).ctx == 512


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    assert str(tmp_path) in told(user_file=tmp_path).message


def test_unknown_and_malformed_assignments_are_told() -> None:
    assert "temperature" in told(assignments=("temprature=1",)).hint
    assert "key=value" in told(assignments=("ctx",)).hint
    assert load_settings(flags={}, assignments=["flash-attention=on"]).flash_attention == "on"
    assert load_settings(flags={}, assignments=["system=a=b"]).system == "a=b"


def test_only_near_misses_in_the_environment_are_told() -> None:
    assert "SKIPPY_TEMPERATURE" in told(env={"SKIPPY_TEMPRATURE": "1"}).hint
    assert load_settings(flags={}, env={"SKIPPY_HOME": "x", "SKIPPY_DATA_DIR": "x", "CTX": "1"}) == Settings()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ctx", "100"), ("ctx", -1), ("ctx", 4096.0), ("ctx", True), ("ctx", "8k"), ("threads", 0),
        ("temperature", -0.1), ("temperature", "hot"), ("temperature", "nan"), ("temperature", 10**400),
        ("top_p", 1.1), ("top_k", -1), ("min_p", None), ("seed", 1 << 32), ("max_tokens", -1), ("reasoning", 1),
        ("reasoning", "maybe"), ("system", 1), ("model", ["a"]), ("disk_budget", "2 apples"), ("disk_budget", -1),
        ("disk_budget", True), ("approve", "yes"), ("flash_attention", 2), ("kv_type", "q3"), ("gpu_layers", -1),
        ("patience", 0), ("patience", "never"), ("tools", 3), ("tools", ["a b"]), ("tools", "none,read_file"),
        ("tools", [1]), ("tool_choice", "maybe"), ("parallel_tools", 2), ("sandbox", "perhaps"), ("max_steps", 0),
        ("max_steps", "many"), ("max_turn_tokens", -1),
    ],
)  # fmt: skip
def test_types_and_ranges_are_checked(key: str, value: object) -> None:
    error = told(session={key: value})
    assert error.message.startswith(f"session setting {key}: ")
    assert "does not fit" in error.message


def test_a_mistake_shows_also_where_a_higher_layer_wins() -> None:
    assert "SKIPPY_CTX" in told(flags={"ctx": 512}, env={"SKIPPY_CTX": "x"}).message


def test_no_tools_is_something_else_than_nothing_said() -> None:
    assert load_settings(flags={}).tools is None
    for none in ("none", "", [], ["none"]):
        assert load_settings(flags={"tools": none}, env={"SKIPPY_TOOLS": "all"}).tools == ()


def test_the_users_tool_files_lie_beside_the_config(user_file: Path) -> None:
    user_file.write_text('tool_files = ["mine.py", "/else/where.py"]\n')
    found = load_settings(flags={}, user_file=user_file).tool_files
    assert found == (str(user_file.parent / "mine.py"), "/else/where.py")


@pytest.mark.parametrize("value", ["a.txt", ["a.py", "b"]])
def test_a_tool_file_is_a_python_file(user_file: Path, value: object) -> None:
    assert "Python files" in told(flags={"tool_files": value}).message


def test_a_session_brings_its_tools_back() -> None:
    kept = load_settings(
        flags={"tools": "read_file,run_command", "sandbox": True, "approve": "auto-read"}
    ).for_session()
    again = load_settings(flags={}, session=json.loads(json.dumps(kept)))
    assert (again.tools, again.sandbox, again.approve) == (("read_file", "run_command"), True, "auto-read")


def test_a_session_never_says_that_everything_is_allowed_and_runs_no_code() -> None:
    kept = load_settings(flags={"approve": "all", "tool_files": ["/a.py"]}).for_session()
    assert not {"approve", "tool_files"} & set(kept)
    foreign = {"approve": "all", "tool_files": ["/a.py"], "pass_variables": ["GH_TOKEN"]}
    again = load_settings(flags={}, session=foreign)
    assert (again.approve, again.tool_files, again.pass_variables) == ("ask", (), ())


def test_a_session_from_elsewhere_keeps_nothing_that_is_typed(user_file: Path) -> None:
    user_file.write_text("typed_history = false")
    assert not load_settings(flags={}, user_file=user_file, session={"typed_history": True}).typed_history


def test_a_session_does_not_hold_on_to_what_the_files_may_tighten(user_file: Path) -> None:
    user_file.write_text('approve = "auto-read"\nsandbox = false')
    kept = load_settings(flags={}, user_file=user_file).for_session()
    user_file.write_text('approve = "deny"\nsandbox = true')
    again = load_settings(flags={}, user_file=user_file, session=kept)
    assert (again.approve, again.sandbox) == ("deny", True)


def test_a_commands_own_default_is_below_everything_and_not_kept(user_file: Path) -> None:
    settings = load_settings(flags={}, defaults={"approve": "auto-read"}, user_file=user_file)
    assert settings.approve == "auto-read"
    assert "approve" not in settings.for_session()
    user_file.write_text('approve = "ask"')
    assert load_settings(flags={}, defaults={"approve": "auto-read"}, user_file=user_file).approve == "ask"


@pytest.mark.parametrize(
    ("line", "key", "now", "expected"),
    [
        ('approve = "all"', "approve", "auto-read", "auto-read"),
        ('approve = "auto-read"', "approve", "ask", "ask"),
        ('approve = "deny"', "approve", "all", "deny"),
        ("sandbox = false", "sandbox", "on", True),
        ("sandbox = true", "sandbox", "off", True),
        ("parallel_tools = true", "parallel_tools", "off", False),
        ("parallel_tools = false", "parallel_tools", "on", False),
        ('agents_file = "on"', "agents_file", "auto", "auto"),
        ('agents_file = "auto"', "agents_file", "on", "auto"),
        ('agents_file = "off"', "agents_file", "auto", "off"),
        ("max_steps = 30", "max_steps", "20", 20),
        ("max_steps = 10", "max_steps", "20", 10),
        ("max_turn_tokens = 0", "max_turn_tokens", "20", 20),
        ("max_turn_tokens = 21", "max_turn_tokens", "20", 20),
        ("max_turn_tokens = 21", "max_turn_tokens", "0", 21),
    ],
)
def test_a_project_only_tightens(
    tmp_path: Path, user_file: Path, line: str, key: str, now: str, expected: object
) -> None:
    project = tmp_path / "project.toml"
    project.write_text(line)
    user_file.write_text(f"{key} = {json.dumps(int(now) if now.isdigit() else now)}")
    found = load_settings(flags={}, user_file=user_file, project_file=project)
    assert getattr(found, key) == expected
    assert (str(project) in found.sources[key]) == (expected != getattr(load_settings(flags={key: now}), key))


def test_a_project_sets_what_shapes_answers_between_the_user_and_the_session(
    tmp_path: Path, user_file: Path
) -> None:
    project = tmp_path / "project.toml"
    project.write_text('top_k = 3\n\n[[rule]]\ntool = "run_command"\naction = "deny"\n')
    user_file.write_text("top_k = 4")
    assert load_settings(flags={}, user_file=user_file, project_file=project).top_k == 3
    given = load_settings(flags={}, user_file=user_file, project_file=project, session={"top_k": 5})
    assert given.top_k == 5


@pytest.mark.parametrize(
    "key",
    [
        "tools",
        "tool_files",
        "pass_variables",
        "tool_choice",
        "cache",
        "disk_budget",
        "persona",
        "debug_text",
        "typed_history",
    ],
)
def test_a_project_may_not_switch_tools_on_or_run_code(tmp_path: Path, key: str) -> None:
    project = tmp_path / "project.toml"
    project.write_text(f'\n{key} = "x.py"')
    with pytest.raises(ConfigError, match="a project file may not set this") as raised:
        load_settings(flags={}, project_file=project)
    assert "line 2" in raised.value.message
