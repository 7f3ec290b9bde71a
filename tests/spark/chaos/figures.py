"""What strikes did, as a table: a line for each process and way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median
from typing import Final

from tests.spark.chaos.campaign import Outcome
from tests.spark.chaos.strikes import Role, Way

HEAD: Final = (
    "process",
    "signals",
    "kills",
    "fewest commits before",
    "went on by itself",
    "after a restart",
    "lost rows",
    "doubled rows",
    "seconds to the next commit: median",
    "most",
)


def figures(outcomes: Sequence[Outcome]) -> str:
    """Return a Markdown table, with a line for all kills at its end."""
    lines = [HEAD, tuple("---" for _ in HEAD)]
    for role in Role:
        for way in Way:
            mine = [one for one in outcomes if one.strike.role is role and one.strike.way is way]
            if mine:
                lines.append((role, way, *_cells(mine)))
    lines.append(("all", "", *_cells(outcomes)))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cells(outcomes: Iterable[Outcome]) -> tuple[str, ...]:
    hits = [one for one in outcomes if one.hit]
    if not hits:
        return ("ignored", *("" for _ in HEAD[3:]))
    seconds = [one.seconds for one in hits]
    return (
        str(len(hits)),
        str(min(one.commits for one in hits)),
        str(sum(not one.restarted for one in hits)),
        str(sum(one.restarted for one in hits)),
        str(sum(one.difference.lost for one in hits)),
        str(sum(one.difference.doubled for one in hits)),
        f"{median(seconds):.1f}",
        f"{max(seconds):.1f}",
    )
