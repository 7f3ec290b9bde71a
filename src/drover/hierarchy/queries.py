"""Which inputs each operator of a tree reads, and therefore where it can run.

Rule 1: an operator can run only on a node that all its inputs pass. An output flows from its node up to the root.
Rule 2: index letters are as everywhere: node i of n, operator j of m.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from drover.errors import ProblemError
from drover.hierarchy.tree import Tree
from drover.network.model import Network


@dataclass(frozen=True, slots=True)
class Queries:
    """Operators by number; the inputs of an operator are its `inputs` and its `entries` together."""

    inputs: tuple[tuple[int, ...], ...]  # (m,) operators whose output operator j reads
    entries: tuple[tuple[int, ...], ...]  # (m,) nodes at which the sources enter that operator j reads directly
    readers: tuple[tuple[int, ...], ...] = field(init=False, repr=False, compare=False)  # (m,) operators that read j
    origins: tuple[tuple[int, ...], ...] = field(
        init=False, repr=False, compare=False
    )  # (m,) nodes at which its rows enter

    def __post_init__(self) -> None:
        """Refuse operators without inputs and cycles; compute readers and origins."""
        m = len(self.inputs)
        if len(self.entries) != m:
            raise ProblemError(f"entries are given for {len(self.entries)} of {m} operators. Give them for each.")
        readers: list[list[int]] = [[] for _ in range(m)]
        for j, (inputs, entries) in enumerate(zip(self.inputs, self.entries, strict=True)):
            if not inputs and not entries:
                raise ProblemError(
                    f"operator {j} reads nothing, but every operator needs an input. Give it an input or an entry."
                )
            for other in inputs:
                if not 0 <= other < m:
                    raise ProblemError(f"operator {j} reads operator {other}, but operators are 0 to {m - 1}.")
                readers[other].append(j)
        object.__setattr__(self, "readers", tuple(map(tuple, readers)))
        object.__setattr__(self, "origins", self._origins())

    def _origins(self) -> tuple[tuple[int, ...], ...]:
        origins: list[tuple[int, ...]] = [()] * len(self)
        for j in self.order():
            # A dictionary keeps the order of first occurrence and drops duplicates.
            found = dict.fromkeys(self.entries[j])
            for other in self.inputs[j]:
                found |= dict.fromkeys(origins[other])
            origins[j] = tuple(found)
        return tuple(origins)

    def order(self) -> list[int]:
        """Return the operators in topological order: each one after its inputs."""
        waits = [len(inputs) for inputs in self.inputs]
        order = [j for j, count in enumerate(waits) if not count]
        for j in order:  # the list grows while the loop runs
            for reader in self.readers[j]:
                waits[reader] -= 1
                if not waits[reader]:
                    order.append(reader)
        if len(order) < len(self):
            stuck = next(j for j, count in enumerate(waits) if count)
            raise ProblemError(f"operator {stuck} reads its own output, by way of others. Cut the cycle.")
        return order

    def __len__(self) -> int:
        return len(self.inputs)

    def lowest(self, tree: Tree, operator: int) -> int:
        """Return the lowest node on which an operator can run; it can also run on every node above that one."""
        return tree.meet(self.origins[operator])


def placement_faults(tree: Tree, queries: Queries, node_of: Sequence[int]) -> Iterator[str]:
    """Yield the faults of a placement, (m,); none means that every operator runs where its inputs pass."""
    for j, node in enumerate(node_of):
        for entry in queries.entries[j]:
            if not tree.below(entry, node):
                yield f"operator {j} is on node {node}, which a source that enters at node {entry} does not pass"
        for other in queries.inputs[j]:
            if not tree.below(node_of[other], node):
                yield f"operator {j} is on node {node}, but reads operator {other}, on node {node_of[other]}"


def queries_of(network: Network, entry: Mapping[str, int]) -> Queries:
    """Return the operators of a network in declaration order; `entry` maps each source to the node where it enters."""
    missing = [source.name for source in network.sources if source.name not in entry]
    if missing:
        raise ProblemError(f"source {missing[0]!r} has no entry node. Name an entry node for every source.")
    maker = {stream: j for j, operator in enumerate(network.operators) for stream in operator.outputs}
    reads = [tuple(dict.fromkeys(operator.inputs)) for operator in network.operators]
    return Queries(
        tuple(tuple(dict.fromkeys(maker[stream] for stream in streams if stream in maker)) for streams in reads),
        tuple(tuple(entry[stream] for stream in streams if stream in entry) for streams in reads),
    )


def grouped(queries: Queries, group_of: Sequence[int]) -> Queries:
    """Return the inputs of groups of operators that move together; operator j is in group `group_of[j]`."""
    inputs: list[dict[int, None]] = [{} for _ in range(max(group_of, default=-1) + 1)]
    entries: list[dict[int, None]] = [{} for _ in inputs]
    for j, group in enumerate(group_of):
        # Streams within a group do not leave its node, so they are no inputs of it.
        inputs[group] |= dict.fromkeys(group_of[other] for other in queries.inputs[j] if group_of[other] != group)
        entries[group] |= dict.fromkeys(queries.entries[j])
    return Queries(tuple(map(tuple, inputs)), tuple(map(tuple, entries)))
