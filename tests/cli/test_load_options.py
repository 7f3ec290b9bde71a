from __future__ import annotations

from pathlib import Path

import click
import pytest

from drover.cli.load_options import origin_lines, profile_of, read_capacity, read_load_options, read_number, read_rates
from drover.load.profile import Origin, make_profile
from tests.load.networks import example_3

NETWORK = example_3()


def test_rates_are_read_by_source() -> None:
    assert read_rates(NETWORK, ["r1=1e3", "r2=0"]) == {"r1": 1000.0, "r2": 0.0}
    assert read_rates(NETWORK, []) == {}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("r1", "'r1' is not of the form SOURCE=RATE. Write for example r1=1000.", id="no rate"),
        pytest.param("r3=1", "'r3' is not a source of the network. Known: r1, r2.", id="no source"),
        pytest.param("r1=x", "'r1=x': 'x' is not a number.", id="no number"),
        pytest.param("r1=-1", "'r1=-1' must be finite and at least 0.", id="negative"),
        pytest.param("r1=inf", "'r1=inf' must be finite and at least 0.", id="infinite"),
        pytest.param("r1=1e308", "'r1=1e308' must be at most 1e+18.", id="beyond all use"),
        pytest.param("r1=nan", "'r1=nan' must be finite and at least 0.", id="nan"),
    ],
)
def test_wrong_rates(text: str, says: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        read_rates(NETWORK, [text])
    assert caught.value.message.startswith(says)


@pytest.mark.parametrize(
    ("texts", "capacity"),
    [
        pytest.param([], [1.0, 1.0], id="a core each"),
        pytest.param(["0.5"], [0.5, 0.5], id="the same for all"),
        pytest.param(["1=2"], [1.0, 2.0], id="one node"),
        pytest.param(["1=2", "0.5"], [0.5, 2.0], id="a node alone overrides all, in any order"),
    ],
)
def test_capacities(texts: list[str], capacity: list[float]) -> None:
    assert read_capacity(texts, 2).tolist() == capacity


@pytest.mark.parametrize("text", ["2=1", "x=1", "-1=1"])
def test_a_capacity_of_an_unknown_node(text: str) -> None:
    with pytest.raises(click.BadParameter, match="names no node: the nodes are 0 to 1"):
        read_capacity([text], 2)


def test_zero_is_a_number_unless_it_is_excluded() -> None:
    assert read_number("0", "x=0", least_open=False) == 0.0
    with pytest.raises(click.BadParameter, match="must be finite and above 0"):
        read_number("0", "x=0", least_open=True)


def test_options_override_the_file(tmp_path: Path) -> None:
    file = tmp_path / "statistics.yaml"
    text = "statistics: 1\nrates: {r1: 5}\noperators: {o1: {cost: 2e-6}}\nseries: {r1: [1, 2], r2: [3, 4]}\n"
    file.write_text(text, encoding="utf-8")
    found = read_load_options(NETWORK, ["r1=7"], str(file))
    assert found.rates == {"r1": 7.0}
    assert found.series == {"r2": (3.0, 4.0)}
    assert found.profile.rates == {"r1": 7.0, "r2": 3.5}
    assert found.profile.costs["o1"] == 2e-6
    assert profile_of(NETWORK, ["r1=7"], str(file)) == found.profile
    assert found.profile.origins["rates"] == {"r1": Origin.GIVEN, "r2": Origin.GIVEN}


def test_origins_are_counted_in_words() -> None:
    assert origin_lines(make_profile(NETWORK)) == [
        "rates: 2 assumed (1000 rows per second)",
        "costs: 4 assumed (1 us per row)",
        "selectivities: 4 assumed (1 row out per row in, shared among the cases of a switch)",
    ]
    assert origin_lines(profile_of(NETWORK, ["r1=7"], None))[0] == "rates: 1 given, 1 assumed (1000 rows per second)"
