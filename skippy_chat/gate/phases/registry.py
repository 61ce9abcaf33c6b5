"""The phases by name, in the order in which they run.

A phase is a function that is given the ground and a sheet for its checks; phases of one ``group`` go on with each
other's workers.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from skippy_chat.errors import UsageError
from skippy_chat.gate.ground import Ground
from skippy_chat.gate.phases.budget import budget
from skippy_chat.gate.phases.edits import edits
from skippy_chat.gate.phases.faults import faults
from skippy_chat.gate.phases.native_log import native_log
from skippy_chat.gate.phases.overhead import overhead
from skippy_chat.gate.phases.overlap import overlap
from skippy_chat.gate.phases.replays import replay_equals_warm
from skippy_chat.gate.phases.tails import changed_tail, exact_replay, restart
from skippy_chat.gate.phases.tool_loop import tool_loop
from skippy_chat.gate.values import Sheet


@dataclass(frozen=True, slots=True)
class Phase:
    """One phase: ``promise`` is what it shows, in a sentence."""

    name: str
    promise: str
    run: Callable[[Ground, Sheet], None]
    group: str = ""


PHASES = (
    Phase(
        "tool_loop", "Each step of a tool loop reads only what is new, also after a restart in it.", tool_loop
    ),
    Phase("overlap", "A request aside and one of the conversation at the same moment hurt neither.", overlap),
    Phase("changed_tail", "A changed tail reuses all up to the shared boundary.", changed_tail, "tails"),
    Phase("exact_replay", "The same body twice reads nothing.", exact_replay, "tails"),
    Phase("restart", "A new process on the same folders reuses as much, from disk.", restart, "tails"),
    Phase("edits", "Any edit reuses up to the last canonical cut before the change.", edits),
    Phase(
        "replay_equals_warm",
        "Every measured turn equals its replay from scratch, to the bit.",
        replay_equals_warm,
    ),
    Phase("faults", "Kills, damage, other weights and full disks never give a wrong token.", faults),
    Phase("budget", "The checkpoints' bytes on disk never pass their budget.", budget),
    Phase("overhead", "Prompts that are never repeated are not slower with the cache on.", overhead),
    Phase("native_log", "Native code reported no broken state.", native_log),
)


def chosen(names: Sequence[str] | None) -> tuple[Phase, ...]:
    """Return the phases of these names in running order; all for None.

    Raises:
        UsageError: a name that is none.
    """
    known = {phase.name: phase for phase in PHASES}
    if names is None:
        return PHASES
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            hint = f"Did you mean {close[0]}?" if close else f"Phases are: {', '.join(known)}."
            raise UsageError(f"There is no phase {name!r}.", hint)
    if not names:
        raise UsageError("No phase was named.", f"Phases are: {', '.join(known)}.")
    return tuple(phase for phase in PHASES if phase.name in names)
