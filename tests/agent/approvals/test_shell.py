"""Command lines are read as a real shell reads them, or not at all."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from skippy_chat.agent.approvals.shell import NotPlain, simple_commands


@pytest.mark.parametrize(
    ("line", "commands"),
    [
        ("git status", [["git", "status"]]),
        ("  ls\t-l  ", [["ls", "-l"]]),
        ("a 'b c' \"d e\"f\\ g ''", [["a", "b c", "d ef g", ""]]),
        ("a; b && c || d | e", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a;", [["a"]]),
        ("echo 'a;b' \"c|d\" e\\;f", [["echo", "a;b", "c|d", "e;f"]]),
        (r'echo "\$x \" \\ \n"', [["echo", r"$x " + '" \\ \\n']]),
        ("echo '$(x) `y` *'", [["echo", "$(x) `y` *"]]),
        ("echo a#b", [["echo", "a#b"]]),
        ("'if' x", [["if", "x"]]),
        ("echo if", [["echo", "if"]]),
        ("echo a=b", [["echo", "a=b"]]),
        ("echo 'two\nlines'", [["echo", "two\nlines"]]),
    ],
)
def test_plain_lines(line: str, commands: list[list[str]]) -> None:
    assert simple_commands(line) == commands


@pytest.mark.parametrize(
    "line",
    [
        "", " ", ";", "; a", "a;; b", "a &&", "a |", "a || ; b", "a & b", "a &", "a |& b",
        "echo $x", "echo $(id)", "echo `id`", 'echo "$x"', 'echo "`id`"', "echo $'x'", "echo ${x}", "echo $((1))",
        "a > b", "a >> b", "a < b", "a 2>&1", "a << EOF", "a <(b)", "(a)", "{ a; }", "a {b,c}", "f() { a; }",
        "echo *", "echo ?", "echo [ab]", "echo ~", "ls ~root", "a=~", "! a", "a !b",
        "a\nb", "a\\\nb", "a\r", "a\0b", "a\x1bb", "a\ud800", "'a\ud800'",
        "# a", "a # b", "echo 'a", 'echo "a', "echo a\\",
        "if a; then b; fi", "while a; do b; done", "for x in y; do z; done", "case x in y) z;; esac",
        "time a", "[[ a ]]",
        "x=1", "x=1 a", "PATH=. ls", "x+=1 a", "a[0]=1", "\u202ea", "a\u200b",
    ],
)  # fmt: skip
def test_lines_that_only_a_shell_can_read(line: str) -> None:
    with pytest.raises(NotPlain):
        simple_commands(line)


PIECES = ["a", "b", "-x", "=", "1", "'", '"', "\\", " ", "  ", "\t", ";", "&", "&&", "||", "|", "$", "$(a)", "`a`", "*",
          "?", "[", "]", "~", "#", "!", "{", "}", ",", "(", ")", "<", ">", "\n", "if", "then", "time", ":", "/", "%",
          "^", "@", "+", "é", "''", '""', "'b c'", '"d e"', "\\;", "\\ ", "\\\\", '\\"', "\\$", "\\a"]  # fmt: skip


@pytest.mark.parametrize(
    "shell", [each for each in ("/bin/sh", "/bin/bash", "/bin/dash") if Path(each).exists()]
)
def test_the_words_are_those_of_a_real_shell(shell: str, tmp_path: Path) -> None:
    """Thousands of random lines that we can read, all run in one shell whose only command prints its words."""
    random_ = random.Random(7)
    lines: list[str] = []
    expected: list[list[str]] = []
    while len(lines) < 4000:
        text = "p " + "".join(random_.choice(PIECES) for _ in range(random_.randrange(1, 9)))
        try:
            commands = simple_commands(text)
        except NotPlain:
            continue
        if len(commands) == 1:
            lines.append(text)
            expected.append(commands[0][1:])
    script = "p() { printf '%s\\0' \"$@\" '-end-'; }\n" + "\n".join(lines) + "\n"
    (tmp_path / "a").touch()  # something for a glob to find
    run = subprocess.run(
        [shell, "-s"], input=script.encode(), capture_output=True, cwd=tmp_path, timeout=60, check=False
    )
    assert run.stderr == b""
    found: list[list[str]] = [[]]
    for word in run.stdout.decode().split("\0")[:-1]:
        if word == "-end-":
            found.append([])
        else:
            found[-1].append(word)
    assert found[:-1] == expected


@pytest.mark.parametrize("shell", [each for each in ("/bin/sh", "/bin/bash") if Path(each).exists()])
def test_joined_commands_are_those_of_a_real_shell(shell: str, tmp_path: Path) -> None:
    """With ``;`` only, so that each runs whatever the one before gave."""
    random_ = random.Random(8)
    pieces = ["p a", "p 'b;c'", 'p "d ; e"', "p \\;", "p x#y", "p ;", "p", "p -n", " ", "p '' \"\""]
    lines: list[str] = []
    expected: list[list[str]] = []
    while len(lines) < 500:
        text = ";".join(random_.choice(pieces) for _ in range(random_.randrange(1, 5)))
        try:
            expected += [each[1:] for each in simple_commands(text)]
            lines.append(text)
        except NotPlain:
            continue
    script = "p() { printf '%s\\0' \"$@\" '-end-'; }\n" + "\n".join(lines) + "\n"
    run = subprocess.run(
        [shell, "-s"], input=script.encode(), capture_output=True, cwd=tmp_path, timeout=60, check=False
    )
    assert run.stderr == b""
    found: list[list[str]] = [[]]
    for word in run.stdout.decode().split("\0")[:-1]:
        if word == "-end-":
            found.append([])
        else:
            found[-1].append(word)
    assert found[:-1] == expected
