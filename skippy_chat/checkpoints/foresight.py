"""What ``prune`` would give back, without giving it back: for ``--dry-run``.

Invariant: nothing is changed and no lock is taken. What is removed whole is counted exactly; of what is evicted,
whose space comes back only when its files are rewritten, the bytes are an estimate.
"""

from __future__ import annotations

from pathlib import Path

from skippy_chat.checkpoints.prune import PruneReport, Wish, opened, weigh_root
from skippy_chat.checkpoints.quarantine import held_by
from skippy_chat.checkpoints.shelf import FORMAT, Shelf, allocated
from skippy_chat.checkpoints.versions import other_versions, weigh


def foresee(root: Path, wish: Wish) -> PruneReport:
    """Report what ``prune`` would report, as far as can be told."""
    report = PruneReport(before_bytes=weigh_root(root))
    if wish.all_versions:
        versions = other_versions(root)
        report.versions = [each.name for each in versions]
        report.version_bytes = sum(each.allocated_bytes for each in versions)
    freed = sum(
        _one(shelf, wish, report) for shelf in Shelf.all(root) if shelf.identity.startswith(wish.identity)
    )
    if wish.target is not None:
        ours = allocated(root) + weigh_root(root / FORMAT)
        freed = max(freed, ours - wish.target)
    report.after_bytes = max(0, report.before_bytes - report.version_bytes - freed)
    return report


def _one(shelf: Shelf, wish: Wish, report: PruneReport) -> int:
    """Bytes that one store would give back before all come down to a size."""
    aside = sum(allocated(path) for path in held_by(shelf))
    report.quarantine_bytes += aside
    shard = shelf.home.parent
    whole = weigh(shelf.home) + (allocated(shard) if len(list(shard.iterdir())) == 1 else 0)
    with opened(shelf) as index:
        if wish.whole:
            report.models.append(shelf.identity)
            report.checkpoints += 0 if index is None else index.totals()["nodes"]
            return whole
        if index is None:
            return aside
        strays = sum(allocated(path) for path in shelf.strays(index.names_in))
        report.stray_bytes += strays
        count, size = (0, 0) if wish.unused_since is None else index.unused(wish.unused_since)
        report.checkpoints += count
        return aside + strays + size
