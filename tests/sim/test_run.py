from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from drover.errors import DroverError, LoadError, ProblemError
from drover.placement.plan import Plan
from drover.sim.cluster import Add, Kill, Migration, SimulatedCluster
from drover.sim.control import SimulatedControl
from drover.sim.model import Model, model_of
from drover.sim.outcome import TABLES, SimulationResult
from drover.sim.run import simulate
from drover.sim.workload import Constant, Poisson
from tests.sim.cases import chain, joined

ONE = np.zeros(1, dtype=np.int64)


def short(model: Model | None = None, **given: object) -> SimulationResult:
    settings: dict[str, object] = {"seconds": 20.0, "seed": 2, **given}
    return simulate(model or chain(0.05), [Poisson(10.0)], SimulatedCluster(1), ONE, **settings)  # type: ignore[arg-type]  # many types


def test_latency_of_a_lone_tuple_is_its_processing_time() -> None:
    outcome = simulate(
        chain(0.125, 0.25), [Constant(1.0)], SimulatedCluster(1), np.zeros(2, dtype=np.int64), seconds=11
    )
    assert outcome.summary["latency_mean"] == 0.375
    assert outcome.summary["latency_ratio"] == 1.0
    assert outcome.summary["tuples_out"] == 10
    assert outcome.summary["utilisation_mean"] == pytest.approx(10 * 0.375 / 11)


def test_a_warm_up_does_not_count() -> None:
    whole = short()
    later = short(warmup=10.0)
    assert later.summary["seconds"] == 10.0
    assert len(later.periods) == len(whole.periods) == 20
    counted = whole.periods.filter(pl.col("begin") >= 10)
    assert later.summary["tuples_out"] == counted["tuples_out"].sum()
    assert later.summary["latency_max"] == counted["latency_max"].max()
    assert later.outputs["tuples"].sum() == later.summary["tuples_out"]
    assert later.outputs["latency_p50"].item() == later.summary["latency_p50"]


def test_the_last_period_may_be_shorter() -> None:
    outcome = short(seconds=2.5)
    assert outcome.periods["seconds"].to_list() == [1.0, 1.0, 0.5]
    assert short(seconds=0.3, sample=0.1).periods["begin"].len() == 3


def test_a_join_makes_as_many_pairs_as_its_windows_say() -> None:
    model = joined(rate=20.0, share=0.1, within="2 s")
    outcome = simulate(model, [Poisson(20.0), Poisson(20.0)], SimulatedCluster(1), ONE, seconds=500, seed=4)
    assert outcome.summary["tuples_out"] == pytest.approx(0.1 * 40 * 500, rel=0.05)
    assert outcome.summary["load_mean"] == pytest.approx(40 * 1e-4, rel=0.05)
    assert outcome.summary["utilisation_mean"] == pytest.approx(40 * 1e-4, rel=0.05)


def test_selectivity_is_kept_whatever_its_fraction() -> None:
    for share in (0.0, 0.3, 1.0, 2.7):
        outcome = short(chain(1e-4, selectivity=share), seconds=1000.0)
        seen = outcome.summary
        assert seen["tuples_out"] == pytest.approx(share * seen["tuples_in"], rel=0.05)


def test_a_plan_by_names_equals_a_plan_by_places() -> None:
    model = chain(0.05, 0.01)
    plan = Plan(1, 2, {"o0": 1, "o1": 0})
    found = [
        simulate(model, [Poisson(10.0)], SimulatedCluster(2), places, seconds=5)
        for places in (plan, np.array([1, 0], dtype=np.int64))
    ]
    assert found[0].summary == found[1].summary


@pytest.mark.parametrize("form", ["parquet", "csv", "json"])
def test_an_outcome_is_written_and_read_again(form: str, tmp_path: Path) -> None:
    outcome = short()
    files = outcome.write(tmp_path / "run", form)
    assert [file.name for file in files] == ["summary.json", *(f"{name}.{form}" for name in TABLES)]
    assert json.loads(files[0].read_text()) == outcome.summary_json()
    read: dict[str, Callable[[Path], pl.DataFrame]] = {"parquet": pl.read_parquet, "csv": pl.read_csv}
    if form in read:
        again = read[form](files[1])
        assert again["tuples_out"].to_list() == outcome.periods["tuples_out"].to_list()
    with pytest.raises(DroverError, match="format is 'xlsx'"):
        outcome.write(tmp_path, "xlsx")


def test_unknown_measurements_are_nan() -> None:
    outcome = simulate(chain(0.1), [Poisson(0.0)], SimulatedCluster(1), ONE, seconds=5)
    assert math.isnan(outcome.summary["latency_mean"])
    assert outcome.summary_json()["latency_ratio"] is None
    assert outcome.summary["tuples_in"] == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        pytest.param(lambda: short(seconds=0), "seconds is 0", id="no time"),
        pytest.param(lambda: short(warmup=20.0), "warmup is 20", id="nothing but warm-up"),
        pytest.param(lambda: short(warmup=19.5), "no period of that length", id="no period to measure"),
        pytest.param(lambda: short(sample=-1.0), "sample is -1", id="a negative period"),
        pytest.param(lambda: short(mode="exact"), "mode is 'exact'", id="no such mode"),
        pytest.param(lambda: short(mode="fluid", step=0.0), "step is 0", id="no step"),
        pytest.param(lambda: short(schedule="lifo"), "schedule is 'lifo'", id="no such schedule"),
        pytest.param(lambda: short(seed=-1), "seed is -1", id="no seed"),
        pytest.param(
            lambda: short(control=SimulatedControl(first="steady")), "no sample is complete by then", id="too early"
        ),
        pytest.param(lambda: SimulatedCluster(-1), "at least one node", id="fewer than no nodes"),
        pytest.param(lambda: short(quantum=0), "quantum is 0", id="no quantum"),
        pytest.param(lambda: short(chain(0.1, 0.1)), r"there are 2 units", id="too few places"),
        pytest.param(lambda: model_of(chain(0.1).profile, state={"o1": 1.0}), "no such unit", id="state of nobody"),
        pytest.param(lambda: SimulatedCluster(0), "at least one node", id="no nodes"),
        pytest.param(lambda: SimulatedCluster(np.array([1.0, -1.0])), "above 0", id="negative capacity"),
        pytest.param(
            lambda: SimulatedCluster(2, delay=np.zeros((3, 3))), r"delay has shape \(3, 3\)", id="delays for others"
        ),
        pytest.param(lambda: SimulatedCluster(2, bandwidth=0.0), "bandwidth has 0", id="no bandwidth"),
        pytest.param(lambda: SimulatedCluster(2, node_events=(Kill(1.0, 2),)), "names node 2", id="no such node"),
        pytest.param(lambda: SimulatedCluster(2, node_events=(Add(-1.0),)), "the time of", id="before the start"),
        pytest.param(lambda: Migration(fixed=-0.1), "migration.fixed is -0.1", id="a negative time"),
        pytest.param(lambda: SimulatedControl(window=0), "control.window is 0", id="no window"),
        pytest.param(lambda: chain(0.1).with_spread(2.0), "spread", id="more chance than cost"),
    ],
)
def test_faulty_input_is_refused_with_a_message(make: Callable[[], object], words: str) -> None:
    with pytest.raises((ProblemError, LoadError), match=words):
        make()


def test_a_unit_without_a_node_is_refused() -> None:
    with pytest.raises(ProblemError, match="puts unit 'o0' on node 3"):
        simulate(chain(0.1), [Poisson(1.0)], SimulatedCluster(2), np.array([3]), seconds=5)
    with pytest.raises(ProblemError, match="no node for unit 'o0'"):
        simulate(chain(0.1), [Poisson(1.0)], SimulatedCluster(2), Plan(1, 2, {"x": 0}), seconds=5)
