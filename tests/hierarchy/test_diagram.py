from __future__ import annotations

from pathlib import Path

from drover.hierarchy.diagram import diagram
from drover.hierarchy.node_state import Phase


def test_the_page_shows_the_table_of_transitions() -> None:
    page = (Path(__file__).parents[2] / "docs" / "explanation" / "trees.md").read_text(encoding="utf-8")
    assert diagram() in page


def test_every_phase_can_be_entered_and_left() -> None:
    arrows = [line.strip().partition(": ")[0].split(" --> ") for line in diagram().splitlines()[1:]]
    phases = {phase.value for phase in Phase}
    assert {source for source, _ in arrows} - {"[*]"} == phases
    assert {target for _, target in arrows} == phases
