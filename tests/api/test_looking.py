"""What a script may ask of the cache, on the default model."""

from __future__ import annotations

import pytest

from skippy_chat.errors import UsageError
from tests.api.conftest import Open


@pytest.mark.native
@pytest.mark.model
def test_what_is_foretold_is_what_the_turn_reports(open_chat: Open) -> None:
    with open_chat(system="Be brief.") as chat:
        chat.ask("Name a colour.")
        told = chat.foresee("And one more?")
        before = chat.messages
        usage = chat.ask("And one more?").usage
        assert len(chat.messages) == len(before) + 2  # looking stored nothing
        assert (told.prompt_tokens, told.cached_tokens) == (usage.prompt_tokens, usage.cached_tokens)
        question = next(each for each in chat.messages if each.role == "user")
        told = chat.foresee("Name a river of France.", question)
        kept = chat.checkpoints()
        usage = chat.edit(question, "Name a river of France.").usage
        assert (told.prompt_tokens, told.cached_tokens) == (usage.prompt_tokens, usage.cached_tokens)
        (cost,) = [each for each in kept.tree.edits if kept.branches[0][each.message].id == question.id]
        assert cost.resumes <= told.cached_tokens  # the new text may begin as the old one did
        with pytest.raises(UsageError):
            chat.foresee("No.", chat.messages[-1])
