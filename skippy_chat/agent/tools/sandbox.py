"""Commands under bubblewrap: the workspace to write, the system to read, no network, nothing else.

What is not named is not there: not the home folder, not other users' files, not the session bus. Git's hooks and
settings stay read-only, since git would run them later, outside; so does the workspace's own file, which may hold
rules.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

_SYSTEM = ("/usr", "/etc", "/opt")
_MERGED = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def find_bubblewrap(environment: Mapping[str, str]) -> Path | None:
    """Return the program, when it is installed."""
    found = shutil.which("bwrap", path=environment.get("PATH"))
    return Path(found) if found else None


def sandboxed(bubblewrap: Path, workspace: Path, argv: Sequence[str]) -> list[str]:
    """Return the command line that runs ``argv`` in the sandbox, in the workspace."""
    line = [str(bubblewrap), "--die-with-parent", "--new-session", "--unshare-all"]
    for folder in _SYSTEM:
        line += ["--ro-bind-try", folder, folder]
    for folder in _MERGED:
        path = Path(folder)
        if path.is_symlink():
            line += ["--symlink", str(path.readlink()), folder]
        else:
            line += ["--ro-bind-try", folder, folder]
    line += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108  inside, it is private
    root = str(workspace)
    line += ["--bind", root, root]
    for kept in (".git/hooks", ".git/config", ".git/modules", ".skippy-chat.toml"):
        line += ["--ro-bind-try", f"{root}/{kept}", f"{root}/{kept}"]
    return [*line, "--setenv", "HOME", "/tmp", "--chdir", root, "--", *argv]  # noqa: S108
