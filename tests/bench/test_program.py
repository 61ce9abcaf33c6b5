"""Whole runs on a tiny model: what a report holds, and that one suite's fault stays its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from skippy_chat.bench.figures import Report, SuiteReport, to_json
from skippy_chat.bench.notebook import Notebook
from skippy_chat.bench.plan import SUITES, Plan
from skippy_chat.bench.program import Options, Progress, failed, file_system, run_bench
from skippy_chat.bench.rig import Rig
from skippy_chat.bench.stock import Stock
from skippy_chat.bench.suites import growth, record, restore, reuse
from skippy_chat.bench.writing import lines, write_plots
from skippy_chat.errors import NativeError

pytestmark = [pytest.mark.native, pytest.mark.model, pytest.mark.timeout(600)]
MakeOptions = Callable[..., Options]


def run(options: Options) -> tuple[Report, list[str]]:
    said: list[str] = []
    return run_bench(options, Progress(said.append), now_ms=lambda: 7), said


def by_name(report: Report) -> dict[str, SuiteReport]:
    return {suite.name: suite for suite in report.suites}


def column(suite: SuiteReport, table: str, key: str) -> list[object]:
    found = next(each for each in suite.tables if each.name == table)
    at = [each.key for each in found.columns].index(key)
    return [row[at] for row in found.rows]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, tiny_model: Callable[[str], Path]) -> Report:
    """One run of every suite that needs no other program."""
    from tests.bench.conftest import TINY  # noqa: PLC0415

    folder = tmp_path_factory.mktemp("bench")
    options = Options(
        model=tiny_model("falcon-h1-dense"),
        plan=TINY,
        threads=1,
        context=TINY.context,
        prefix=folder,
        temporary=folder,
        arguments=("--threads", "1"),
    )
    found, _said = run(options)
    assert not list(folder.iterdir()), "its folders are gone"
    return found


def test_every_suite_is_reported_and_those_without_their_programs_say_how_to_make_them(
    report: Report,
) -> None:
    found = by_name(report)
    assert tuple(found) == SUITES
    assert {name: suite.error for name, suite in found.items() if suite.error} == {}
    assert {name for name, suite in found.items() if suite.skipped} == {"engine", "peers"}
    assert "make peers" in found["engine"].skipped
    assert not failed(report)


def test_reuse_counts_add_up_and_an_exact_replay_reads_nothing(report: Report) -> None:
    suite = by_name(report)["reuse"]
    prompt, cached, prefilled = (column(suite, "reuse", key) for key in ("prompt", "cached", "prefilled"))
    assert all(p == c + r for p, c, r in zip(prompt, cached, prefilled, strict=True))  # type: ignore[operator]
    by_case = dict(zip(column(suite, "reuse", "case"), prefilled, strict=True))
    for case in ("exact replay", "exact replay, new process", "A, B, A", "regenerate an earlier answer"):
        assert by_case[case] == 0, case
    assert by_case["cold"] == prompt[0]
    assert 0 < int(str(by_case["changed tail, first visit"])) < int(str(prompt[0]))


def test_restore_is_measured_pair_by_pair_against_as_many_bytes(report: Report) -> None:
    suite = by_name(report)["restore"]
    figure = suite.figures[0]
    assert len(figure.samples) == 2
    assert figure.bar is not None
    assert figure.value is not None
    assert all(isinstance(cell, (int, float)) and cell > 0 for cell in suite.tables[0].rows[0])


def test_bytes_recorded_are_those_that_are_needed_and_little_more(report: Report) -> None:
    suite = by_name(report)["record"]
    figure = suite.figures[0]
    assert figure.value is not None
    assert 1.0 <= figure.value <= 1.05
    assert len(column(suite, "record_pairs", "pair")) == 2


def test_growth_reads_only_what_is_new(report: Report) -> None:
    suite = by_name(report)["growth"]
    prefilled = [int(str(each)) for each in column(suite, "growth_turns", "prefilled")]
    assert len(prefilled) > 2
    assert max(prefilled[1:]) < prefilled[0]
    assert all(int(str(each)) > 0 for each in column(suite, "growth_sessions", "cached")[1:])


def test_the_json_is_plain_and_says_what_was_around(report: Report) -> None:
    value = json.loads(json.dumps(to_json(report)))
    assert value["schema"] == 1
    assert value["at_ms"] == 7
    assert value["command"] == f"skippy-chat bench --suites {','.join(SUITES)} --threads 1"
    assert value["model"]["architecture"] == "falcon-h1"
    assert value["settings"]["by_ids"] is True
    assert isinstance(value["quiet"], bool)
    for suite in value["suites"]:
        assert suite["command"] == f"skippy-chat bench --suites {suite['name']} --threads 1"
        if not suite["skipped"]:
            assert suite["page_cache"]
            assert suite["disturbances"]
            assert {each["what"] for each in suite["page_cache"]} == {"model", "segment files"}


def test_a_report_is_readable_and_its_plots_are_written(report: Report, tmp_path: Path) -> None:
    files = write_plots(report, tmp_path)
    assert {path.name for path in files} == {
        f"{name}.svg"
        for name in ("reuse", "restore", "record", "growth_turns", "growth_bytes", "growth_sessions")
    }
    text = "\n".join(lines(report, files))
    for name in SUITES:
        assert f"skippy-chat bench --suites {name} --threads 1" in text
    assert "in the page cache before measurements, model: 100%" in text
    assert "not run: llama-server and llama-bench are not built." in text


def test_a_suite_that_fails_keeps_what_it_found_and_the_others_go_on(
    tiny_options: MakeOptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = tiny_options(suites=("reuse", "restore", "record", "growth"))
    ran: list[str] = []

    def broken(notes: Notebook, rig: Rig, plan: Plan) -> None:
        ran.append("reuse")
        notes.note("found before")
        raise ZeroDivisionError("oh")

    def refused(notes: Notebook, rig: Rig, plan: Plan) -> None:
        ran.append("restore")
        raise NativeError("It was refused.", "Do something.")

    def works(notes: Notebook, rig: Rig, plan: Plan) -> None:
        ran.append(rig.folder.name)
        assert rig.folder.is_dir()

    monkeypatch.setattr(reuse, "run", broken)
    monkeypatch.setattr(restore, "run", refused)
    monkeypatch.setattr(record, "run", works)
    monkeypatch.setattr(growth, "run", works)
    report, said = run(options)
    found = by_name(report)
    assert ran == ["reuse", "restore", "record", "growth"]
    assert found["reuse"].error == "A fault in the suite: ZeroDivisionError: oh"
    assert found["reuse"].notes == ("found before",)
    assert found["restore"].error == "It was refused. Do something."
    assert (found["record"].error, found["growth"].error) == ("", "")
    assert failed(report)
    assert any("reuse failed" in text for text in said)
    assert not list(options.temporary.iterdir())


def test_a_suite_that_was_asked_for_by_name_fails_without_its_programs(tiny_options: MakeOptions) -> None:
    report, _said = run(tiny_options(suites=("peers",), insisted=frozenset({"peers"})))
    assert "make peers" in report.suites[0].error
    assert failed(report)


def test_the_suites_that_compare(tiny_options: MakeOptions, stock: Stock) -> None:
    options = tiny_options(suites=("engine", "peers"), insisted=frozenset({"engine", "peers"}))
    report, _said = run(replace(options, plan=replace(options.plan, peers=stock.folder)))
    found = by_name(report)
    assert {name: suite.error for name, suite in found.items()} == {"engine": "", "peers": ""}
    assert {row[0] for row in found["engine"].tables[0].rows} == {"prefill", "decode"}
    assert all(figure.value for figure in found["engine"].figures)
    assert any("llama-bench" in command for command in found["engine"].commands)
    systems = set(column(found["peers"], "peers", "system"))
    assert systems == {"skippy-chat", "llama-server (stock)", "llama-cpp-python, LlamaDiskCache"}
    ours = [(row[1], row[3], row[4]) for row in found["peers"].tables[0].rows if row[2] == "skippy-chat"]
    assert [case for case, prompt, reused in ours if prompt == reused] == [
        "exact replay",
        "A, B, A",
        "restart, exact replay",
    ]
    assert [reused for case, _prompt, reused in ours if case == "cold"] == [0]


def test_a_model_that_does_not_load_is_an_error_and_leaves_nothing(
    tiny_options: MakeOptions, tmp_path: Path
) -> None:
    wrong = tmp_path / "wrong.gguf"
    wrong.write_bytes(b"GGUF no more")
    options = tiny_options(model="falcon-h1-dense")
    with pytest.raises(Exception, match=r"wrong\.gguf"):
        run(replace(options, model=wrong))
    assert not list(options.temporary.iterdir())


def test_the_file_system_is_that_of_the_nearest_mount(tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(f"a / ext4 rw 0 0\nb {tmp_path} xfs rw 0 0\nc {tmp_path}-other tmpfs rw 0 0\n")
    assert file_system(tmp_path / "folder", mounts) == "xfs"
    assert file_system(Path("/nowhere"), mounts) == "ext4"
    assert file_system(tmp_path, tmp_path / "gone") == ""
