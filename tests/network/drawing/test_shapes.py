from __future__ import annotations

import pytest

from drover.network.drawing.ordering import Box
from drover.network.drawing.shapes import LEGEND, outline


@pytest.mark.parametrize("shape", [shape for shape, _, _ in LEGEND])
def test_every_shape_of_the_legend_has_an_outline_of_its_own(shape: str) -> None:
    drawn = {other: outline(other, Box(100, 40)) for other, _, _ in LEGEND}
    assert list(drawn.values()).count(drawn[shape]) == 1
    assert 'class="outline"' in drawn[shape]
