"""The questions of the chat part of the training data."""

from __future__ import annotations

from pathlib import Path

from training.cases import DATA


def questions(data: Path = DATA) -> list[str]:
    """Return all questions, each once, in a fixed order: forms with every topic in turn, then the single ones."""
    parts: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (data / "questions.txt").read_text(encoding="utf-8").split("\n"):
        if line.startswith("= "):
            lines = parts[line[2:]] = []
        elif line.strip() and not line.startswith("#"):
            lines.append(line)
    topics = [each for line in parts["topics"] for each in line.split(";")]
    forms = parts["forms"]
    formed = [
        forms[(index + turn) % len(forms)].format(topic)
        for turn in range(3)
        for index, topic in enumerate(topics)
    ]
    return list(dict.fromkeys([*parts["single"], *formed]))


def held_out_chat(data: Path = DATA) -> list[tuple[str, str]]:
    """Return questions and answers written by hand that are never trained on."""
    lines = [
        line
        for line in (data / "held_out_chat.txt").read_text(encoding="utf-8").split("\n")
        if line.strip() and not line.startswith("#")
    ]
    return [
        (question.removeprefix("> "), answer)
        for question, answer in zip(lines[::2], lines[1::2], strict=True)
    ]
