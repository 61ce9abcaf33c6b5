"""All scenes of which pictures are kept."""

from __future__ import annotations

from tests.snapshots import keeping, looking, sessions, talking, tooling, wishing

SCENES = {
    each.name: each
    for each in (
        *talking.SCENES,
        *tooling.SCENES,
        *keeping.SCENES,
        *looking.SCENES,
        *sessions.SCENES,
        *wishing.SCENES,
    )
}
