"""Sizes and ages as they are typed: "2GiB", "30d"."""

from __future__ import annotations

import re

import click

from skippy_chat.text.sizes import parse_size

_AGE = re.compile(r"(\d{1,6})\s*([hdw])")
_SECONDS = {"h": 3600, "d": 86_400, "w": 604_800}


def size(_: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Read an option's value as bytes.

    Raises:
        click.BadParameter: it is not a size.
    """
    if value is None:
        return None
    try:
        return parse_size(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a size: write 500MB or 2GiB.", param=param) from None


def age(_: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """Read an option's value as seconds.

    Raises:
        click.BadParameter: it is not an age.
    """
    if value is None:
        return None
    match = _AGE.fullmatch(value.strip().lower())
    if match is None:
        raise click.BadParameter(f"{value!r} is not an age: write 12h, 30d or 8w.", param=param)
    return int(match[1]) * _SECONDS[match[2]]
