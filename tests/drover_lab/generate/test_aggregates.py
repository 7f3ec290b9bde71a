from __future__ import annotations

from collections import Counter

from drover.network.operators import Aggregate
from drover_lab.generate import AggregateParameters, aggregates

SECOND = 1_000_000


def found(parameters: AggregateParameters) -> list[Aggregate]:
    return [operator for operator in aggregates(parameters).operators if isinstance(operator, Aggregate)]


def test_ten_sub_streams_have_sixteen_aggregates_each() -> None:
    network = aggregates()
    assert Counter(operator.inputs for operator in network.operators) == {(f"packets{k}",): 16 for k in range(10)}
    assert set(network.outputs) == {operator.name for operator in network.operators}


def test_the_sixteen_are_all_different() -> None:
    sixteen = found(AggregateParameters(streams=1))
    assert len({(o.size, o.advance, o.group_by, o.compute) for o in sixteen}) == 16
    assert Counter((o.size // SECOND, o.advance // SECOND) for o in sixteen) == {
        (1, 1): 4,
        (60, 60): 4,
        (10, 1): 4,
        (60, 1): 4,
    }
    assert Counter(o.group_by for o in sixteen) == {("src",): 8, ("src", "dst"): 8}
    assert Counter(o.compute[0].expression for o in sixteen) == {"count(*)": 8, "avg(`bytes`)": 8}


def test_columns_are_named_as_the_trace_has_them() -> None:
    parameters = AggregateParameters(streams=1, time="at", source="from", destination="to", size="length")
    network = aggregates(parameters)
    assert network.sources[0].schema.names == ("at", "from", "to", "length")
    assert network.sources[0].time == "at"
    assert str(network.streams["packets0-mean-second-pair"]).endswith("from string, to string, mean_size double")


def test_nothing_is_random() -> None:
    assert aggregates() == aggregates()
