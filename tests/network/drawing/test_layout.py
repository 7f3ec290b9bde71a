from __future__ import annotations

import time
from itertools import combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from drover.network.drawing.layout import Arrangement, Connector, arrange
from drover.network.drawing.ordering import Box


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[Box], list[Connector]]:
    count = draw(st.integers(1, 14))
    boxes = [Box(draw(st.integers(20, 200)), draw(st.integers(20, 100))) for _ in range(count)]
    numbers = st.integers(0, count - 1)
    pairs = draw(st.lists(st.tuples(numbers, numbers).filter(lambda pair: pair[0] != pair[1]), max_size=25))
    return boxes, [Connector(min(pair), max(pair), boxes[min(pair)].height / 2) for pair in pairs]


def inside(box: Box, corner: tuple[float, float], point: tuple[float, float]) -> bool:
    (x, y) = corner
    slack = 0.01
    return x + slack < point[0] < x + box.width - slack and y + slack < point[1] < y + box.height - slack


def overlaps(boxes: list[Box], placed: Arrangement) -> list[tuple[int, int]]:
    def apart(a: int, b: int) -> bool:
        (ax, ay) = placed.corners[a]
        (bx, by) = placed.corners[b]
        beside = ax + boxes[a].width <= bx or bx + boxes[b].width <= ax
        return beside or ay + boxes[a].height <= by + 0.01 or by + boxes[b].height <= ay + 0.01

    return [(a, b) for a, b in combinations(range(len(boxes)), 2) if not apart(a, b)]


@given(graphs())
def test_boxes_do_not_overlap_and_wires_run_rightwards(graph: tuple[list[Box], list[Connector]]) -> None:
    boxes, wires = graph
    placed = arrange(boxes, wires)
    assert overlaps(boxes, placed) == []
    for wire, route in zip(wires, placed.routes, strict=True):
        assert all(x <= to_x for (x, _), (to_x, _) in pairwise(route))
        assert route[0][0] == placed.corners[wire.source][0] + boxes[wire.source].width
        assert route[-1][0] == placed.corners[wire.target][0]


@given(graphs())
def test_wires_run_through_no_box(graph: tuple[list[Box], list[Connector]]) -> None:
    boxes, wires = graph
    placed = arrange(boxes, wires)
    for route in placed.routes:
        straight = [pair for index, pair in enumerate(pairwise(route)) if index % 2 == 0]
        points = [(x + (to_x - x) * step / 8, y) for (x, y), (to_x, _) in straight for step in range(9)]
        for box, corner in zip(boxes, placed.corners, strict=True):
            assert not any(inside(box, corner, point) for point in points)


@given(graphs())
def test_everything_is_within_the_frame_and_equal_inputs_are_drawn_equally(
    graph: tuple[list[Box], list[Connector]],
) -> None:
    boxes, wires = graph
    placed = arrange(boxes, wires)
    for box, (x, y) in zip(boxes, placed.corners, strict=True):
        assert -0.01 <= x <= placed.width - box.width + 0.01
        assert -0.01 <= y <= placed.height - box.height + 0.01
    assert arrange(boxes, wires) == placed


def test_a_chain_is_straight_and_a_ladder_has_no_crossing() -> None:
    boxes = [Box(50, 30)] * 6
    placed = arrange(boxes, [Connector(0, 1, 15), Connector(1, 2, 15), Connector(3, 4, 15), Connector(4, 5, 15)])
    assert len({y for _, y in placed.corners[:3]}) == 1
    assert len({y for _, y in placed.corners[3:]}) == 1


def test_empty_input_gives_an_empty_drawing() -> None:
    assert arrange([], []) == Arrangement((), (), 0.0, 0.0)


def test_ten_thousand_boxes_are_laid_out_in_seconds() -> None:
    boxes = [Box(100, 40)] * 10_000
    wires = [Connector(k // 3, k, 20) for k in range(1, 10_000)] + [
        Connector(k, k + 7, 20) for k in range(0, 9_000, 50)
    ]
    start = time.monotonic()
    arrange(boxes, wires)
    assert time.monotonic() - start < 120
