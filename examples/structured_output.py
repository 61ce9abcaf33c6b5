"""Have an answer be data: the grammar lets nothing through that is not JSON by the schema."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from skippy_chat import Skippy

HANDBOOK = Path(__file__).with_name("island.md").read_text(encoding="utf-8")


class Trip(BaseModel):
    """What the schema says, a model must say; whether it is true is another matter."""

    boat: Literal["Arne", "Solveig"]
    village: Literal["North Quay", "Mill End", "Saltby"]
    nights: int = Field(ge=1, le=9)
    bicycle: bool


with Skippy(system=HANDBOOK, max_tokens=400) as chat:
    reply = chat.ask("Plan a trip in July for me, with my bicycle.", json_schema=Trip)
    trip = reply.parsed
    print(f"{trip.nights} nights in {trip.village} with the {trip.boat}")

    # A plain JSON Schema does as well; the answer is then plain data.
    ages = {"type": "array", "items": {"type": "integer", "minimum": 0}, "minItems": 2, "maxItems": 3}
    reply = chat.ask("Invent the ages of three islanders.", json_schema=ages)
    print(reply.parsed)

    usage = reply.usage
    print(f"last: {usage.cached_tokens} cached + {usage.prefilled_tokens} new = {usage.prompt_tokens}")
