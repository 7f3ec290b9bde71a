from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import default_rng

from drover.errors import DroverError
from drover.network.durations import parse_duration
from drover.network.model import Network
from drover.network.operators import Aggregate, Join, Switch, Union
from drover_lab.generate import DagParameters, dags
from drover_lab.generate.dags import KINDS

ONLY = dict.fromkeys(KINDS, 0.0)


def joins_on_path(network: Network) -> int:
    """Return the most joins on any path from a source."""
    depth = {source.name: 0 for source in network.sources}
    for operator in network.order:
        own = int(isinstance(operator, Join))
        depth |= dict.fromkeys(operator.outputs, own + max(depth[stream] for stream in operator.inputs))
    return max(depth.values())


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), operators=st.integers(1, 40), sources=st.integers(1, 4))
def test_every_graph_is_sound_and_has_its_size(seed: int, operators: int, sources: int) -> None:
    network = dags(default_rng(seed), DagParameters(operators=operators, sources=sources))
    assert (len(network.operators), len(network.sources)) == (operators, sources)
    assert joins_on_path(network) <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_can_be_chosen_alone(kind: str) -> None:
    network = dags(default_rng(1), DagParameters(operators=40, **(ONLY | {kind: 1.0})))  # type: ignore[arg-type]
    kinds = {operator.kind for operator in network.operators}
    assert kind in kinds
    assert kinds <= {kind, "filter"}  # a filter stands in where no stream suits


def test_kinds_come_as_often_as_they_are_weighed() -> None:
    drawn = Counter(
        operator.kind
        for seed in range(40)
        for operator in dags(default_rng(seed), DagParameters(operators=50)).operators
    )
    total = drawn.total()
    assert set(drawn) == set(KINDS)
    assert drawn["map"] / total == pytest.approx(3 / 11, abs=0.04)
    assert drawn["switch"] / total == pytest.approx(1 / 11, abs=0.03)


def test_windows_inputs_and_branches_keep_to_their_parameters() -> None:
    parameters = DagParameters(operators=60, longest="300 ms", merged=(2, 4), branches=(2, 2), lateness="3 s")
    seen = Counter[str]()
    for seed in range(20):
        network = dags(default_rng(seed), parameters)
        assert {source.lateness for source in network.sources} == {parse_duration("3 s")}
        for operator in network.operators:
            seen[operator.kind] += 1
            if isinstance(operator, Join):
                assert max(operator.left_window, operator.right_window) <= parse_duration("300 ms")
                assert operator.on
            if isinstance(operator, Union):
                assert 2 <= len(operator.streams) <= 4
            if isinstance(operator, Switch):
                assert len(operator.cases) == 2
    assert min(seen[kind] for kind in KINDS) > 20


@pytest.mark.parametrize(("share", "none_or_all"), [(0.0, {True}), (1.0, {False})])
def test_time_outs_are_as_frequent_as_asked(share: float, none_or_all: set[bool]) -> None:
    network = dags(default_rng(1), DagParameters(operators=80, timeout=share))
    assert {o.timeout is None for o in network.operators if isinstance(o, Aggregate)} == none_or_all


def test_without_sharing_streams_are_read_once_while_there_are_fresh_ones() -> None:
    network = dags(default_rng(1), DagParameters(sharing=0.0, join=0, union=0))
    assert max(len(readers) for readers in network.readers.values()) == 1


def test_equal_seeds_give_equal_graphs() -> None:
    assert dags(default_rng(7)) == dags(default_rng(7))
    assert dags(default_rng(7)) != dags(default_rng(8))


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        pytest.param({"operators": 0}, "operators is 0, but must be at least 1", id="no operator"),
        pytest.param({"sharing": 1.5}, "sharing is 1.5, but must be from 0 to 1", id="no probability"),
        pytest.param({"merged": (1, 2)}, r"merged\[0\] is 1", id="a union of one"),
        pytest.param(ONLY, "sum of the kinds is 0.0", id="no kind"),
    ],
)
def test_parameters_that_make_no_graph_are_refused(fields: dict[str, object], says: str) -> None:
    with pytest.raises(DroverError, match=says):
        DagParameters(**fields)  # type: ignore[arg-type]  # that it is refused is the point
