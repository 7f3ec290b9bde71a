"""Divides record batches of frames by the hop and node that they go to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa

from drover.flow.schedule import HopNode
from drover.spark.tasks import FRAME_SCHEMA


def split_frames(batches: Iterable[pa.RecordBatch]) -> Mapping[HopNode, list[pa.RecordBatch]]:
    """Return the frames for each place, in their order; those for the driver have its hop, whatever their node."""
    found: dict[HopNode, list[pa.RecordBatch]] = defaultdict(list)
    for batch in batches:
        hops = batch.column(FRAME_SCHEMA.get_field_index("hop")).to_numpy()
        nodes = batch.column(FRAME_SCHEMA.get_field_index("node")).to_numpy()
        for hop, node in np.unique(np.stack([hops, nodes]), axis=1).T.tolist():
            mine = np.flatnonzero((hops == hop) & (nodes == node))
            found[HopNode(hop, node)].append(batch.take(pa.array(mine)))
    return found
