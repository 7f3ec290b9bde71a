"""Which parts of state to rewrite so that a version needs fewer files.

Rule 1: this is a pure function. It only names parts; the nodes that have them rewrite them in the next batch, with
`replace`.

`should_compact` looks at one part and limits its segments. But a file lives as long as any segment in it. So units that
change rarely keep one file alive for each change: 20,000 of them with 16 segments each would keep the files of
thousands of batches.
"""

from __future__ import annotations

from typing import Final

from drover.flow.state.segments import Key
from drover.flow.state.versions import Version

MOST_FILES: Final = 2_000  # listing so many takes 6 ms on a disk, and two requests of 1,000 on an object store
MOST_BYTES: Final = 64 * 2**20  # to rewrite at a time


def scattered(version: Version, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> frozenset[Key]:
    """Return the parts to rewrite so that the version needs at most `most_files` files; none if it needs no more.

    The files that are cheapest to free come first. Whatever exceeds `most_bytes` waits for the next time, but one file
    is always freed, however large its parts are. This looks at every segment: call it as often as a sweep.
    """
    sizes: dict[Key, int] = {}  # bytes of each part
    members: dict[str, set[Key]] = {}  # parts with a segment in each file
    for segment in version.segments():
        sizes[segment.key] = sizes.get(segment.key, 0) + segment.length
        members.setdefault(segment.file, set()).add(segment.key)
    excess = len(members) - most_files
    chosen: set[Key] = set()
    spent = 0
    for file in sorted(members, key=lambda name: (sum(sizes[key] for key in members[name]), name)):
        further = members[file] - chosen
        cost = sum(sizes[key] for key in further)
        if excess <= 0 or (chosen and spent + cost > most_bytes):
            break
        chosen |= further
        spent += cost
        excess -= 1
    return frozenset(chosen)
