"""Ask A, ask B instead, go back to A: each branch stays, and coming back reads nothing."""

from pathlib import Path

from skippy_chat import Reply, Skippy

HANDBOOK = Path(__file__).with_name("island.md").read_text(encoding="utf-8")


def counts(what: str, reply: Reply) -> None:
    """Print what was reused and what was read, in tokens."""
    usage = reply.usage
    print(f"{what}: {usage.cached_tokens} cached + {usage.prefilled_tokens} new = {usage.prompt_tokens}")


with Skippy(system=HANDBOOK, max_tokens=30) as chat:
    chat.ask("What is there to see?")
    counts("A", chat.ask("How long does the path along the cliffs take?"))
    a = chat.messages[-1]

    counts("B", chat.edit(chat.messages[-2], "When may I climb the lighthouse?"))

    chat.switch(a)
    counts("A again", chat.regenerate())

    for leaf in chat.branches():
        question = chat.branch(leaf)[-2]
        print(f"- {question.content} {leaf.content.splitlines()[0] if leaf.content else ''}")
