"""Wilson's score interval: what a share of so few cases can be trusted to say."""

from __future__ import annotations

from math import sqrt

_Z = 1.959964  # 95 percent


def wilson(successes: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of a share, as numbers from 0 to 1; of no cases, all of it."""
    if total == 0:
        return 0.0, 1.0
    share = successes / total
    middle = share + _Z * _Z / (2 * total)
    spread = _Z * sqrt(share * (1 - share) / total + _Z * _Z / (4 * total * total))
    scale = 1 + _Z * _Z / total
    return max(0.0, (middle - spread) / scale), min(1.0, (middle + spread) / scale)
