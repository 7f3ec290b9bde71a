from __future__ import annotations

import numpy as np
import pytest

from drover.load.arrays import frozen


def test_a_frozen_array_is_a_copy_that_cannot_be_written() -> None:
    given = np.array([1.0, 2.0])
    found = frozen(given)
    given[0] = 9.0
    assert found.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 3.0
