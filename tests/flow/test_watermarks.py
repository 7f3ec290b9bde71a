"""Watermarks: as in Spark, what a batch sees is what the batches before it have shown."""

from __future__ import annotations

import drover
from drover.flow.operators import Watermarks
from drover.flow.watermarks import SourceProgress, operator_watermarks
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
    first = SourceProgress()
    second = first.after(network(), {"a": 10 * SECOND + 999, "b": 5 * SECOND})
    third = second.after(network(), {"a": 7 * SECOND})
    assert operator_watermarks(network(), first)["left"] == Watermarks(None, None)
    assert operator_watermarks(network(), second)["left"] == Watermarks(
        None, 8 * SECOND
    )  # whole milliseconds, less the lateness
    assert operator_watermarks(network(), third)["left"] == Watermarks(8 * SECOND, 8 * SECOND)  # it never goes back


def test_the_slowest_source_holds_a_join_back() -> None:
    progress = SourceProgress().after(network(), {"a": 10 * SECOND})
    assert operator_watermarks(network(), progress)["both"] == Watermarks(None, None)
    progress = progress.after(network(), {"b": 3 * SECOND})
    assert operator_watermarks(network(), progress)["both"] == Watermarks(None, 3 * SECOND)
    assert operator_watermarks(network(), progress)["plain"] == Watermarks(None, None)


def test_a_lateness_counts_in_whole_milliseconds_as_in_spark() -> None:
    net = drover.Builder("n")
    net.source("a", {"ts": "timestamp", "k": "int"}, time="ts", lateness="1500 us").filter("left", "k > 0").output()
    made = net.build()
    progress = SourceProgress().after(made, {"a": 10 * SECOND + 999})
    assert operator_watermarks(made, progress)["left"] == Watermarks(None, 10 * SECOND - 1000)
