"""Which parts to write anew so that a version needs fewer files.

Rule 1: a pure function; it only names parts, and whoever hosts them writes them in the next batch, with `replace`.

`should_compact` sees one part and bounds its segments. But a file lives as long as any segment in it, so units that
change rarely pin one file each time: 20,000 of them, 16 segments each, would keep the files of thousands of batches.
"""

from __future__ import annotations

from typing import Final

from drover.flow.state.segments import Key
from drover.flow.state.versions import Version

MOST_FILES: Final = 2_000  # a directory of so many is listed in 6 ms, an object store of 1000 per request in two
MOST_BYTES: Final = 64 * 2**20  # to write anew at a time


def scattered(version: Version, most_files: int = MOST_FILES, most_bytes: int = MOST_BYTES) -> frozenset[Key]:
    """Return the parts to write anew so that the version needs at most `most_files` files; none if it does already.

    The files that are cheapest to free come first. Beyond `most_bytes` the rest is left for the next time, but one
    file is always freed, however much its parts hold. Looks at every segment: call it as often as a sweep.
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
        spent, excess = spent + cost, excess - 1
    return frozenset(chosen)
