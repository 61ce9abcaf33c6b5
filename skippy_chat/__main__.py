"""``python -m skippy_chat`` is the command line."""

from __future__ import annotations

import sys

from skippy_chat.cli import main

if __name__ == "__main__":
    sys.exit(main())
