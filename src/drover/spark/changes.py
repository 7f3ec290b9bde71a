"""The network of a checkpoint, and whether another form of it may continue there.

Rule 1: what a change does to state is decided by `network.compare`. Here it is applied to the files of a checkpoint.
Rule 2: a refusal lists everything at once and says how to continue. A refused run leaves no trace.
Rule 3: a batch that may have begun is repeated by the network that began it, because sinks may have its rows. Only
operators and outputs may be added or removed before that.
Rule 4: nothing here needs Spark, so that commands can answer before they start it.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import START_ANEW, DroverError, StateError, visible
from drover.flow.operators import PENDING
from drover.flow.planlog import read_plan
from drover.flow.state.commits import Checkpoint, latest
from drover.flow.state.storage import RESTORE, exists, join, open_root, read_whole, write_whole
from drover.flow.state.versions import Version
from drover.network.compare import NetworkComparison, PartComparison, compare
from drover.network.files.network_file import dumps, loads
from drover.network.model import Network
from drover.spark.clean_stop import may_have_begun
from drover.spark.commit_notes import NetworkChangeover, changeover_of
from drover.spark.offsets import read_progress

NETWORK: Final = "network.yaml"
SEALED: Final = re.compile(rb"(?P<text>.*\n)# checksum (?P<checksum>[0-9a-f]{32})\n", re.DOTALL)


@dataclass(frozen=True, slots=True)
class NetworkChange:
    """The network that a checkpoint's state belongs to, and what another one would do to it."""

    before: Network
    after: Network
    comparison: NetworkComparison
    begun: int | None  # a batch that `before` has to finish first, because sinks may have its rows

    @property
    def is_any(self) -> bool:
        """Whether the networks differ in anything, if only in names before or in where operators should run."""
        return dumps(self.before) != dumps(self.after)


def note_network(
    fs: FileSystem, root: str, network: Network, announce: Callable[[bytes], object] = lambda _: None
) -> None:
    """Write the network into the checkpoint, unless it is there already; first `announce` what will be written."""
    path = join(root, NETWORK)
    data = _sealed(dumps(network))
    if not exists(fs, path) or read_whole(fs, path) != data:
        announce(data)
        write_whole(fs, path, [data])


def noted_network(fs: FileSystem, root: str) -> Network | None:
    """Return the network that last ran on a checkpoint, or None if none did."""
    path = join(root, NETWORK)
    return loads(_unsealed(path, read_whole(fs, path))) if exists(fs, path) else None


def demand_checkpoint(fs: FileSystem, root: str, named: str) -> Network:
    """Return the network that last ran on a checkpoint; DroverError if it is none."""
    network = noted_network(fs, root)
    if network is None:
        raise DroverError(
            f"{named} is not the checkpoint of a run: there is no network in it. "
            "Name the folder that the run file, or drover.run, calls checkpoint."
        )
    return network


def checksum_of(network: Network) -> str:
    """Return the checksum of a network as its file has it."""
    return _checksum(dumps(network).encode())


def network_of_state(fs: FileSystem, root: str, checkpoint: Checkpoint) -> Network | None:
    """Return the network that the saved state belongs to, or None for a new checkpoint.

    A commit that changes the network names both. If the run died before it wrote the file, the commit counts.
    """
    path = join(root, NETWORK)
    if checkpoint.batch < 0 and not exists(fs, path):
        return None
    noted = _unsealed(path, read_whole(fs, path))
    changeover: NetworkChangeover | None = changeover_of(checkpoint)
    if changeover is not None and _checksum(noted.encode()) == changeover.replaces:
        return loads(changeover.network)
    return loads(noted)


def change_of(fs: FileSystem, root: str, checkpoint: Checkpoint, network: Network) -> NetworkChange | None:
    """Return what a network would change in a checkpoint; None if the checkpoint is new."""
    before = network_of_state(fs, root, checkpoint)
    progress = read_progress(fs, root, checkpoint)
    planned = read_plan(fs, root, checkpoint.batch + 1)
    begun = may_have_begun(fs, root, checkpoint, progress, planned)
    if before is None or (checkpoint.batch < 0 and not begun):
        return None
    comparison = compare(before, network, operators_with_rows(checkpoint.version))
    # A network that only adds or removes operators gives the other rows of the batch as they were (rule 3).
    blocked = begun and not comparison.only_adds and comparison.changes
    return NetworkChange(before, network, comparison, checkpoint.batch + 1 if blocked else None)


def check_change(root: str, change: NetworkChange, allowed: bool | Collection[str], command: str | None = None) -> None:
    """Raise DroverError if a run may not start with a change; `command` is the one to repeat with more options."""
    undecided = change.comparison.undecided(allowed)
    if change.comparison.refused or undecided or change.begun is not None:
        raise DroverError("\n".join(refusal(root, change, undecided, command)))


def check_start(checkpoint: str, network: Network, allowed: bool | Collection[str], command: str) -> None:
    """Raise DroverError if a run of a network on a checkpoint would be refused; call it before Spark starts."""
    fs, path = open_root(checkpoint)
    change = change_of(fs, path, latest(fs, path), network)
    if change is not None:
        check_change(path, change, allowed, command)


def refusal(root: str, change: NetworkChange, undecided: Collection[PartComparison], command: str | None) -> list[str]:
    """Return the lines of the error: what is in the way, and how to continue."""
    lines = [f"the checkpoint {visible(root)} was made by another form of network {change.after.name!r}:"]
    listed = (*change.comparison.refused, *undecided)
    lines += [f"  {visible(part.text)}" for part in listed]
    if change.begun is not None:
        said = {part.text for part in listed}
        lines += [f"  {visible(part.text)}" for part in change.comparison.changes if part.text not in said]
        lines.append(
            f"Batch {change.begun} was begun by the network as it was, and sinks may have its rows. Finish it first: "
            f"run once with network: {visible(join(root, NETWORK))}, then continue with the new network."
        )
    if change.comparison.refused:
        lines.append(f"Take these back, or {START_ANEW}.")
    elif undecided:
        names = list(dict.fromkeys(part.name for part in undecided))
        lines.append(f"To continue with these changes: {_way_on(names, command)}")
        lines.append("Without a name, all changes are allowed. To keep the state, take the changes back.")
    return lines


def _way_on(names: list[str], command: str | None) -> str:
    if command is None:
        return f"drover.run(..., allow_changes={names!r})"
    return f"{command} --allow-changes {shlex.quote(','.join(names))}"


def operators_with_rows(version: Version) -> frozenset[str]:
    """Return the operators that have rows in a version, besides those that wait for a table."""
    return frozenset(
        operator_of(unit)
        for unit, parts in version.units.items()
        if "@" not in unit and any(state.segments for part, state in parts.items() if part != PENDING)
    )


def operator_of(unit: str) -> str:
    """Return the operator of a unit: instances of a spread join have a number in brackets."""
    return unit.partition("[")[0]


def _checksum(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _sealed(text: str) -> bytes:
    return f"{text}# checksum {_checksum(text.encode())}\n".encode()


def _unsealed(path: str, data: bytes) -> str:
    found = SEALED.fullmatch(data)
    # Damaged bytes may be no text at all, so compare bytes before decoding them.
    if found is None or _checksum(found["text"]) != found["checksum"].decode("ascii"):
        raise StateError(path, "the network as it was noted, with its checksum", "another text", RESTORE)
    return found["text"].decode()
