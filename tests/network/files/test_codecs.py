from __future__ import annotations

from typing import Any

import pytest

from drover.network.columns import KeyPair, Named
from drover.network.files import codecs
from drover.network.files.codecs import Codec, Plain
from drover.network.files.document import Fields, Items, Node, Scalar
from drover.network.schema import Column
from drover.network.types import BIGINT


def node_of(plain: Plain) -> Node:
    """Return plain data as the nodes of a file."""
    if isinstance(plain, list):
        return Items(tuple(map(node_of, plain)), 1)
    if isinstance(plain, dict):
        return Fields(tuple((Scalar(key, 1), node_of(value)) for key, value in plain.items()), 1)
    return Scalar(plain, 1)


@pytest.mark.parametrize(
    ("codec", "value", "plain"),
    [
        pytest.param(codecs.NAME, "requests", "requests", id="text"),
        pytest.param(codecs.LENGTH, 90_000_000, "1 min 30 s", id="length of time"),
        pytest.param(codecs.TYPE, BIGINT, "bigint", id="type"),
        pytest.param(codecs.RATIO, 0.25, "0.25", id="number"),
        pytest.param(codecs.SEED, 7, "7", id="whole number"),
        pytest.param(codecs.TRUTH, True, "true", id="truth"),
        pytest.param(codecs.KEYS, (KeyPair("a", "b"),), ["a = b"], id="list"),
        pytest.param(codecs.SELECT, (Named("x", "y + 1"),), {"x": "y + 1"}, id="mapping"),
        pytest.param(codecs.COLUMNS, (Column("n", BIGINT),), {"n": "bigint"}, id="columns"),
        pytest.param(codecs.WITHIN, (1_000_000, 1_000_000), "1 s", id="one window"),
        pytest.param(codecs.WITHIN, (1_000_000, 0), ["1 s", "0 s"], id="two windows"),
    ],
)
def test_a_written_value_is_read_back(codec: Codec[Any], value: object, plain: Plain) -> None:
    assert codec.write(value) == plain
    decoded = codec.read(node_of(plain))
    assert decoded.value == value
    assert decoded.faults == ()


@pytest.mark.parametrize(
    ("codec", "node", "says"),
    [
        pytest.param(codecs.NAME, Scalar("", 1), "it must be a name", id="nothing"),
        pytest.param(codecs.NAME, Items((), 1), "a list of 0", id="a list for a text"),
        pytest.param(codecs.TRUTH, Scalar("true", 1, quoted=True), "without quotes", id="a quoted truth"),
        pytest.param(codecs.SEED, Scalar("1.5", 1), "a whole number", id="a fraction for a whole number"),
        pytest.param(codecs.LENGTH, Scalar("10 parsecs", 1), "'parsecs' is not a unit", id="no unit of time"),
        pytest.param(codecs.KEYS, Fields((), 1), "it must be a list", id="a mapping for a list"),
        pytest.param(codecs.SELECT, Scalar("x", 1), "it must be a mapping", id="a text for a mapping"),
        pytest.param(codecs.WITHIN, Items((Scalar("1 s", 1),), 1), "one length of time, or a list", id="one of two"),
    ],
)
def test_a_codec_returns_faults_and_a_value_of_the_right_type(codec: Codec[Any], node: Node, says: str) -> None:
    decoded = codec.read(node)
    (fault,) = decoded.faults
    assert says in str(fault)
    assert type(decoded.value) is type(codec.stand_in)


def test_one_item_needs_no_brackets() -> None:
    assert codecs.STREAMS.read(Scalar("a", 1)).value == ("a",)
