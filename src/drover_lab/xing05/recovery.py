"""Fig. 8 [Xing05]: how latency, load moved, deviation and correlation change while an algorithm recovers."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import polars as pl

from drover.sim.outcome import SimulationResult
from drover_lab.summary import column, mean, numbers_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value
from drover_lab.xing05.chains import DEFAULTS, FIRST, SETTING, SMALL, warm_up
from drover_lab.xing05.rounds import IMPROVED, OURS, recover

STRETCH: Final = 5.0  # seconds of a row
SECONDS: Final = 150.0
POLICIES: Final = ("cor-bal", *IMPROVED, "correlation", *OURS)
END: Final = 0.7  # of the time: from then on a plan counts as final


@lru_cache(maxsize=2)
def recovery_of(given: tuple[tuple[str, Value], ...]) -> SimulationResult:
    """Return the run of which rows with these parameters are stretches."""
    return recover(dict(given), SECONDS)


def measure(row: Row) -> Row:
    """Measure a stretch of a run that ends `at` seconds after the warm-up."""
    given = tuple(sorted((key, value) for key, value in row.items() if key != "at"))
    begin = warm_up(row)
    at = float(row["at"])
    periods = recovery_of(given).periods
    here = periods.filter((pl.col("begin") >= begin + at - STRETCH - 1e-9) & (pl.col("begin") < begin + at - 1e-9))
    came = here.filter(pl.col("tuples_out") > 0)
    latency = column(came, "latency_mean") * column(came, "tuples_out")
    # A ratio of means, not a mean of ratios: periods with few tuples must not count as much as busy ones.
    work = float((latency / column(came, "latency_ratio")).sum())
    moved = periods.filter((pl.col("begin") >= begin - 1e-9) & (pl.col("begin") < begin + at - 1e-9))[
        "moved_load"
    ].sum()
    return {
        "latency_ratio": float(latency.sum() / work) if work else float("nan"),
        "moved": float(moved) / (float(row["load"]) * int(row["nodes"])),
        "deviation": _mean(here["load_std"]),
        "correlation": _mean(here["load_correlation"]),
    }


def _mean(values: pl.Series) -> float:
    found = values.drop_nans().mean()
    return float(found) if isinstance(found, float) else float("nan")


def total(rows: pl.DataFrame, policy: str) -> float:
    """Return the load that a policy has moved at the end."""
    return mean(rows, "moved", policy=policy, at=max(numbers_of(rows, "at")))


def final(rows: pl.DataFrame, policy: str, y: str) -> float:
    """Return the mean of a column at the end of a run."""
    late = rows.filter(pl.col("at") > END * max(numbers_of(rows, "at")))
    return mean(late, y, policy=policy)


def re_moves_more(rows: pl.DataFrame) -> Finding:
    """Find whether COR-RE-IMP moves half as much again as COR-SE-IMP, or more."""
    one = total(rows, "cor-re-imp")
    other = total(rows, "cor-se-imp")
    return Finding(f"moved over all load: cor-re-imp {one:.3g}, cor-se-imp {other:.3g}", one >= 1.5 * other)


def re_ends_closer(rows: pl.DataFrame) -> Finding:
    """Find whether COR-RE-IMP's last plan is nearer to COR-GLB's than COR-SE-IMP's is."""
    found = {policy: final(rows, policy, "deviation") for policy in (*IMPROVED, "correlation")}
    words = ", ".join(f"{policy} {value:.3g}" for policy, value in found.items())
    near = [abs(found[policy] - found["correlation"]) for policy in IMPROVED]
    others = ", ".join(f"{policy} {final(rows, policy, 'correlation'):.2f}" for policy in found)
    return Finding(f"deviation at the end: {words}; correlation: {others}", near[0] < near[1])


def se_is_better(rows: pl.DataFrame) -> Finding:
    """Find whether COR-SE-IMP has the lower latency on average, in spite of a worse plan at the end."""
    one, other = (mean(rows, "latency_ratio", policy=policy) for policy in IMPROVED[::-1])
    return Finding(f"mean over the course: cor-se-imp {one:.3g}, cor-re-imp {other:.3g}", one < other)


def global_is_better(rows: pl.DataFrame) -> Finding:
    """Find whether COR-GLB moves less than COR-RE-IMP and has the lower latency."""
    moved = [total(rows, policy) for policy in ("correlation", "cor-re-imp")]
    latency = [mean(rows, "latency_ratio", policy=policy) for policy in ("correlation", "cor-re-imp")]
    words = f"moved: correlation {moved[0]:.3g}, cor-re-imp {moved[1]:.3g}"
    words += f"; latency ratio: correlation {latency[0]:.3g}, cor-re-imp {latency[1]:.3g}, and in the end "
    words += ", ".join(f"{final(rows, policy, 'latency_ratio'):.3g}" for policy in ("correlation", "cor-re-imp"))
    return Finding(words, moved[0] < moved[1] and latency[0] < latency[1])


def thrifty_is_better(rows: pl.DataFrame) -> Finding:
    """Find whether `thrifty` has a lower latency than COR-SE-IMP on average."""
    one, other = (mean(rows, "latency_ratio", policy=policy) for policy in ("thrifty", "cor-se-imp"))
    words = f"latency ratio: thrifty {one:.3g}, cor-se-imp {other:.3g}"
    words += f"; moved: thrifty {total(rows, 'thrifty'):.3g}, cor-se-imp {total(rows, 'cor-se-imp'):.3g}"
    return Finding(words, one < other)


def times(seconds: float) -> tuple[float, ...]:
    """Return the ends of stretches."""
    return tuple(STRETCH * (number + 1) for number in range(round(seconds / STRETCH)))


ABOUT: Final = f"""
Load 0.9. Every chain starts as a whole on one node. The warm-up ends at time 0. From then on, a policy works every
second, or makes a plan once (`correlation`, which is COR-GLB, and drover's `steady`). A row is a stretch of 5 s.
Deviation and correlation come from the last ten samples, under the plan at their end. `thrifty` is drover's own. It
makes the moves that gain most per load moved, and moves at most a tenth of the load every second.

{SETTING.strip()}
"""

EXPERIMENTS: Final = (
    Experiment(
        name="B-fig8",
        title="Time courses from connected plans at load 0.9",
        about=ABOUT,
        grids=(ParameterGrid({"policy": POLICIES, "at": times(SECONDS)}, {**DEFAULTS, "load": 0.9}, 5, FIRST),),
        quick=(ParameterGrid({"policy": POLICIES[:5], "at": times(50.0)}, {**SMALL, "load": 0.9}, 1, FIRST),),
        measure=measure,
        columns={
            "latency_ratio": "mean latency divided by mean processing time, of the tuples that came out in the stretch",
            "moved": "load of all moves up to the end of the stretch, divided by the load of the system",
            "deviation": "mean over nodes of the standard deviation of their load in the last ten samples",
            "correlation": "mean correlation of the loads of two nodes in these samples",
        },
        claims=(
            Claim("re-moves-more", "COR-RE-IMP moves much more load than COR-SE-IMP.", re_moves_more),
            Claim("re-ends-closer", "The quality of its final plan is closer to COR-GLB's.", re_ends_closer),
            Claim("se-better", "On average COR-RE-IMP performs worse than COR-SE-IMP.", se_is_better),
            Claim(
                "global-better",
                "COR-GLB moves less load than COR-RE-IMP and performs better.",
                global_is_better,
                "It moves far less, but both perform alike on average. Most of the mean comes from queues that grew "
                "before the first decision. COR-GLB loads some nodes a few percent above the average, and these drain "
                "their queues slowly.",
            ),
            Claim(
                "thrifty-below",
                "Not in the text: `thrifty` has a lower latency than COR-SE-IMP.",
                thrifty_is_better,
                "It keeps moving a tenth of the load every second, because it follows the noise of ten samples. Its "
                "plans have the least deviation, but every move suspends an operator.",
            ),
        ),
        panels=tuple(
            Panel(x="at", y=y, line="policy", log="y" if y == "latency_ratio" else "")
            for y in ("latency_ratio", "moved", "deviation", "correlation")
        ),
    ),
)
