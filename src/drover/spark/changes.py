"""Whether a changed network may continue from a checkpoint.

Rule 1: state belongs to operators. An operator with state may continue only if it and everything before it are
unchanged. You may add operators and outputs, change sinks, and remove operators without state.
Rule 2: Spark knows its sources by position, so sources must stay as they are, in their order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from typing import Final

from pyarrow.fs import FileSystem

from drover.errors import START_ANEW, DroverError, StateError
from drover.flow.state.storage import RESTORE, exists, join, read_whole, write_whole
from drover.network.files.network_file import dumps, loads
from drover.network.model import Network

NETWORK: Final = "network.yaml"
SEALED: Final = re.compile(rb"(?P<text>.*\n)# checksum (?P<checksum>[0-9a-f]{32})\n", re.DOTALL)


def check_network(fs: FileSystem, root: str, network: Network, *, begun: bool) -> None:
    """Write the network into the checkpoint; DroverError with the differences if it cannot continue there.

    `begun` says that batches have been committed, so the checkpoint must have the network of an earlier run.
    """
    path = join(root, NETWORK)
    data = _sealed(dumps(network))
    if begun or exists(fs, path):
        kept = read_whole(fs, path)
        if kept == data:  # the usual case, and no file is written
            return
        if found := list(differences(loads(_unsealed(path, kept)), network)):
            raise DroverError(
                f"the checkpoint {root} was made by another form of network {network.name!r}: {'; '.join(found)}. "
                f"Take these back, or {START_ANEW}."
            )
    write_whole(fs, path, [data])


def noted_network(fs: FileSystem, root: str) -> Network | None:
    """Return the network that last ran on a checkpoint, or None if none did."""
    path = join(root, NETWORK)
    return loads(_unsealed(path, read_whole(fs, path))) if exists(fs, path) else None


def _sealed(text: str) -> bytes:
    return f"{text}# checksum {hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}\n".encode()


def _unsealed(path: str, data: bytes) -> str:
    found = SEALED.fullmatch(data)
    if found is None or _sealed(found["text"].decode()) != data:
        raise StateError(path, "the network as it was noted, with its checksum", "another text", RESTORE)
    return found["text"].decode()


def differences(before: Network, after: Network) -> Iterator[str]:
    """Yield the changes that make the saved state useless."""
    now = {source.name: source for source in after.sources}
    for source in before.sources:
        if source.name not in now:
            yield f"source {source.name} is gone"
        elif now[source.name] != source:
            yield f"source {source.name} has changed"
    known = [source.name for source in before.sources]
    yield from (f"source {source.name} is new" for source in after.sources if source.name not in known)
    if sorted(known) == sorted(now) and known != list(now):
        yield f"sources are in another order: {', '.join(now)} after {', '.join(known)}"
    operators = {operator.name: operator for operator in after.operators}
    for operator in before.operators:
        if operator.name not in operators:
            if operator.holds_state:
                yield f"operator {operator.name}, which has state, is gone"
        elif operators[operator.name] != operator:
            yield f"operator {operator.name} has changed"
