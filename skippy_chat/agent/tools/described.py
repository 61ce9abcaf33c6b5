"""What all built-in tools share: name, description and parameters from the frozen file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from skippy_chat.agent.tools.protocol import Needs
from skippy_chat.agent.tools.schemas import built_in_schemas


class BuiltIn:
    """A built-in tool, less what it does."""

    name: ClassVar[str]
    read_only: ClassVar[bool] = True
    needs: ClassVar[Needs] = Needs()

    @property
    def description(self) -> str:
        """What the model reads about it."""
        return built_in_schemas()[self.name].description

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of its arguments."""
        return built_in_schemas()[self.name].parameters
