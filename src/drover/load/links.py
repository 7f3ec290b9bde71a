"""Links: the streams between units, and their cost if both ends are on different nodes.

Rule 1: costs are coefficients per row of each variable, as for units (section 4.4.3 of Xing's dissertation).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np

from drover.errors import LoadError
from drover.load.arrays import Floats, Ints, frozen
from drover.load.linear import LinearModel
from drover.network.model import Network
from drover.network.schema import Schema
from drover.network.types import DataType, arrow_type

TEXT_BYTES: Final = 16  # assumed for a value whose type has no fixed length
FRAME_SECONDS: Final = 1e-7  # assumed busy seconds to pack or to unpack a row


@dataclass(frozen=True, slots=True, eq=False)
class UnitLinks:
    """The g streams from one unit to another."""

    streams: tuple[str, ...]  # g; a stream with several readers appears once for each
    source: Ints  # (g,) unit that sends
    target: Ints  # (g,) unit that receives
    communication: Floats  # (g, d) busy seconds at each of the two ends per row of variable k
    bandwidth: Floats  # (g, d) bytes per row of variable k

    def __post_init__(self) -> None:
        """Store read-only copies."""
        for name in ("source", "target", "communication", "bandwidth"):
            object.__setattr__(self, name, frozen(getattr(self, name)))


def find_links(
    model: LinearModel,
    network: Network,
    unit_of: Mapping[str, str],
    costs: Mapping[str, float] | None = None,
    sizes: Mapping[str, float] | None = None,
) -> UnitLinks:
    """Return the links between the units of a model that was made `with_streams`.

    `costs` has, by stream, the busy seconds per row that each end spends if they are on different nodes; by default
    FRAME_SECONDS. `sizes` has bytes per row; by default the width of the stream's columns.
    """
    if not model.streams:
        raise LoadError(
            "the model has no streams, but links are made from them. Make the model with with_streams=True."
        )
    numbers = {unit: number for number, unit in enumerate(model.units)}
    makers = {stream: unit_of[operator.name] for operator in network.operators for stream in operator.outputs}
    found = [
        (stream, numbers[maker], numbers[reader])
        for stream, maker in makers.items()
        # Two readers in one unit share one transfer of the stream.
        for reader in dict.fromkeys(unit_of[operator.name] for operator in network.readers[stream])
        if reader != maker
    ]
    names = tuple(stream for stream, _, _ in found)
    rates = np.array([model.streams[name] for name in names]).reshape(len(names), len(model.variables))
    seconds = np.array([(costs or {}).get(name, FRAME_SECONDS) for name in names])
    length = np.array([(sizes or {}).get(name, row_bytes(network.streams[name])) for name in names])
    return UnitLinks(
        names,
        np.array([source for _, source, _ in found], dtype=np.int64),
        np.array([target for _, _, target in found], dtype=np.int64),
        rates * seconds[:, None],
        rates * length[:, None],
    )


def row_bytes(schema: Schema) -> float:
    """Return the approximate number of bytes of a row in a frame."""
    return float(sum(map(_width, schema.types.values())))


@cache
def _width(kind: DataType) -> float:
    try:
        return float(arrow_type(kind).bit_width) / 8
    except ValueError:  # no fixed length
        return TEXT_BYTES
