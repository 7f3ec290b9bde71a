from __future__ import annotations

import pytest

from drover.control.refinement import STATELESS, Refinement


def test_a_move_counts_by_its_bytes_and_never_less_than_one() -> None:
    assert Refinement().charge == 0
    assert Refinement((1, 2), bytes=0.0, unit=STATELESS).charge == 2
    assert Refinement((1, 2), bytes=0.0, unit=10 * STATELESS).charge == 2
    assert Refinement((1,), bytes=9 * STATELESS, unit=2 * STATELESS).charge == pytest.approx(5)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(Refinement(), "No query moves.", id="nothing"),
        pytest.param(
            Refinement((4,), 0, 2e6, 2e6, 1.5, 1.25),
            "1 query moves with 2,000,000 bytes of state, counted as 1.0 of the moves allowed: 1 so that "
            "a row goes to fewer nodes. A row goes to 1.25 nodes on the average, and went to 1.50.",
            id="less traffic",
        ),
        pytest.param(
            Refinement((4, 5, 6), 2, 0.0, STATELESS, 1.0, 1.5),
            "3 queries move with 0 bytes of state, counted as 3.0 of the moves allowed: 2 off nodes above "
            "their limit, 1 so that a row goes to fewer nodes. A row goes to 1.50 nodes on the average, and went to "
            "1.00.",
            id="relief and less traffic",
        ),
    ],
)
def test_the_text_gives_number_price_and_reason(found: Refinement, said: str) -> None:
    assert found.text == said
