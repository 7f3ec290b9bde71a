"""The phases as a drawing, made from the table of transitions and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from drover.hierarchy.machine import TRANSITIONS
from drover.hierarchy.memory import Phase


def diagram() -> str:
    """Return a diagram in Mermaid's language: an arrow from phase to phase, with the events that lead along it."""
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
