"""Patterns: allowing is narrow, forbidding is wide."""

from __future__ import annotations

import shlex

import pytest

from skippy_chat.agent.approvals.patterns import (
    exact_command,
    exact_path,
    fits_address,
    fits_command,
    fits_path,
)


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("", "rm x", True),
        ("*", "rm x", True),
        ("git log", "git log", True),
        ("git log", "git log -1", False),
        ("git log *", "git log", True),
        ("git log *", "git log -1 x", True),
        ("git *", "git log", True),
        ("git *", "gitk", False),
        ("git log*", "git log-x", True),
        ("git * x", "git log x", True),
        ("git * x", "git log y x", False),
        ("rm *", "/bin/rm x", False),
        ("rm *", "./rm x", False),
        ("echo 'a b'", "echo 'a b'", True),
        ("echo 'a b'", "echo a b", False),
        ("make t?st", "make test", True),
        ("ls *", "LS x", False),
        ("git *", "git commit -m x", False),  # hooks: it must be named
        ("git commit *", "git commit -m x", True),
        ("* commit *", "git commit -m x", True),
        ("git *", "git push", False),
        ("'unclosed", "unclosed", False),
    ],
)
def test_allowing_commands(pattern: str, command: str, fits: bool) -> None:
    assert fits_command(pattern, shlex.split(command), widely=False) is fits


@pytest.mark.parametrize(
    ("pattern", "command", "fits"),
    [
        ("rm *", "/bin/rm x", True),
        ("rm *", "../../bin/RM x", True),
        ("rm *", "rmdir x", False),
        ("/bin/rm *", "rm x", True),
        ("git *", "git commit", True),
        ("'unclosed", "anything", True),
    ],
)
def test_forbidding_commands(pattern: str, command: str, fits: bool) -> None:
    assert fits_command(pattern, shlex.split(command), widely=True) is fits


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("", "x", True),
        ("**", "x/y", True),
        ("**", ".", True),
        ("x", "x", True),
        ("./x/", "x", True),
        ("x", "x/y", False),
        ("x/**", "x/y/z", True),
        ("x/**", "x", True),
        ("x/**", "xy", False),
        ("x/*", "x/y/z", False),
        ("*.md", "x/a.md", False),
        ("**/*.md", "x/a.md", True),
        ("**/*.md", "a.md", True),
        ("x/**/z", "x/z", True),
        ("x/**/z", "x/a/b/z", True),
        ("x.y", "xzy", False),
        ("a?c", "a/c", False),
        ("X", "x", False),
        ("**", ".git/hooks/pre-commit", False),  # run later, by git
        ("**", "sub/.GIT/config", False),
        (".git/**", ".git/config", True),
        ("**", ".gitignore", True),
        ("**", ".skippy-chat/approvals.toml", False),
    ],
)
def test_allowing_paths(pattern: str, path: str, fits: bool) -> None:
    assert fits_path(pattern, path, widely=False) is fits


def test_forbidding_paths() -> None:
    assert fits_path("Secret/**", "secret/x", widely=True)
    assert fits_path("**", ".git/config", widely=True)
    assert not fits_path("secret/**", "other", widely=True)


@pytest.mark.parametrize(
    ("pattern", "url", "fits"),
    [
        ("", "https://x.org/", True),
        ("https://x.org/*", "https://x.org/a/b?c=d", True),
        ("https://x.org/*", "https://X.org:443/", True),
        ("https://x.org/*", "http://x.org/", False),
        ("https://x.org/*", "https://x.org.evil.net/", False),
        ("https://x.org/*", "https://evil.net/https://x.org/", False),
        ("https://x.org/*", "https://x.org:8443/", False),
        ("https://x.org/a/*", "https://x.org/b", False),
        ("https://x.org/?", "https://x.org/a", False),
        ("*", "https://x.org/", False),
        ("nonsense", "https://x.org/", False),
    ],
)
def test_addresses(pattern: str, url: str, fits: bool) -> None:
    assert fits_address(pattern, url) is fits


def test_exact_patterns_fit_only_themselves() -> None:
    pattern = exact_command(["echo", "a b", "$x", ""])
    assert pattern is not None
    assert fits_command(pattern, ["echo", "a b", "$x", ""], widely=False)
    assert not fits_command(pattern, ["echo", "a b", "$x"], widely=False)
    assert exact_command(["echo", "*"]) is None
    assert exact_path("a[1]") is None
    assert exact_path("a/b") == "a/b"
