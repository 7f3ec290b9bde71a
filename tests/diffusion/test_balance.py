"""Shares of pairs with which the nodes of a join finish together."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.diffusion.balance import LEAST, USUAL, WORTH, damped, even_shares, noise_of, times


@pytest.mark.parametrize(
    ("paces", "others", "nodes", "shares"),
    [
        pytest.param([1, 1], [0, 0], [0, 1], [1 / 2, 1 / 2], id="alike"),
        pytest.param([1, 2], [0, 0], [0, 1], [2 / 3, 1 / 3], id="a node of half the speed gets half"),
        pytest.param([1, 1], [0.5, 0], [0, 1], [0.25, 0.75], id="a node with other work gets less"),
        pytest.param([1, 1], [9, 0], [0, 1], [0.05, 0.95], id="but never nothing"),
        pytest.param([1, 1, 1], [0, 0], [0, 0, 1], [1 / 4, 1 / 4, 1 / 2], id="two instances share a node"),
        pytest.param([1, 1], [0, 7, 0], [2, 0], [1 / 2, 1 / 2], id="other nodes do not count"),
        pytest.param([4, 4, 1], [0, 0], [0, 1, 0], [9 / 56, 83 / 280, 19 / 35], id="unlike instances share a node"),
    ],
)
def test_nodes_finish_together(paces: list[float], others: list[float], nodes: list[int], shares: list[float]) -> None:
    found = even_shares(np.array(paces, dtype=float), np.array(others, dtype=float), np.array(nodes))
    assert found == pytest.approx(shares)


CELLS = st.lists(st.tuples(st.floats(0.01, 10), st.floats(0, 5), st.integers(0, 3)), min_size=1, max_size=9)


@given(CELLS)
def test_no_other_shares_finish_earlier(cells: list[tuple[float, float, int]]) -> None:
    paces = np.array([pace for pace, _, _ in cells])
    nodes = np.array([node for _, _, node in cells])
    others = np.array([*[other for _, other, _ in cells], *[0.0] * 4])[:4]
    shares = even_shares(paces, others, nodes)
    least = LEAST / len(cells)
    assert shares.sum() == pytest.approx(1)
    assert shares.min() >= least * (1 - 1e-9)
    # Nodes with pairs to spare finish together, and no node of the join is earlier: it could take from the latest.
    found = times(shares, paces, others, nodes)
    giving = np.unique(nodes[shares > least * (1 + 1e-6)])
    if len(giving):
        assert np.ptp(found[giving]) <= 1e-6 * found.max()
        assert found[giving].max() <= found[nodes].min() + 1e-6 * found.max()


def test_what_noise_explains_changes_nothing() -> None:
    present = np.array([0.5, 0.5])
    wanted = np.array([0.45, 0.55])
    assert damped(present, wanted, 0.0) == pytest.approx(wanted)
    assert damped(present, wanted, 0.2).tolist() == [0.5, 0.5]
    between = damped(present, wanted, 0.025)
    assert 0.45 < between[0] < 0.5


def test_instances_without_weight_get_some() -> None:
    found = damped(np.array([1.0, 0.0]), np.array([0.5, 0.5]), 0.0)
    assert found == pytest.approx([0.5, 0.5])
    assert damped(np.array([1.0, 0.0]), np.array([0.5, 0.5]), 10.0).min() >= LEAST / 2 * 0.9


def test_the_noise_is_what_instances_do_not_have_in_common() -> None:
    alike = noise_of(np.array([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0]]))
    assert alike == pytest.approx(USUAL * np.sqrt(WORTH / (WORTH + 2) / 3)), "one instance less and one period less"
    differ = noise_of(np.array([[1.0, 1.1], [1.0, 1.0]]))
    assert differ == pytest.approx(np.sqrt((WORTH * USUAL**2 + np.log(1.1) ** 2 / 4) / (WORTH + 1) / 2))
    assert noise_of(np.array([[1.0], [2.0]])) == pytest.approx(USUAL), "one period says nothing"
