"""The tools that come with the program.

``fetch_url`` is not among the default ones: a model reaches the network only where a person named it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from skippy_chat.agent.tools.calculator import Calculator
from skippy_chat.agent.tools.clock import CurrentTime
from skippy_chat.agent.tools.command import RunCommand
from skippy_chat.agent.tools.fetch import FetchUrl
from skippy_chat.agent.tools.listing import ListDirectory
from skippy_chat.agent.tools.protocol import Tool
from skippy_chat.agent.tools.reading import ReadFile
from skippy_chat.agent.tools.schemas import built_in_schemas
from skippy_chat.agent.tools.search import SearchFiles
from skippy_chat.agent.tools.writing import EditFile, WriteFile
from skippy_chat.errors import UsageError

_MAKERS: Mapping[str, Callable[[], Tool]] = {
    "calculator": Calculator,
    "current_time": CurrentTime,
    "edit_file": EditFile,
    "fetch_url": FetchUrl,
    "list_directory": ListDirectory,
    "read_file": ReadFile,
    "run_command": RunCommand,
    "search_files": SearchFiles,
    "write_file": WriteFile,
}
NAMES: tuple[str, ...] = tuple(sorted(_MAKERS))
DEFAULT_NAMES: tuple[str, ...] = tuple(name for name in NAMES if name != "fetch_url")


def built_in_tools(names: Iterable[str] = DEFAULT_NAMES, *, allow_private: bool = False) -> list[Tool]:
    """Make the named tools; ``allow_private`` lets ``fetch_url`` reach private and loopback addresses.

    Raises:
        UsageError: no built-in tool has that name.
    """
    assert set(_MAKERS) == set(built_in_schemas())
    made: list[Tool] = []
    for name in dict.fromkeys(names):
        if name not in _MAKERS:
            raise UsageError(f"There is no built-in tool {name!r}.", f"Tools are: {', '.join(NAMES)}.")
        made.append(FetchUrl(allow_private=allow_private) if name == "fetch_url" else _MAKERS[name]())
    return made
