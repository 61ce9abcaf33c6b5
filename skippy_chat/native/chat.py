"""llama.cpp's own chat templates: messages in; prompt, grammar and parser out.

A request is an object with these keys; what is None is as if left out, and an unknown key is refused:

- ``messages``: OpenAI messages (``content`` a text or parts, ``reasoning_content``, ``tool_calls``, ``tool_call_id``)
- ``now``: seconds since the epoch, the only clock a template sees
- ``tools``: OpenAI tools
- ``tool_choice``: ``"auto"`` (default), ``"required"``, ``"none"``, or one function,
  ``{"type": "function", "function": {"name": ...}}``; the prompt does not depend on it
- ``parallel_tool_calls``: default: what the template can do
- ``json_schema``: the answer is JSON by this schema; tools are not called then
- ``add_generation_prompt``: default True, unless a message is continued
- ``continue_final_message``: True, ``"content"`` or ``"reasoning_content"``: go on with the last message
- ``enable_thinking``: default True
- ``reasoning_format``: ``"auto"`` (default) or ``"none"``, with which thoughts are content
- ``chat_template_kwargs``: further variables of the template

The reply holds ``prompt``, ``generation_prompt``, ``additional_stops``, ``preserved_tokens``, ``preserved_token_ids``
(tokens whose text belongs to the answer's, though they are control tokens), ``supports_thinking``,
``thinking_start_tag``, ``thinking_end_tags``, ``message_delimiters``, ``format``, ``has_template``; for
``native.grammar``: ``grammar`` (empty when nothing is constrained), ``grammar_triggers`` and ``grammar_start``
(``"trigger"``: lazy; ``"answer"``: a call was asked for, and comes at once, or after thoughts that the generation
prompt opens; ``"generation_prompt"``); and for ``native.parsing``: ``parser``.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping
from typing import Any

from skippy_chat.errors import ModelFileError, TemplateRefused
from skippy_chat.native.model import Model
from skippy_chat.native.parsing import AnswerParser, ParsedAnswer


class ChatTemplate:
    """The model's template (or ``override``), rendered by llama.cpp."""

    def __init__(self, model: Model, override: str | None = None) -> None:
        """Parse the template.

        Raises:
            ModelFileError: it cannot be parsed.
        """
        self._model_library = model.library
        self._library = model.library.chat
        self._take = model.library.take_text
        self.source = _own_template(model) if override is None else override
        error = ctypes.c_void_p()
        text = None if override is None else override.encode()
        self._pointer = self._library.skippy_chat_init(model.pointer, text, ctypes.byref(error))
        if not self._pointer:
            raise ModelFileError(f"The chat template cannot be used: {self._take(error)}.")

    def render(self, request: dict[str, Any]) -> dict[str, Any]:
        """Render a request; keys of request and reply: see the module.

        Raises:
            TemplateRefused: the template refused these messages, or has no form for what is asked.
        """
        error = ctypes.c_void_p()
        raw = json.dumps(request, ensure_ascii=False).encode("utf-8", "surrogatepass")
        reply = ctypes.c_void_p(self._library.skippy_chat_render(self._pointer, raw, ctypes.byref(error)))
        if not reply.value:
            raise TemplateRefused(
                f"The chat template refused the conversation: {self._take(error)}.",
                "Leave out what it has no form for (a required call, tools, a system prompt), or use another model.",
            )
        result: dict[str, Any] = json.loads(self._take(reply))
        return result

    def thinks(self) -> bool:
        """Tell whether the template knows reasoning, as far as a conversation of one message shows."""
        try:
            reply = self.render({"messages": [{"role": "user", "content": "Hello"}], "now": 0})
        except TemplateRefused:
            return False
        return bool(reply["supports_thinking"])

    def read(self, rendered: Mapping[str, Any], text: str) -> ParsedAnswer:
        """Read a whole answer to what ``render`` has rendered.

        Raises:
            NativeError: the rendering's parser cannot be loaded.
        """
        parser = AnswerParser(self._model_library, rendered["parser"])
        try:
            return parser.parse(text, partial=False)
        finally:
            parser.close()

    def close(self) -> None:
        """Free the template; safe to call twice."""
        if self._pointer:
            self._library.skippy_chat_free(self._pointer)
            self._pointer = None


def _own_template(model: Model) -> str:
    """Return the template's text in the model file, empty when it has none and llama.cpp falls back to ChatML."""
    raw = model.library.api.llama_model_chat_template(model.pointer, None)
    return (raw or b"").decode("utf-8", "replace")
