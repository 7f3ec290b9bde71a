"""Windows as arrays: the same as sample by sample, and what costs from before a change are worth."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drover.load.columns import columns_of, measured_in
from drover.load.sample import Sample
from drover.load.window import Window, measured
from drover.network.model import Network
from tests.load.networks import example_3, example_9
from tests.strategies import networks
from tests.strategies.values import Draw


@st.composite
def windows(draw: Draw) -> tuple[Network, Window]:
    """Some samples of some operators in some periods."""
    network = draw(networks())
    window = Window(5)
    count = st.integers(0, 50)
    for number in range(draw(st.integers(0, 4))):
        sources = {source.name: float(draw(count)) for source in network.sources if draw(st.booleans())}
        samples = [
            Sample(
                one.name,
                {name: float(draw(count)) for name in one.inputs},
                {name: float(draw(count)) for name in one.outputs},
                draw(st.floats(0, 2)),
            )
            for one in network.operators
            if draw(st.booleans())
        ]
        window = window.push(number, draw(st.sampled_from([0.5, 1.0, 3.0])), sources, samples)
    return network, window


@given(windows())
@settings(max_examples=60)
def test_arrays_equal_the_samples(drawn: tuple[Network, Window]) -> None:
    network, window = drawn
    plain = measured(window)
    found = measured_in(window, network)
    assert found.rates == plain.rates
    assert found.series == plain.series
    assert set(found.operators) == set(plain.operators)
    for name, behaviour in plain.operators.items():
        assert found.operators[name].cost == pytest.approx(behaviour.cost)
        assert found.operators[name].selectivity == pytest.approx(behaviour.selectivity)
        assert found.operators[name].found_at == pytest.approx(behaviour.found_at)


def test_a_period_is_read_again_for_another_network() -> None:
    window = Window().push(1, 1.0, {"r1": 5.0}, [Sample("o1", {"r1": 5.0}, {"o1": 4.0}, 0.5)])
    assert columns_of(window, example_3()).busy.sum() == 0.5
    assert columns_of(window, example_9()).took.shape[0] == 7
    assert columns_of(window, example_3()).took.shape[0] == 4
