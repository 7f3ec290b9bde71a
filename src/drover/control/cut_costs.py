"""What it costs a node to send or receive a row of a stream, by the model of a batch.

Rule 1: the price is measured where streams are cut. For the other streams it is the same, by transfers and bytes.
"""

from __future__ import annotations

from drover.control.capacity import usual_of
from drover.control.context import ControlContext
from drover.load.links import row_bytes
from drover.load.profile import Profile


def cut_costs(context: ControlContext, profile: Profile) -> dict[str, float] | None:
    """Return busy seconds per row at each end of a cut, by stream; None without a model, or if none is wanted."""
    usual = usual_of(context.state)
    if usual is None or not usual.newest.cores or not context.settings.models_capacity:
        return None
    span = usual.trigger or max(usual.newest.whole, 1e-3)
    found = {}
    for stream, rate in profile.stream_rates().items():
        rows = max(float(rate) * span, 1.0)  # of a batch
        size = row_bytes(profile.network.streams[stream])
        found[stream] = usual.model.cut_price(0.0, 1.0, rows * size) / rows
    return found
