from __future__ import annotations

from pathlib import Path

from training.lines import append_line, read_lines


def test_lines_come_back(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    assert read_lines(path) == []
    append_line(path, {"a": "ö"})
    append_line(path, {"b": [1]})
    assert read_lines(path) == [{"a": "ö"}, {"b": [1]}]


def test_a_line_that_was_cut_spoils_neither_the_one_before_nor_the_next(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    append_line(path, {"a": 1})
    with path.open("a") as file:
        file.write('{"b": "cu')
    append_line(path, {"c": 3})
    assert read_lines(path) == [{"a": 1}, {"c": 3}]
