"""Prove every architecture and print, or with ``--write`` replace, the page that says so.

python -m tests.architectures [--write] [--only NAME]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from tests.architectures.page import PAGE, page
from tests.architectures.survey import survey


def main() -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.architectures")
    parser.add_argument("--write", action="store_true", help="replace docs/architectures.md")
    parser.add_argument("--only", default="", help="part of a name")
    chosen = parser.parse_args()
    folder = os.environ.get("SKIPPY_TINY_MODELS", "")
    if not folder:
        print("SKIPPY_TINY_MODELS is not set: `make test` makes the models.", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as scratch:
        proofs = survey(
            Path(folder), Path(scratch), only=chosen.only, tell=lambda text: print(text, file=sys.stderr)
        )
    text = page(proofs)
    if chosen.write:
        PAGE.write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
