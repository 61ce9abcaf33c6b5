"""What was typed ahead on a terminal that hands over whole lines, taken out of the way of a question.

Invariant: nothing that was typed before the hands came to rest is read as the answer.
"""

from __future__ import annotations

import os
import select
import sys
from typing import TextIO

# Hands that are typing ahead leave no longer gaps.
_QUIET = 0.5

if sys.platform == "win32":
    import msvcrt

    def drop_typed(_stream: TextIO) -> bool:
        """Drop what was typed so far, and say whether there was any."""
        dropped = False
        while msvcrt.kbhit():
            msvcrt.getwch()
            dropped = True
        return dropped

else:
    import termios

    def drop_typed(stream: TextIO) -> bool:
        """Drop what was typed so far, and until nobody types; say whether there was any."""
        terminal = stream.fileno()
        before = termios.tcgetattr(terminal)
        now = termios.tcgetattr(terminal)
        # Unfinished lines are handed over too, and not shown; signals stay.
        now[3] &= ~(termios.ICANON | termios.ECHO)
        termios.tcsetattr(terminal, termios.TCSANOW, now)
        dropped = False
        try:
            while select.select([terminal], [], [], _QUIET)[0]:
                if not os.read(terminal, 4096):
                    break
                dropped = True
        finally:
            termios.tcsetattr(terminal, termios.TCSANOW, before)
        return dropped
