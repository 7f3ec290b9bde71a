"""Whether a network may go on from a checkpoint that was made by an earlier form of it.

Rule 1: state belongs to operators, so an operator with state may go on only if it and all that feeds it are the same.
New operators, new outputs and other sinks do no harm; an operator without state may even go.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyarrow.fs import FileSystem

from drover.errors import DroverError
from drover.flow.state.storage import exists, join, read_whole, write_whole
from drover.network.files import dumps, loads
from drover.network.model import Network

NETWORK = "network.yaml"


def check_network(fs: FileSystem, root: str, network: Network) -> None:
    """Refuse a network whose checkpoint is another's, with the list of differences; else note it there."""
    path = join(root, NETWORK)
    text = dumps(network)
    if exists(fs, path):
        kept = read_whole(fs, path).decode()
        if kept == text:
            return
        if found := list(differences(loads(kept), network)):
            raise DroverError(
                f"the checkpoint {root} was made by another form of network {network.name!r}: {'; '.join(found)}. "
                "Take these back, or start with an empty checkpoint directory."
            )
    write_whole(fs, path, [text.encode()])


def differences(before: Network, after: Network) -> Iterator[str]:
    """Yield the changes that the saved state does not survive."""
    now = {source.name: source for source in after.sources}
    for source in before.sources:
        if source.name not in now:
            yield f"source {source.name} is gone"
        elif now[source.name] != source:
            yield f"source {source.name} has changed"
    operators = {operator.name: operator for operator in after.operators}
    for operator in before.operators:
        if operator.name not in operators:
            if operator.holds_state:
                yield f"operator {operator.name}, which has state, is gone"
        elif operators[operator.name] != operator:
            yield f"operator {operator.name} has changed"
