"""Change the last question: all that stands before it is not read again, and the very same prompt reads nothing."""

from pathlib import Path

from skippy_chat import Reply, Skippy

HANDBOOK = Path(__file__).with_name("island.md").read_text(encoding="utf-8")


def counts(what: str, reply: Reply) -> None:
    """Print what was reused and what was read, in tokens."""
    usage = reply.usage
    print(f"{what}: {usage.cached_tokens} cached + {usage.prefilled_tokens} new = {usage.prompt_tokens}")


with Skippy(system=HANDBOOK, max_tokens=40) as chat:
    counts("asked", chat.ask("Which boat goes to Tressel in January?"))

    question = chat.messages[-2]
    edited = chat.edit(question, "Which boat goes to Tressel in July?")
    counts("edited", edited)
    print(edited.content)

    counts("once more", chat.regenerate())
