"""Commits and versions as JSON documents with a checksum.

Rule 1: nothing here opens a file.
Rule 2: equal values give equal bytes.

A document is `{"checksum":"<BLAKE2b of the body>","body":{...}}`. The body of a commit has the checksum of the commit
before it. So a commit that is missing, repeated or exchanged is always detected. Commits are small, so a strong
checksum costs little.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from drover.errors import StateError
from drover.flow.state.segments import Key, Segment
from drover.flow.state.storage import RESTORE
from drover.flow.state.versions import PartState, Version

FORMAT: Final = 1
SEALED: Final = re.compile(rb'\{"checksum":"(?P<checksum>[0-9a-f]{32})","body":(?P<body>\{.*\})\}\n', re.DOTALL)

Notes = Mapping[str, Any]  # a JSON object


@dataclass(frozen=True, slots=True)
class Commit:
    """What one batch changed in the state of all units.

    A replay must give equal `notes`, like everything else. With a time of day in it, it would be another commit.
    """

    batch: int
    added: tuple[Segment, ...] = ()
    bounds: Mapping[Key, int] = field(default_factory=dict)
    dropped: tuple[Key, ...] = ()  # parts to remove, e.g. of a query that was dropped
    notes: Notes = field(default_factory=dict)

    @property
    def content(self) -> tuple[object, ...]:
        """The meaning of the commit, without the names and order of files, which differ between attempts."""
        added: dict[Key, list[tuple[object, ...]]] = {}
        for segment in self.added:
            added.setdefault(segment.key, []).append(segment.content)
        return (self.batch, added, dict(self.bounds), set(self.dropped), canonical(self.notes))


def canonical(value: object) -> str:
    """Return a value as JSON text with sorted keys; ValueError if it has no JSON form."""
    try:
        return json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)
    except TypeError as error:
        raise ValueError(f"notes of a commit must be JSON: {error}") from error


def seal(body: Mapping[str, object]) -> tuple[bytes, str]:
    """Return a document and the checksum of its body."""
    data = canonical(body).encode("ascii")
    checksum = _checksum(data)
    # Written by hand, so that the bytes of the body are exactly those that the checksum is of.
    return b'{"checksum":"%b","body":%b}\n' % (checksum.encode("ascii"), data), checksum


def verify(path: str, data: bytes, way_out: str = RESTORE) -> tuple[bytes, str]:
    """Return the unparsed body of a document and its checksum; StateError if a single bit is wrong."""
    found = SEALED.fullmatch(data)
    if found is None:
        raise StateError(path, "a whole document", f"{len(data)} bytes that are none: it is damaged", way_out)
    said = found["checksum"].decode("ascii")
    checksum = _checksum(found["body"])
    if said != checksum:
        raise StateError(path, f"checksum {said}", f"{checksum}: the file is damaged", way_out)
    return found["body"], checksum


def unseal(path: str, data: bytes, batch: int, way_out: str = RESTORE) -> tuple[dict[str, Any], str]:
    """Return the body of the document of a batch, and its checksum."""
    text, checksum = verify(path, data, way_out)
    body: dict[str, Any] = json.loads(text)
    if body["format"] != FORMAT:
        raise StateError(
            path, f"format {FORMAT}", f"format {body['format']}", "Continue with the release of drover that wrote it."
        )
    # The checksum only proves that the document is whole. A copy under another name is whole, too.
    if body["batch"] != batch:
        raise StateError(path, f"batch {batch}", f"batch {body['batch']}: it was renamed", way_out)
    return body, checksum


def commit_body(commit: Commit, previous: str) -> dict[str, object]:
    """Return a commit as JSON values; `previous` is the checksum of the previous commit, empty for the first."""
    # File names are long, and many segments of a batch share one file.
    files = _number(segment.file for segment in commit.added)
    return {
        "format": FORMAT,
        "batch": commit.batch,
        "previous": previous,
        "files": list(files),
        "added": [[segment.unit, segment.part, *_row(segment, files)] for segment in commit.added],
        "bounds": [[unit, part, bound] for (unit, part), bound in sorted(commit.bounds.items())],
        "dropped": [list(key) for key in commit.dropped],
        "notes": commit.notes,
    }


def commit_from(body: Mapping[str, Any]) -> Commit:
    """Return the commit in a body."""
    files: list[str] = body["files"]
    return Commit(
        body["batch"],
        tuple(_segment(unit, part, row, files) for unit, part, *row in body["added"]),
        {(unit, part): bound for unit, part, bound in body["bounds"]},
        tuple((unit, part) for unit, part in body["dropped"]),
        body["notes"],
    )


def full_body(version: Version, notes: Notes, link: str) -> dict[str, object]:
    """Return a whole version as JSON values; `link` is the checksum of the commit that made it."""
    files = _number(segment.file for segment in version.segments())
    return {
        "format": FORMAT,
        "batch": version.batch,
        "link": link,
        "files": list(files),
        "units": {
            unit: {part: [state.bound, *(_row(one, files) for one in state.segments)] for part, state in parts.items()}
            for unit, parts in version.units.items()
        },
        "notes": notes,
    }


def version_from(body: Mapping[str, Any]) -> Version:
    """Return the version in a body."""
    files: list[str] = body["files"]
    units = {
        unit: MappingProxyType(
            {
                part: PartState(tuple(_segment(unit, part, row, files) for row in rows), bound)
                for part, (bound, *rows) in parts.items()
            }
        )
        for unit, parts in body["units"].items()
    }
    return Version(body["batch"], MappingProxyType(units))


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _number(files: Iterable[str]) -> dict[str, int]:
    """Return a number for each file, so that segments need not repeat its name."""
    numbers: dict[str, int] = {}
    for file in files:
        numbers.setdefault(file, len(numbers))
    return numbers


def _row(segment: Segment, files: Mapping[str, int]) -> list[int | None]:
    place = [files[segment.file], segment.offset, segment.length, segment.checksum]
    return [*place, segment.rows, segment.newest, int(segment.replace)]


def _segment(unit: str, part: str, row: Sequence[Any], files: Sequence[str]) -> Segment:
    file, offset, length, checksum, rows, newest, replace = row
    return Segment(unit, part, files[file], offset, length, checksum, rows, newest, bool(replace))
