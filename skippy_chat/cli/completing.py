"""What Tab offers behind options and commands: names of sessions, models, tools, personas and settings.

Invariant: nothing is made, changed or said; whatever goes wrong offers nothing. Modules are imported when something
asks for what they know, since a person waits for every Tab.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

import click
from click.shell_completion import (
    CompletionItem,
)

if TYPE_CHECKING:
    from skippy_chat.cli.options import Invocation

_MOST = 200

Items: TypeAlias = "list[CompletionItem[str]]"
Completer: TypeAlias = Callable[[click.Context, click.Parameter, str], Items]


def sessions(context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer sessions by name, the last used first."""
    from skippy_chat.cli.opening import history_of  # noqa: PLC0415

    with _quietly(), history_of(_invocation(context)) as history:
        if history is not None:
            return _fitting(((each.name, "") for each in history.sessions(None, _MOST)), typed)
    return []


def deleted_sessions(context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer deleted sessions by name, the last deleted first."""
    from skippy_chat.cli.opening import history_of  # noqa: PLC0415

    with _quietly(), history_of(_invocation(context)) as history:
        if history is not None:
            return _fitting(((each.session.name, "") for each in history.deleted(_MOST)), typed)
    return []


def models(context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer models on this machine by name, and files."""
    from skippy_chat.cli.located import models_here  # noqa: PLC0415
    from skippy_chat.cli.opening import paths_of  # noqa: PLC0415
    from skippy_chat.models.resolve import BASE_ALIAS, DEFAULT_ALIAS  # noqa: PLC0415

    with _quietly():
        names = dict.fromkeys([DEFAULT_ALIAS, BASE_ALIAS, *models_here(paths_of(_invocation(context)))])
        if found := _fitting(((name, "") for name in names), typed):
            return found
    return [CompletionItem(typed, type="file")]


def tools(_context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer tools, also behind a comma."""
    from skippy_chat.agent.tools.schemas import built_in_schemas  # noqa: PLC0415

    before, comma, _ = typed.rpartition(",")
    groups = [] if comma else ["default", "all", "none"]
    names = [*groups, *sorted(built_in_schemas())]
    return _fitting(((f"{before}{comma}{name}", "") for name in names), typed)


def personas(context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer personas by name."""
    from skippy_chat.cli.opening import paths_of, workspace_of  # noqa: PLC0415
    from skippy_chat.personas import named_files  # noqa: PLC0415
    from skippy_chat.trust import personas_of  # noqa: PLC0415

    found: list[str] = []
    with _quietly():
        invocation = _invocation(context)
        found += named_files(personas_of(paths_of(invocation), workspace_of(invocation)))
    return _fitting(((name, "") for name in found), typed)


def keys(_context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer settings by key."""
    from skippy_chat.setting_table import TABLE  # noqa: PLC0415

    return _fitting(((name, key.meaning) for name, key in TABLE.items()), typed)


def assignments(context: click.Context, param: click.Parameter, typed: str) -> Items:
    """Offer ``KEY=`` for ``-c``, and values behind it where they are words."""
    name, equals, _ = typed.partition("=")
    if not equals:
        return [CompletionItem(f"{item.value}=", help=item.help) for item in keys(context, param, typed)]
    return _fitting(((f"{name}={each}", "") for each in _choices(name)), typed)


def values(context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer values of the setting that stands before."""
    return _fitting(((each, "") for each in _choices(str(context.params.get("key", "")))), typed)


def files(_context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer files, as the shell does."""
    return [CompletionItem(typed, type="file")]


def folders(_context: click.Context, _param: click.Parameter, typed: str) -> Items:
    """Offer folders, as the shell does."""
    return [CompletionItem(typed, type="dir")]


def _choices(key: str) -> tuple[str, ...]:
    from skippy_chat.setting_table import TABLE  # noqa: PLC0415

    about = TABLE.get(key.replace("-", "_"))
    return about.kind.choices if about is not None else ()


def _fitting(words: Iterable[tuple[str, str]], typed: str) -> Items:
    # Names of files may hold anything; what a terminal would act on is not offered to it.
    fitting = ((word, told) for word, told in words if word.startswith(typed) and word.isprintable())
    return [CompletionItem(word, help=told or None) for word, told in fitting]


def _invocation(context: click.Context) -> Invocation:
    from skippy_chat.cli.options import Invocation  # noqa: PLC0415

    found = context.find_object(Invocation)
    assert found is not None, "every context of ours has one"
    return found


@contextlib.contextmanager
def _quietly() -> Iterator[None]:
    from skippy_chat.errors import SkippyError  # noqa: PLC0415

    with contextlib.suppress(SkippyError, OSError):
        yield
