from __future__ import annotations

import pytest

from drover.load.sample import Sample, merged, own_name


def test_samples_of_one_operator_add_up_and_the_largest_state_counts() -> None:
    found = merged(
        [
            Sample("a", {"x": 1.0}, {"a": 2.0}, 0.1, 30, 0.0625),
            Sample("b", {}, {}, 0.5),
            Sample("a", {"x": 10.0, "y": 5.0}, {}, 0.2, 20, 0.125),
        ]
    )
    assert list(found) == ["a", "b"]
    assert (found["a"].rows_in, found["a"].rows_out) == ({"x": 11.0, "y": 5.0}, {"a": 2.0})
    assert found["a"].busy == pytest.approx(0.3)
    assert found["a"].state_bytes == 30
    assert found["a"].waited == 0.1875


def test_instances_have_names_of_their_own() -> None:
    assert [own_name("j", k) for k in range(2)] == ["j[0]", "j[1]"]
