"""Settings: what is taken, and what a person is told about the rest."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from drover.control.settings import KEYS, Control, check_pins, control_of, faults, settings_to_json
from drover.errors import DroverError
from tests.cli.golden import agrees

WRONG: list[tuple[Any, str]] = [  # what was given, and how the answer begins
    ("auot", "control.mode is 'auot', but it must be a mode. Did you mean auto? Known: observe, propose, auto."),
    ({"mode": None}, "control.mode is None, but it must be a mode."),
    ({"windov": 3}, "control.windov is unknown, but there is no such setting. Did you mean window?"),
    ({"window": 1}, "control.window is 1, but it must be a whole number, at least 2 and at most 60. Write for example"),
    ({"window": 2.5}, "control.window is 2.5, but it must be a whole number"),
    ({"warm_up": 61}, "control.warm_up is 61, but it must be a whole number, at least 2 and at most 60."),
    ({"trial": "two"}, "control.trial is 'two', but it must be a whole number"),
    ({"most_moves": True}, "control.most_moves is True, but it must be a whole number"),
    (
        {"period": -1},
        "control.period is -1, but it must be a number, at least 0. Write for example 1, or leave it out.",
    ),
    ({"memory": math.nan}, "control.memory is nan, but it must be a number, at least 0. Leave it out."),
    ({"first": "cor-se"}, "control.first is 'cor-se', but it must be a policy."),
    ({"then": "resilient"}, "control.then is 'resilient', but it must be a policy."),
    ({"then": []}, "control.then is [], but it must be a policy."),
    (
        {"capacity": "fast"},
        "control.capacity is 'fast', but it must be busy seconds per second, one number for all nodes or a list",
    ),
    ({"capacity": [1, 0]}, "control.capacity.1 is 0, but it must be a number above 0. Correct it, or remove the node."),
    ({"pins": ["a"]}, "control.pins is ['a'], but it must be a mapping of units to nodes."),
    ({"pins": {"a": -1}}, "control.pins.a is -1, but it must be the number of a node, from 0."),
    (7, "control is 7, but it must be a mode or a mapping of settings."),
    ({"window": 61}, "control.window is 61, but it must be a whole number, at least 2 and at most 60."),
    ({"cool_down": -1}, "control.cool_down is -1, but it must be a whole number, at least 0. Write for example 10,"),
    ({"capacity": -7}, "control.capacity is -7, but it must be busy seconds per second, one number for all nodes"),
    ({"capacity": [True]}, "control.capacity.0 is True, but it must be a number above 0."),
    ({"capacity": [math.inf]}, "control.capacity.0 is inf, but it must be a number above 0."),
    ({"pins": {"a": True}}, "control.pins.a is True, but it must be the number of a node, from 0."),
    ({"pins": {"a": 0.5}}, "control.pins.a is 0.5, but it must be the number of a node, from 0."),
    ({7: 1}, "control.7 is unknown, but there is no such setting. Known: mode, period, window,"),
]


@pytest.mark.parametrize(("given", "answer"), WRONG)
def test_what_makes_no_sense_is_refused_in_words(given: Any, answer: str) -> None:
    with pytest.raises(DroverError) as caught:
        control_of(given)
    assert str(caught.value).startswith(answer)


def test_the_words_of_all_faults() -> None:
    found = ""
    for given, _ in WRONG:
        with pytest.raises(DroverError) as caught:
            control_of(given)
        found += f"{caught.value}\n"
    assert agrees("control.faults.txt", found)


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"window": 2, "warm_up": 2, "trial": 0, "cool_down": 0, "most_moves": 0, "seed": 0}, id="least"),
        pytest.param({"window": 60, "warm_up": 60, "trial": 60, "cool_down": 10**9, "seed": 10**9}, id="most"),
        pytest.param({"period": 0, "payback": 0, "least_gain": 0, "certainty": 0, "memory": 0}, id="zero"),
        pytest.param({"period": 0.5, "payback": math.inf, "memory": math.inf}, id="without end"),
        pytest.param({"pins": {"a": 0, "b": 1}}, id="the first node"),
        pytest.param({"first": "resilient", "then": "cor-se"}, id="other policies"),
    ],
)
def test_the_ends_of_the_ranges_are_allowed(given: dict[str, Any]) -> None:
    found = control_of(given)
    assert {name: getattr(found, name) for name in given} == given


def test_small_capacities_are_allowed() -> None:
    assert control_of({"capacity": [0.001, 2]}).capacity == (0.001, 2.0)


def test_settings_are_taken_as_they_are_and_cannot_be_changed() -> None:
    settings = Control(pins={"a": 0})
    assert control_of(settings) is settings
    with pytest.raises(TypeError):
        settings.pins["b"] = 1  # type: ignore[index]  # on purpose


def test_all_faults_are_found_at_once() -> None:
    assert len(list(faults({"mode": "x", "window": 0, "pins": {"a": "b"}, "capacity": [0, "c"], "x": 1}))) == 6


def test_the_constructor_refuses_the_same() -> None:
    with pytest.raises(DroverError, match=r"control\.window is 0"):
        Control(window=0)


def test_a_mode_a_mapping_and_nothing_are_taken() -> None:
    assert control_of("auto") == Control(mode="auto") == control_of({"mode": "auto"})  # type: ignore[arg-type]  # a word will do
    assert control_of(None) == Control()
    assert control_of({"capacity": "measured"}).capacity == "measured"
    assert control_of({"capacity": 2}).capacity == 2.0
    assert control_of({"capacity": []}).capacity == control_of({}).capacity == "auto", "older files have an empty list"
    assert control_of({"capacity": [1, 0.5]}).capacity == (1.0, 0.5)


def test_described_settings_are_json_and_make_the_same_again() -> None:
    for given in (Control(), control_of({"mode": "auto", "capacity": "measured", "pins": {"a": 1}, "memory": 1e9})):
        assert control_of(json.loads(json.dumps(settings_to_json(given)))) == given
    assert set(settings_to_json(Control())) == set(KEYS) - {"memory"}


def test_a_pin_of_a_unit_that_is_not_there_is_refused() -> None:
    says = r"control\.pins\.buzy is unknown, but the network has no such unit\. Did you mean busy\? Pin another unit"
    with pytest.raises(DroverError, match=says):
        check_pins(Control(pins={"buzy": 0}), ["busy", "idle"])
    settings = Control(pins={"busy": 0})
    assert check_pins(settings, ["busy", "idle"]) is settings
