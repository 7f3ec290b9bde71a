"""The phases as a state diagram, generated from the table of transitions."""

from __future__ import annotations

from collections.abc import Iterator

from drover.hierarchy.machine import TRANSITIONS
from drover.hierarchy.node_state import Phase


def diagram() -> str:
    """Return a Mermaid diagram: an arrow for each change of phase, labelled with the events that cause it."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield "stateDiagram-v2"
    yield f"    [*] --> {Phase.IDLE.value}"
    arrows: dict[tuple[Phase, Phase], list[str]] = {}
    for (phase, event), rule in TRANSITIONS.items():
        for to in rule.to:
            if to is not phase:
                arrows.setdefault((phase, to), []).append(event.__name__)
    for (phase, to), events in arrows.items():
        yield f"    {phase.value} --> {to.value}: {', '.join(events)}"
    yield f"    [*] --> {Phase.GIVING.value}: after a crash"
