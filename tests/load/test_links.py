"""Links: streams between units, with what they cost to ship."""

from __future__ import annotations

import numpy as np
import pytest

from drover.errors import LoadError
from drover.load.linear import linear_model
from drover.load.links import FRAME_SECONDS, find_links, row_bytes
from drover.network.build import Builder
from tests.load.networks import each_alone, example_9, profile

ROW = 8 + 4  # bytes of (timestamp, int)


def test_a_link_per_stream_and_reading_unit() -> None:
    network = example_9()
    model = linear_model(profile(network, {}, {}, {"o1": 0.5}), each_alone(network), with_streams=True)
    links = find_links(model, network, each_alone(network), costs={"o1": 2.0}, sizes={"o5": 100.0})
    ends = [(model.units[i], model.units[j]) for i, j in zip(links.source, links.target, strict=True)]
    assert links.streams == ("o1", "o2", "o3", "o4", "o5")
    assert ends == [("o1", "o2"), ("o2", "o5"), ("o3", "o4"), ("o4", "o5"), ("o5", "o6")]
    np.testing.assert_allclose(links.communication[0], [1.0, 0.0, 0.0])
    np.testing.assert_allclose(links.communication[4], [0.0, 0.0, FRAME_SECONDS])
    np.testing.assert_allclose(links.bandwidth[1], [0.5 * ROW, 0.0, 0.0])
    np.testing.assert_allclose(links.bandwidth[4], [0.0, 0.0, 100.0])


def test_a_stream_within_a_unit_makes_no_link() -> None:
    network = example_9()
    together = each_alone(network) | {"o1": "chain", "o2": "chain"}
    model = linear_model(profile(network, {}, {}, {}), together, with_streams=True)
    assert "o1" not in find_links(model, network, together).streams


def test_a_lone_operator_has_no_links() -> None:
    builder = Builder("n")
    builder.source("s", {"ts": "timestamp"}, time="ts").filter("f", "true").output()
    network = builder.build()
    model = linear_model(profile(network, {}, {}, {}), each_alone(network), with_streams=True)
    links = find_links(model, network, each_alone(network))
    assert (links.communication.shape, links.bandwidth.shape) == ((0, 1), (0, 1))


def test_rows_have_the_length_of_their_columns() -> None:
    builder = Builder("n")
    columns = {"a": "boolean", "b": "tinyint", "c": "bigint", "d": "double", "e": "decimal(10,2)", "f": "string"}
    builder.source("s", columns).output()
    assert row_bytes(builder.build().streams["s"]) == pytest.approx(1 / 8 + 1 + 8 + 8 + 16 + 16)


def test_a_model_without_streams_is_refused() -> None:
    network = example_9()
    model = linear_model(profile(network, {}, {}, {}), each_alone(network))
    with pytest.raises(LoadError, match="with with_streams=True"):
        find_links(model, network, each_alone(network))
