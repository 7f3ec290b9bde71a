from __future__ import annotations

import click
import numpy as np
import pytest

from drover.cli.whatif.scenario import variants_of
from drover.sim.cluster import Kill
from tests.cli.whatif.scenarios import scenario_of


def test_options_become_a_scenario() -> None:
    options = (
        "--seconds 20 --nodes 3 -r east=500 --scale east=2@8 --kill 1@12 --state counts=1e6 --migration per_byte=1e-8"
    )
    found = scenario_of(f"{options} --delay 0.5 --seed 7")
    assert (found.seconds, found.warmup, found.seed, found.mode) == (20.0, 5.0, 7, "event")
    assert found.plan.nodes == found.cluster.n == 3
    assert found.cluster.node_events == (Kill(12.0, 1, 1.0, False),)
    assert np.unique(found.cluster.delay).tolist() == [0.5]
    assert found.cluster.migration.per_byte == 1e-8
    assert found.cluster.migration.fixed == 0.2
    assert found.rates()["east"] == pytest.approx((8 * 500 + 12 * 1000) / 20)
    assert found.peak() == pytest.approx(1000.0 + found.rates()["west"])
    assert not found.is_long


def test_without_a_length_a_run_lasts_a_minute() -> None:
    found = scenario_of("")
    assert (found.seconds, found.warmup) == (60.0, 10.0)
    assert [variant.name for variant in found.variants] == ["stay"]


def test_effort_grows_with_time() -> None:
    short, long = (scenario_of(f"--seconds {seconds}").effort() for seconds in (20, 40))
    assert long == pytest.approx(2 * short)


def test_variants() -> None:
    assert [variant.name for variant in variants_of(None, "stay,cor-bal,once:searched", 5.0, 10.0)] == [
        "stay",
        "cor-bal",
        "once:searched",
    ]
    (stays,) = variants_of(None, None, 5.0, 10.0)
    assert stays.control is None
    (again,) = variants_of("cor-bal", None, 5.0, 10.0)
    assert again.control is not None
    assert (again.control.policy, again.control.first, again.control.period, again.control.begin) == (
        "cor-bal",
        None,
        5.0,
        10.0,
    )
    (once,) = variants_of("once:searched", None, 5.0, 10.0)
    assert once.control is not None
    assert (once.control.policy, once.control.first, once.control.first_at) == (None, "searched", 10.0)


@pytest.mark.parametrize(
    ("policy", "compare", "says"),
    [
        pytest.param("cor-bal", "stay", "--policy and --compare exclude each other.", id="both"),
        pytest.param(None, "stay,stay", "--compare has 'stay' twice. Remove one.", id="twice"),
        pytest.param("cor-ball", None, "'cor-ball' is not a policy. Did you mean cor-bal?", id="an unknown policy"),
        pytest.param("once:x", None, "'once:x' is not a policy.", id="an unknown policy, once"),
    ],
)
def test_wrong_variants(policy: str | None, compare: str | None, says: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        variants_of(policy, compare, 5.0, 10.0)
    assert caught.value.message.startswith(says)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        pytest.param("--state counts", "'counts' is not of the form UNIT=BYTES.", id="no bytes"),
        pytest.param("--state count=1", "'count' is not a unit of the network. Did you mean counts?", id="no unit"),
        pytest.param("--migration each=1", "'each=1' names no part of a move.", id="no part"),
        pytest.param("--warmup 60", "--warmup is 60 s, but the run lasts 60 s. Lower it.", id="nothing counts"),
    ],
)
def test_wrong_options(options: str, says: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        scenario_of(options)
    assert caught.value.message.startswith(says)
