"""llama.cpp's own chat templates: messages in, prompt text out."""

from __future__ import annotations

import ctypes
import json
from typing import Any

from skippy_chat.errors import ModelFileError, NativeError
from skippy_chat.native.model import Model


class ChatTemplate:
    """The model's template (or ``override``), rendered by llama.cpp."""

    def __init__(self, model: Model, override: str | None = None) -> None:
        """Parse the template.

        Raises:
            ModelFileError: it cannot be parsed.
        """
        self._library = model.library.chat
        self.source = _own_template(model) if override is None else override
        error = ctypes.c_void_p()
        text = None if override is None else override.encode()
        self._pointer = self._library.skippy_chat_init(model.pointer, text, ctypes.byref(error))
        if not self._pointer:
            raise ModelFileError(f"The chat template cannot be used: {self._take(error)}.")

    def render(self, request: dict[str, Any]) -> dict[str, Any]:
        """Render a request (messages, tools, add_generation_prompt, enable_thinking, now, kwargs).

        Raises:
            NativeError: the template refused these messages.
        """
        error = ctypes.c_void_p()
        raw = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        reply = ctypes.c_void_p(self._library.skippy_chat_render(self._pointer, raw, ctypes.byref(error)))
        if not reply.value:
            raise NativeError(f"The chat template refused the conversation: {self._take(error)}.")
        result: dict[str, Any] = json.loads(self._take(reply))
        return result

    def close(self) -> None:
        """Free the template; safe to call twice."""
        if self._pointer:
            self._library.skippy_chat_free(self._pointer)
            self._pointer = None

    def _take(self, text: ctypes.c_void_p) -> str:
        if not text.value:
            return "no reason given"
        try:
            return ctypes.string_at(text.value).decode("utf-8", "replace")
        finally:
            self._library.skippy_chat_string_free(text)


def _own_template(model: Model) -> str:
    """Return the template's text in the model file, empty when it has none and llama.cpp falls back to ChatML."""
    raw = model.library.api.llama_model_chat_template(model.pointer, None)
    return (raw or b"").decode("utf-8", "replace")
