from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from drover.load import series, window
from drover.load.profile import Origin, make_profile
from drover.load.sample import Sample
from drover.load.window import Window
from drover.placement.model import unit_names
from drover.sim.engine import Engine
from drover.sim.meter import empty_history, measured, measured_series
from drover.sim.model import Model
from drover.sim.world import SimulationCounts
from tests.sim.cases import Case, cases


def samples(model: Model, counts: SimulationCounts) -> Iterator[Sample]:
    """What each operator did in a period, if it had any rows, as the engine on Spark tells it."""
    for j, name in enumerate(model.operators):
        rows: dict[str, float] = {}
        for port in np.flatnonzero(model.reader == j):
            rows.setdefault(model.streams[model.read[port]], float(counts.taken[port]))
        made = range(model.first[j], model.first[j + 1])
        if any(rows.values()):
            yield Sample(name, rows, {model.streams[each]: float(counts.given[each]) for each in made}, counts.busy[j])


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_a_ledger_equals_a_window_of_samples(case: Case) -> None:
    model = case.model
    engine = Engine(model, case.cluster, case.places, seed=case.seed, schedule=case.schedule)
    engine.feed(case.arrivals)
    history = empty_history(model, 4)
    plain = Window(4)
    for number, end in enumerate((1.0, 1.5, 3.0, 4.0, 6.0, 7.0)):
        engine.advance(end)
        length = end - (0.0, 1.0, 1.5, 3.0, 4.0, 6.0)[number]
        counts = engine.take_counts(end)
        history = history.push(length, counts)
        arrived = dict(zip(model.sources, counts.arrived.tolist(), strict=True))
        plain = plain.push(number, length, arrived, samples(model, counts))
    found = measured(history)
    expected = window.measured(plain)
    assert found.rates == pytest.approx(expected.rates)
    assert found.costs == pytest.approx(expected.costs)
    assert found.selectivities == pytest.approx(expected.selectivities)
    assert {name: each.found_at for name, each in found.operators.items()} == {
        name: pytest.approx(each.found_at) for name, each in expected.operators.items()
    }
    assert found.series == {name: pytest.approx(each) for name, each in expected.series.items()}
    profile = make_profile(model.profile.network, [(Origin.MEASURED, found), (Origin.GIVEN, history.said)])
    loads = series.measured_series(plain, profile, unit_names(profile.network))
    assert measured_series(history, profile).units == loads.units
    assert measured_series(history, profile).values == pytest.approx(loads.values)
