from __future__ import annotations

import pytest

from drover.network.columns import KeyPair
from drover.network.functions import columns_of
from drover.network.operators import OPERATORS, Operator
from drover.network.operators.base import key_type_faults, name_faults
from drover.network.schema import Schema

LEFT = Schema(columns_of({"key": "int", "tag": "string"}))
RIGHT = Schema(columns_of({"key": "bigint", "tag": "string"}))


@pytest.mark.parametrize(
    ("pair", "faulty"),
    [
        pytest.param(KeyPair("tag", "tag"), False, id="equal types"),
        pytest.param(KeyPair("key", "key"), True, id="int and bigint"),
        pytest.param(KeyPair("nothing", "key"), False, id="a missing column is another fault"),
    ],
)
def test_keys_have_one_type(pair: KeyPair, faulty: bool) -> None:
    assert bool(list(key_type_faults([pair], LEFT, RIGHT))) == faulty


def test_names_that_differ_only_in_case_are_repeated() -> None:
    assert [fault.path for fault in name_faults(["a", "A", "b", "9"], "select", taken=["B"])] == [
        ("select", "A"),
        ("select", "b"),
        ("select", "9"),
    ]


SAMPLES = {kind.name: kind.samples[0] for kind in OPERATORS.values()}


@pytest.mark.parametrize("operator", SAMPLES.values(), ids=SAMPLES)
def test_properties_derived_from_state_and_tables(operator: Operator) -> None:
    assert operator.passes_late_rows == (not operator.holds_state)
    assert not operator.writes_table or operator.table is not None
    assert (operator.pair_windows is not None) == (operator.kind == "join")
    assert operator.calls_user_code == (operator.kind == "user")
    assert len(operator.branches) in (0, len(operator.outputs))


def test_a_switch_knows_which_field_makes_an_output() -> None:
    switch = SAMPLES["switch"]
    assert switch.output_field("by_size.medium") == ("cases", "medium")
    assert switch.output_field("by_size.others") == ("rest",)
    assert SAMPLES["filter"].output_field("large") == ()
