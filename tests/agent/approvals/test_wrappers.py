"""Programs that run other programs are seen through, or doubted."""

from __future__ import annotations

import pytest

from skippy_chat.agent.approvals.shell import NotPlain
from skippy_chat.agent.approvals.wrappers import Doubtful, unwrapped


@pytest.mark.parametrize(
    ("line", "inner"),
    [
        ("rm x", [["rm", "x"]]),
        ("env rm x", [["rm", "x"]]),
        ("/usr/bin/env -i rm x", [["rm", "x"]]),
        ("nohup rm x", [["rm", "x"]]),
        ("timeout 5s rm x", [["rm", "x"]]),
        ("nice -n 5 rm x", [["rm", "x"]]),
        ("nice rm x", [["rm", "x"]]),
        ("command rm x", [["rm", "x"]]),
        ("exec rm x", [["rm", "x"]]),
        ("busybox rm x", [["rm", "x"]]),
        ("setsid -- rm x", [["rm", "x"]]),
        ("sh -c 'rm x; ls'", [["rm", "x"], ["ls"]]),
        ("bash -c \"env sh -c 'rm x'\"", [["rm", "x"]]),
        ("/bin/busybox sh -c 'rm x'", [["rm", "x"]]),
        ("env nohup timeout 1 rm x && ls", [["rm", "x"], ["ls"]]),
        ("sh script.sh x", [["sh", "script.sh", "x"]]),
        ("command -v rm", [["command", "-v", "rm"]]),
        ("find . -name x", [["find", ".", "-name", "x"]]),
        ("git --no-pager log --oneline", [["git", "--no-pager", "log", "--oneline"]]),
        ("git commit -m 'x'", [["git", "commit", "-m", "x"]]),
        ("env", [["env"]]),
    ],
)
def test_wrappers_are_taken_off(line: str, inner: list[list[str]]) -> None:
    assert unwrapped(line) == inner


@pytest.mark.parametrize(
    "line",
    [
        "sudo rm x", "/usr/bin/sudo rm x", "env sudo rm x", "doas rm x", "su -c 'rm x'", "xargs rm", "ls | xargs rm",
        "parallel rm", "env X=1 rm x", "env -S 'rm x'", "env -u PATH rm x", "sh -x -c 'rm x'", "sh -c 'rm x' name",
        "bash -lc 'rm x'", "bash", "sh -s", "busybox --install", "timeout --signal=9 5 rm x", "timeout x rm y",
        "nohup -x rm", "eval 'rm x'", ". ./x", "source x", "ssh host rm x", "docker run x", "chroot . rm",
        "find . -exec rm x '{}' ';'", "find . -delete", "find . -fprint x", "find . -execdir rm x ';'",
        "git -c core.pager=x log", "git -ccore.pager=x log", "git -C .. status", "git --exec-path=. status",
        "git --git-dir=x status", "git --config-env=a=b status", "git frobnicate", "git rebase --exec x",
        "git rebase -x 'rm x'", "git bisect run rm", "git diff --ext-diff", "git grep -Oless x",
        "git fetch --upload-pack=x",
        "git clone --upload-pa x y", "git clone ext::sh", "git clone -u x y",
        "git clone -c a=b x", "git archive --remote=ext::x", "SUDO x", "git submodule foreach rm",
        "git filter-branch x",
        "git difftool",
        "git config alias.x '!rm'", "git archive --output=/x", "git clone -c core.x=y z --config a=b",
        "watch rm", "crontab x", "export PATH=.", "alias ls=rm", "set -x", "strace rm", "bwrap rm", "flock x rm",
        "env env env env env env env env env rm",
    ],
)  # fmt: skip
def test_what_cannot_be_seen_through_is_doubted(line: str) -> None:
    with pytest.raises(Doubtful):
        unwrapped(line)


@pytest.mark.parametrize("line", ["sh -c 'rm $x'", "sh -c 'a > b'", "bash -c 'sh -c \"a; `b`\"'", "sh -c ''"])
def test_lines_inside_are_read_as_strictly(line: str) -> None:
    with pytest.raises(NotPlain):
        unwrapped(line)
