"""Let the model call a function of yours: call, result, answer; each step reads only what is new."""

from pathlib import Path
from typing import Literal

from skippy_chat import Skippy, tool

HANDBOOK = Path(__file__).with_name("island.md").read_text(encoding="utf-8")
PEOPLE = {"North Quay": 212, "Mill End": 87, "Saltby": 31}


@tool(read_only=True)
def people_in(village: Literal["North Quay", "Mill End", "Saltby"]) -> str:
    """Say how many people live in a village of Tressel."""
    return f"{PEOPLE[village]} people live in {village}."


with Skippy(system=HANDBOOK, tools=[people_in], max_tokens=200) as chat:
    # A small model may not call on its own; "required" makes the first step of this turn a call.
    reply = chat.ask("How many people live in Saltby?", tool_choice="required")

    for number, step in enumerate(reply.steps, 1):
        usage = step.usage
        print(
            f"step {number}: {usage.cached_tokens} cached + {usage.prefilled_tokens} new = {usage.prompt_tokens}"
        )
        for call in step.tool_calls:
            print(f"  {call.name}({call.arguments}) {call.status}: {call.result}")
    print(reply.content)
