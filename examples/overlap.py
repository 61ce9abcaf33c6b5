"""Ask for a title beside a conversation in which a tool is called: the conversation goes first and loses nothing."""

from pathlib import Path
from typing import Literal

from skippy_chat import Reply, Skippy, tool

HANDBOOK = Path(__file__).with_name("island.md").read_text(encoding="utf-8")


@tool(read_only=True)
def next_boat(day: Literal["Tuesday", "Friday", "Sunday"]) -> str:
    """Say when a boat leaves for Tressel."""
    return f"On {day} the next boat leaves at 9:00."


def counts(what: str, reply: Reply) -> None:
    """Print what was reused and what was read, in tokens."""
    usage = reply.usage
    print(f"{what}: {usage.cached_tokens} cached + {usage.prefilled_tokens} new = {usage.prompt_tokens}")


with Skippy(system=HANDBOOK, tools=[next_boat], max_tokens=200) as chat:
    chat.ask("Tell me about the mail boat.", max_tokens=40)

    title = chat.aside("Give this conversation a title of three words.", max_tokens=12)
    called = chat.ask("When does a boat leave on Friday?", tool_choice="required")
    counts("conversation", called)
    counts("title", title.result(timeout=60))

    # Nothing of the title is kept, and what the conversation had read is still there.
    counts("answered again", chat.regenerate())
    print(f"calls: {len(called.tool_calls)}, messages: {len(chat.messages)}")
