"""What commands may know of the environment."""

from __future__ import annotations

import pytest

from skippy_chat.agent.tools.environment import for_commands, looks_secret


@pytest.mark.parametrize(
    "name",
    ["GITHUB_TOKEN", "token", "OPENAI_API_KEY", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "DB_PASSWORD", "MYSQL_PWD",
     "CLIENT_SECRET", "SSH_AUTH_SOCK", "GPG_PASSPHRASE", "GOOGLE_APPLICATION_CREDENTIALS", "KUBECONFIG", "DATABASE_URL",
     "SENTRY_DSN", "HF_HOME_TOKEN", "NPM_CONFIG__AUTH", "GITLAB_PAT", "PGHOST", "DBUS_SESSION_BUS_ADDRESS",
     "SESSION_COOKIE", "SLACK_WEBHOOK"],
)  # fmt: skip
def test_secret_names(name: str) -> None:
    assert looks_secret(name, "x")


@pytest.mark.parametrize(
    "name",
    ["PATH", "HOME", "LANG", "LC_ALL", "PWD", "OLDPWD", "USER", "SHELL", "EDITOR", "VIRTUAL_ENV", "CC", "CFLAGS",
     "TMPDIR", "OMP_NUM_THREADS", "PYTHONPATH", "DISPLAY", "GOPATH", "GHOST", "HFOO", "NODE_ENV", "CI"],
)  # fmt: skip
def test_plain_names(name: str) -> None:
    assert not looks_secret(name, "/usr/bin:https://example.org/path")


@pytest.mark.parametrize(
    "value",
    ["postgres://me:pw@host/db", "x ghp_abcdefghijklmnop0123 y", "-----BEGIN OPENSSH PRIVATE KEY-----",
     "AKIAIOSFODNN7EXAMPLE", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.x"],
)  # fmt: skip
def test_secret_values(value: str) -> None:
    assert looks_secret("INNOCENT", value)


def test_names_that_are_let_through() -> None:
    environment = {"A_TOKEN": "1", "B_TOKEN": "2", "PLAIN": "3"}
    assert for_commands(environment, {"B_TOKEN"}).items() >= {"B_TOKEN": "2", "PLAIN": "3"}.items()
    assert "A_TOKEN" not in for_commands(environment, {"B_TOKEN"})
