"""What a command may know of the environment: everything but what looks like a secret.

Names are judged by pattern, values by the look of well-known keys and of addresses that hold a password. A person can
let single names through.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

_SECRET_NAME = re.compile(
    r"TOKEN|KEY|SECRET|PASSW|PASSPHRASE|PWD_|_PWD|CREDENTIAL|AUTH|COOKIE|_PAT$|^PAT$|_DSN$|CONNECTION_?STRING|WEBHOOK"
    r"|^(AWS|AZURE|GOOGLE|GCP|GCLOUD|GITHUB|GITLAB|CI_JOB|HUGGING|OPENAI|ANTHROPIC|NPM|PYPI|TWINE|DOCKER|VAULT|STRIPE"
    r"|SLACK|SENTRY|DBUS_SESSION|DATABASE|MYSQL|REDIS|MONGO|GH|HF)(_|$)|^(KUBECONFIG|REDISCLI|MONGODB|PG[A-Z]+$)",
    re.IGNORECASE,
)
_NO_SECRET = frozenset({"PWD", "OLDPWD"})
_SECRET_VALUE = re.compile(
    r"://[^/@\s:]*:[^/@\s]+@"  # a password in an address
    r"|-----BEGIN [A-Z ]*PRIVATE KEY"
    r"|\b(gh[pousr]_|github_pat_|glpat-|sk-|xox[abprs]-|hf_|npm_|pypi-|AKIA|ASIA|AIza)[A-Za-z0-9_-]{12,}"
    r"|\beyJ[A-Za-z0-9_-]{10,}\.eyJ"  # a signed web token
)
# Nobody sits at the command's terminal: no pager, no questions.
_UNATTENDED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def for_commands(environment: Mapping[str, str], allowed: Collection[str] = ()) -> dict[str, str]:
    """Return the environment of a command; ``allowed`` names pass whatever they look like."""
    kept = {
        name: value for name, value in environment.items() if name in allowed or not looks_secret(name, value)
    }
    return kept | _UNATTENDED


def looks_secret(name: str, value: str) -> bool:
    """Tell whether a variable should be kept from commands."""
    if name in _NO_SECRET:
        return False
    return bool(_SECRET_NAME.search(name) or _SECRET_VALUE.search(value))
