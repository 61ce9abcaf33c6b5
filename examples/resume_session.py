"""Go on with a conversation in another process of the model: it resumes from disk and reads only the new question."""

from pathlib import Path

from skippy_chat import Reply, Skippy

HANDBOOK = Path(__file__).with_name("island.md").read_text(encoding="utf-8")


def counts(what: str, reply: Reply) -> None:
    """Print what was reused and what was read, in tokens."""
    usage = reply.usage
    print(f"{what}: {usage.cached_tokens} cached + {usage.prefilled_tokens} new = {usage.prompt_tokens}")


with Skippy(system=HANDBOOK, max_tokens=40) as chat:
    counts("first process", chat.ask("Where can I sleep?"))
    session = chat.session.id  # or give it a name: Skippy(session="tressel")

with Skippy(session=session, max_tokens=40) as chat:
    reply = chat.ask("And what does it cost to bring a bicycle?")
    counts("second process", reply)
    print(f"resumed from {reply.steps[0].cache.source}, {len(chat.messages)} messages")
