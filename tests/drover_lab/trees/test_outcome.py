from __future__ import annotations

import numpy as np
import pytest

from drover_lab.trees.outcome import TreeRun

NONE = np.zeros(2, dtype=np.int64)
RUN = TreeRun(np.array([0.0, 2.0]), np.array([[0.2, 0.8], [0.7, 0.7]]), NONE, {}, NONE, 0, 0, 0.0)


def test_a_node_at_the_threshold_is_not_overloaded() -> None:
    assert RUN.overloaded(0.6).tolist() == [1, 2]
    assert RUN.overloaded(0.7).tolist() == [1, 0]


def test_the_spread_is_over_nodes() -> None:
    assert RUN.spread() == pytest.approx([0.3, 0.0])
