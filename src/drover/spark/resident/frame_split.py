"""Divides frames by the hop and node that they go to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from drover.flow.frames import DRIVER, Frame
from drover.flow.schedule import HopNode


def split_frames(frames: Iterable[Frame]) -> tuple[Mapping[HopNode, list[Frame]], list[Frame]]:
    """Return the frames for each place, hop by hop, and those for the driver; both in their order."""
    found: dict[HopNode, list[Frame]] = defaultdict(list)
    for_driver: list[Frame] = []
    for frame in frames:
        (for_driver if frame.hop == DRIVER else found[HopNode(frame.hop, frame.node)]).append(frame)
    return dict(sorted(found.items())), for_driver
