"""Terminal chat for local models that never reads the same prefix twice.

``from skippy_chat import Skippy, tool`` is the library for scripts (``docs/library.md``). It is loaded when one of its
names is first used, so that ``import skippy_chat`` costs nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from skippy_chat.api import Aside, CallMade, Reply, Skippy, Step, Stream, Verdict, tool

__version__ = "0.1.0"
__all__ = ["Aside", "CallMade", "Reply", "Skippy", "Step", "Stream", "Verdict", "__version__", "tool"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module  # noqa: PLC0415 - nor this, before it is needed

        return getattr(import_module("skippy_chat.api"), name)

    def __dir__() -> list[str]:
        return [*__all__, *globals()]
