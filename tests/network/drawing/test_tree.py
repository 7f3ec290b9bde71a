from __future__ import annotations

from hypothesis import given

from drover.network.build import Builder
from drover.network.drawing.tree import ABOVE, ASCII, BELOW, tree
from drover.network.model import Network
from tests.strategies.networks import networks


def lines(network: Network) -> list[str]:
    return [str(row) for row in tree(network, ASCII)]


def test_a_stream_with_several_readers_forks() -> None:
    builder = Builder("n")
    source = builder.source("s", {"a": "int"})
    left = source.filter("left", "a > 1")
    right = source.filter("right", "a < 1")
    left.union("both", right).output()
    assert lines(builder.build()) == [
        "s  source  a",
        "|- left  filter  a > 1",
        "|  `- both  union  left, right  => output",
        "`- right  filter  a < 1",
        "   `- both  union  (shown above)",
    ]


def test_a_long_chain_continues_at_the_margin() -> None:
    builder = Builder("n")
    stream = builder.source("s", {"a": "int"})
    for k in range(1_000):
        stream = stream.filter(f"f{k}", "a > 1")
    stream.output()
    shown = lines(builder.build())
    assert max(map(len, shown)) < 120
    assert sum(line.endswith(BELOW) for line in shown) == len(shown) - 1_001


@given(networks(max_operators=10))
def test_every_operator_is_shown_once(network: Network) -> None:
    rows = tree(network)
    shown = [row.name for row in rows if row.kind not in {"source", "table", ""} and row.note not in {ABOVE, BELOW}]
    assert sorted(shown) == sorted(operator.name for operator in network.operators)
    assert [row.name for row in rows if row.kind == "source"] == [source.name for source in network.sources]
    marked = [row.name for row in rows if row.mark]
    assert sorted(marked) == sorted(network.outputs)
