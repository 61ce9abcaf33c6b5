"""Loading ``@tool`` functions from a Python file that the person's own settings name.

The file is code and runs with all the person's rights, so one that others can write to is refused.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import stat
import sys
import traceback
from pathlib import Path

from skippy_chat.agent.tools.function import FunctionTool
from skippy_chat.errors import ConfigError


def load_tools(path: Path) -> list[FunctionTool]:
    """Run a file and return the tools it makes, sorted by name.

    Raises:
        ConfigError: no such file, others can write it, it fails (with the line), or it makes no tools.
    """
    path = path.expanduser()
    try:
        path = path.resolve(strict=True)
        mode = path.stat().st_mode
    except OSError as error:
        raise ConfigError(
            f"The tools file {path} cannot be read: {error.strerror}.",
            "Mend --tool-file, or tool_files = [...].",
        ) from error
    if not stat.S_ISREG(mode) or path.suffix != ".py":
        raise ConfigError(f"The tools file {path} is not a Python file.", "Name a file that ends in .py.")
    if mode & stat.S_IWOTH:
        raise ConfigError(f"Others can write to the tools file {path}.", f"Run: chmod o-w '{path}'")
    name = f"skippy_tools_{hashlib.blake2b(bytes(path), digest_size=8).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # types that name the module's own classes are looked up there
    try:
        with contextlib.redirect_stdout(sys.stderr):  # standard output is for answers
            spec.loader.exec_module(module)
    except ConfigError as error:
        raise ConfigError(f"{path}: {error.message}", error.hint) from error
    except (Exception, SystemExit) as error:
        raise ConfigError(
            f"{path}{_line(error, path)}: {type(error).__name__}: {error}.", "Mend the file, or leave it out."
        ) from error
    found = {id(each): each for each in vars(module).values() if isinstance(each, FunctionTool)}
    if not found:
        raise ConfigError(f"{path} makes no tools.", "Write @tool above a typed function.")
    return sorted(found.values(), key=lambda each: each.name)


def _line(error: BaseException, path: Path) -> str:
    """Name the last line of the file itself on the way to the fault."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f", line {error.lineno}"
    lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(path)]
    return f", line {lines[-1]}" if lines else ""
