"""Settings: what is taken, and what a person is told about the rest."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from drover.control.settings import KEYS, Control, check_pins, control_of, faults, settings_to_json
from drover.errors import DroverError

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
        "control.capacity is 'fast', but it must be a list of busy seconds per second, node by node.",
    ),
    ({"capacity": [1, 0]}, "control.capacity.1 is 0, but it must be a number above 0. Correct it, or remove the node."),
    ({"pins": ["a"]}, "control.pins is ['a'], but it must be a mapping of units to nodes."),
    ({"pins": {"a": -1}}, "control.pins.a is -1, but it must be the number of a node, from 0."),
    (7, "control is 7, but it must be a mode or a mapping of settings."),
]


@pytest.mark.parametrize(("given", "answer"), WRONG)
def test_what_makes_no_sense_is_refused_in_words(given: Any, answer: str) -> None:
    with pytest.raises(DroverError) as caught:
        control_of(given)
    assert str(caught.value).startswith(answer)


def test_all_faults_are_found_at_once() -> None:
    assert len(list(faults({"mode": "x", "window": 0, "pins": {"a": "b"}, "capacity": [0, "c"], "x": 1}))) == 6


def test_the_constructor_refuses_the_same() -> None:
    with pytest.raises(DroverError, match=r"control\.window is 0"):
        Control(window=0)


def test_a_mode_a_mapping_and_nothing_are_taken() -> None:
    assert control_of("auto") == Control(mode="auto") == control_of({"mode": "auto"})  # type: ignore[arg-type]  # a word will do
    assert control_of(None) == Control()
    assert control_of({"capacity": "measured"}).capacity == "measured"
    assert control_of({"capacity": [1, 0.5]}).capacity == (1.0, 0.5)


def test_described_settings_are_json_and_make_the_same_again() -> None:
    for given in (Control(), control_of({"mode": "auto", "capacity": "measured", "pins": {"a": 1}, "memory": 1e9})):
        assert control_of(json.loads(json.dumps(settings_to_json(given)))) == given
    assert set(settings_to_json(Control())) == set(KEYS) - {"memory"}


def test_a_pin_of_a_unit_that_is_not_there_is_refused() -> None:
    with pytest.raises(DroverError, match=r"control\.pins\.buzy is unknown.* Did you mean busy\?"):
        check_pins(Control(pins={"buzy": 0}), ["busy", "idle"])
