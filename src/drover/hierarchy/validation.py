"""Checks of a received message before the machine handles it.

Rule 1: a holder of the token may run another version or have a bug. A message with invalid operators or sizes raises a
CodecError before it reaches the machine.
Rule 2: these checks do not depend on the phase: the machine handles any valid message at any time.
"""

from __future__ import annotations

from collections.abc import Iterator

from drover.hierarchy.codec import CodecError
from drover.hierarchy.messages import Bundle, Clear, DemandRequest, HandoverReply, Message
from drover.hierarchy.node_state import NodeConfig
from drover.hierarchy.thresholds import Size


def check_message(message: Message, config: NodeConfig) -> None:
    """Refuse a message that is not from a neighbour to this node, or that has unknown operators or invalid sizes."""
    for reason in _objections(message, config):
        raise CodecError(f"{type(message).__name__} {reason}. Run the same version of drover on all nodes.")


def _objections(message: Message, config: NodeConfig) -> Iterator[str]:
    if message.receiver != config.node or message.sender not in config.neighbours:
        yield f"is from node {message.sender} to node {message.receiver}, but must be from a neighbour to {config.node}"
    if isinstance(message, DemandRequest):
        yield from _size_objections(message.room, config)
    elif isinstance(message, HandoverReply):
        yield from _operator_objections(message.taken, config)
    elif not isinstance(message, Clear):
        for bundle in message.bundles:
            yield from _bundle_objections(bundle, config)


def _bundle_objections(bundle: Bundle, config: NodeConfig) -> Iterator[str]:
    if not bundle.operators or len(bundle.operators) != len(bundle.sizes):
        yield f"has {len(bundle.sizes)} sizes for {len(bundle.operators)} operators, but must have one for each"
    yield from _operator_objections(bundle.operators, config)
    for size in bundle.sizes:
        yield from _size_objections(size, config)


def _operator_objections(operators: tuple[int, ...], config: NodeConfig) -> Iterator[str]:
    # Operators and sizes of the wrong shape would fail later, in the middle of a step.
    m = len(config.queries)
    if len(set(operators)) < len(operators) or not all(0 <= operator < m for operator in operators):
        yield f"names operators that are not among the {m} of the tree, or one of them twice"


def _size_objections(size: Size, config: NodeConfig) -> Iterator[str]:
    if len(size) != len(config.capacity) or min(size) < 0:
        yield f"has a size that is not {len(config.capacity)} numbers of at least 0"
