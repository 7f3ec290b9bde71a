from __future__ import annotations

import pytest

from drover.hierarchy.messages import Bundle, Handover

ONE = Bundle((3,), ((1.0, 4.0),))
TWO = Bundle((5, 4), ((2.0, 0.5), (0.25, 0.0)))


@pytest.mark.parametrize(
    ("bundle", "total"),
    [
        pytest.param(ONE, (1.0, 4.0), id="one operator"),
        pytest.param(TWO, (2.25, 0.5), id="each resource is summed by itself"),
    ],
)
def test_the_total_of_a_bundle(bundle: Bundle, total: tuple[float, ...]) -> None:
    assert bundle.total == total


def test_a_hand_over_lists_the_operators_of_all_bundles_in_order() -> None:
    assert Handover(0, 1, (0, 1, 1), 1, (ONE, TWO)).operators == (3, 5, 4)
