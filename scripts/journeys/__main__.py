"""Take the journeys and their pictures: python -m scripts.journeys [NAME ...], in the order in which they follow."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from scripts.journeys import days, others, reuse
from scripts.journeys.place import Place

JOURNEYS = {
    "first-minutes": days.first_minutes,
    "next-day": days.next_day,
    "edit-third": days.edit_third,
    "asked-to-run": others.asked_to_run,
    "context-full": others.context_full,
    "other-model": others.other_model,
    "two-terminals": others.two_terminals,
    "reuse": reuse.reuse,
}


def main() -> None:
    """Take them, one after the other, in folders of their own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*JOURNEYS, []], help="all of them, when none is given")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--home", type=Path, help="folders of an earlier run to go on in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(options.home or Path(folder), options.threads)
        place.make()
        for name in options.names or JOURNEYS:
            JOURNEYS[name](place)


if __name__ == "__main__":
    main()
