"""What a message must be to mean something to a node.

Rule 1: who holds the token may still be of another make, or wrong: what could not be added up is refused before it is
heard, by a CodecError.
Rule 2: whether a message comes at the right moment is not asked here; the machine knows what to do with any.
"""

from __future__ import annotations

from collections.abc import Iterator

from drover.hierarchy.codec import CodecError
from drover.hierarchy.memory import Place
from drover.hierarchy.messages import Bundle, Clear, DemandRequest, HandoverReply, Message
from drover.hierarchy.thresholds import Size


def check(message: Message, place: Place) -> None:
    """Refuse a message that is not from a neighbour to this node, or about operators and sizes that there are not."""
    for reason in _objections(message, place):
        raise CodecError(f"{type(message).__name__} {reason}. Run the same drover on all nodes.")


def _objections(message: Message, place: Place) -> Iterator[str]:
    if message.receiver != place.node or message.sender not in place.neighbours:
        yield f"is from node {message.sender} to node {message.receiver}, but must be from a neighbour to {place.node}"
    if isinstance(message, DemandRequest):
        yield from _size_objections(message.room, place)
    elif isinstance(message, HandoverReply):
        yield from _operator_objections(message.taken, place)
    elif not isinstance(message, Clear):
        for bundle in message.bundles:
            yield from _bundle_objections(bundle, place)


def _bundle_objections(bundle: Bundle, place: Place) -> Iterator[str]:
    if not bundle.operators or len(bundle.operators) != len(bundle.sizes):
        yield f"has {len(bundle.sizes)} sizes for {len(bundle.operators)} operators, but must have one for each"
    yield from _operator_objections(bundle.operators, place)
    for size in bundle.sizes:
        yield from _size_objections(size, place)


def _operator_objections(operators: tuple[int, ...], place: Place) -> Iterator[str]:
    m = len(place.queries)
    if len(set(operators)) < len(operators) or not all(0 <= operator < m for operator in operators):
        yield f"names operators that are not among the {m} of the tree, or one of them twice"


def _size_objections(size: Size, place: Place) -> Iterator[str]:
    if len(size) != len(place.capacity) or min(size) < 0:
        yield f"has a size that is not {len(place.capacity)} numbers of at least 0"
