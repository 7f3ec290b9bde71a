"""Whether the query log has all its files.

Rule 1: a missing file is an error that names it. Changes have serial numbers without gaps. A manifest names the one
before it, and the commit of a batch names the last manifest.
Rule 2: the newest change has no successor that would miss it. So a small file says how many changes were accepted. It
is written once the change is durable, without waiting for the disk. If it is gone, damaged or old, it says nothing.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import StateError
from drover.flow.query_log.log import BatchManifest, Change, QueryLog
from drover.flow.state.documents import FORMAT, seal, verify
from drover.flow.state.storage import RESTORE, exists, join, read_whole, write_whole

FOLDER: Final = "queries"
# These names are part of the format of a checkpoint.
CHANGE: Final = "wish"
MANIFEST: Final = "turn"
SNAPSHOT: Final = "full"
ACCEPTED: Final = "accepted.json"
log = logging.getLogger(__name__)


def path_of(root: str, kind: str, number: int) -> str:
    """Return the path of a file of the log."""
    return join(join(root, FOLDER), f"{kind}-{number:012}.arrow")


def write_accepted(fs: FileSystem, root: str, change: Change) -> None:
    """Note that a change was accepted. If that fails, the change holds all the same: the note only accuses."""
    data, _ = seal({"format": FORMAT, "batch": 0, "serial": change.serial})
    try:
        write_whole(fs, _accepted_path(root), [data], durable=False)
    except StateError as error:
        log.warning("the next start does not check whether the last accepted queries are all there: %s", error)


def read_accepted(fs: FileSystem, root: str) -> int:
    """Return the serial number of the last accepted change as far as it is noted; 0 if it is not."""
    path = _accepted_path(root)
    if not exists(fs, path):
        return 0
    try:
        return int(json.loads(verify(path, read_whole(fs, path))[0])["serial"])
    except (StateError, KeyError, TypeError, ValueError) as error:
        log.warning("whether the last accepted queries are all there is not checked: %s", error)
        return 0


def check_manifests(root: str, base: QueryLog, manifests: Sequence[BatchManifest], last: int, link: str) -> None:
    """Refuse a log that lacks a manifest; the last commit says which is the `last`, and its `link`.

    `base` is the snapshot that the manifests follow.
    """
    have = (base.batch, base.link)
    for manifest in manifests:
        if manifest.previous is not None and manifest.previous != have:
            raise _lost_manifest(root, *manifest.previous, have)
        have = (manifest.batch, manifest.link)
    # The commit names its manifest. If the file is gone, the queries of the batch are unknown.
    if have[0] < last or (link and have != (last, link)):
        raise _lost_manifest(root, last, link, have)


def check_changes(
    root: str, base: QueryLog, changes: Sequence[Change], manifests: Sequence[BatchManifest], accepted: int
) -> None:
    """Refuse a log that lacks a change which a batch includes, or which was accepted and waits for a batch."""
    serial = base.last_serial
    links = {serial: base.change}
    for change in changes:
        # A gap is a change that was accepted and is lost.
        if change.serial != serial + 1 or (change.previous and links[serial] and change.previous != links[serial]):
            raise _lost_change(root, serial + 1 if change.serial != serial + 1 else serial)
        serial = change.serial
        links[serial] = change.link
    needed = max([accepted, *(manifest.last_serial for manifest in manifests)])
    if serial < needed:
        raise _lost_change(root, serial + 1)
    for manifest in manifests:
        if manifest.change and links.get(manifest.last_serial) not in ("", manifest.change):
            raise _lost_change(root, manifest.last_serial)


def _lost_manifest(root: str, batch: int, link: str, have: tuple[int, str]) -> StateError:
    place = f"{path_of(root, MANIFEST, batch)}, or a snapshot {path_of('', SNAPSHOT, batch)[1:]} in its place"
    found = "neither" if have[0] != batch else f"one with checksum {have[1]}, of another run or time"
    return StateError(
        place, f"the queries of batch {batch}" + (f", with checksum {link}" if link else ""), found, RESTORE
    )


def _lost_change(root: str, serial: int) -> StateError:
    found = "no file, or the file of another run or time"
    return StateError(
        path_of(root, CHANGE, serial), f"the accepted queries with serial number {serial}", found, RESTORE
    )


def _accepted_path(root: str) -> str:
    return join(join(root, FOLDER), ACCEPTED)
