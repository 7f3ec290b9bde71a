"""Watermarks: as in Spark, what a batch sees is what the batches before it have shown."""

from __future__ import annotations

import drover
from drover.flow.operators import Clock
from drover.flow.watermarks import Progress, clocks
from drover.network.model import Network

SECOND = 1_000_000


def network() -> Network:
    net = drover.Builder("n")
    a = net.source("a", {"ts": "timestamp", "k": "int"}, time="ts", lateness="2 s")
    b = net.source("b", {"ts": "timestamp", "k": "int"}, time="ts")
    a.filter("left", "k > 0").join("both", b, within="1 s", on="k").output()
    net.source("c", {"k": "int"}).filter("plain", "k > 0").output()
    return net.build()


def test_a_batch_sees_what_the_ones_before_have_shown() -> None:
    first = Progress()
    second = first.after(network(), {"a": 10 * SECOND + 999, "b": 5 * SECOND})
    third = second.after(network(), {"a": 7 * SECOND})
    assert clocks(network(), first)["left"] == Clock(None, None)
    assert clocks(network(), second)["left"] == Clock(None, 8 * SECOND)  # whole milliseconds, less the lateness
    assert clocks(network(), third)["left"] == Clock(8 * SECOND, 8 * SECOND)  # it never goes back


def test_the_slowest_source_holds_a_join_back() -> None:
    progress = Progress().after(network(), {"a": 10 * SECOND})
    assert clocks(network(), progress)["both"] == Clock(None, None)
    progress = progress.after(network(), {"b": 3 * SECOND})
    assert clocks(network(), progress)["both"] == Clock(None, 3 * SECOND)
    assert clocks(network(), progress)["plain"] == Clock(None, None)
