"""Fig. 9 [Xing05]: how sensitive the algorithms are to each parameter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import polars as pl

from drover_lab.lines import line
from drover_lab.summary import listed, numbers_of, over, select, values_of
from drover_lab.table import Claim, Experiment, Finding, Panel, ParameterGrid, Row, Value, unjudged
from drover_lab.xing05.chains import COLUMNS, DEFAULTS, FIRST, SETTING, SMALL
from drover_lab.xing05.comparison import describe_means
from drover_lab.xing05.plans import run_plan
from drover_lab.xing05.rounds import run_rounds

STATIC: Final = ("correlation", "largest-first")
DYNAMIC: Final = ("cor-se-imp", "llf-bal")
VARIED: Final[Mapping[str, Sequence[Value]]] = {
    "nodes": (5, 10, 20, 40),
    "per_node": (2.5, 5.0, 10.0, 40.0),
    "window": (5.0, 10.0, 20.0),
    "samples": (5, 10, 20),
    "period": (5.0, 10.0, 20.0),
    "ratio": (2.0, 4.0, 8.0),
}
SPREAD: Final = 3.0  # times between the best and the worst value of a parameter: not sensitive
WORSE: Final = 1.5  # times from one end of a parameter to the other: sensitive
NEAR: Final = 2.0  # times: almost as good


def measure(row: Row) -> Row:
    """Run a plan that is made once, starting from a random one, or rounds that start from whole chains."""
    return run_plan({**row, "mode": "event"}) if row["policy"] in STATIC else run_rounds(row)


def insensitive(policies: tuple[str, ...], rows: pl.DataFrame) -> Finding:
    """Find whether no parameter but the number of operators changes the latency of these policies much."""
    words = []
    holds = True
    for parameter in values_of(rows, "vary"):
        part = select(rows, vary=parameter)
        lines = {policy: line(part, policy, "latency_ratio", str(parameter)) for policy in policies}
        holds &= parameter == "per_node" or all(over(max(each), min(each)) <= SPREAD for each in lines.values())
        words.append(describe_means(part, policies, "latency_ratio", str(parameter)))
    return Finding(". ".join(words), holds)


def llf_suffers(rows: pl.DataFrame) -> Finding:
    """Find whether LLF is worse with few nodes, few operators, long periods and large ratios."""
    words = []
    holds = True
    for parameter, bad_end in {"nodes": 0, "per_node": 0, "period": -1, "ratio": -1}.items():
        part = select(rows, vary=parameter)
        if len(numbers_of(part, parameter)) < 2:
            return unjudged(f"{parameter} was not varied")
        for policy in ("largest-first", "llf-bal"):
            found = line(part, policy, "latency_ratio", parameter)
            factor = over(found[bad_end], found[-1 - bad_end])
            holds &= factor >= WORSE
            words.append(f"{policy}, {parameter} {listed(numbers_of(part, parameter))}: {listed(found)}")
    return Finding("; ".join(words), holds)


def alike_with_many(rows: pl.DataFrame) -> Finding:
    """Find whether LLF-GLB is almost as good as COR-GLB if there are many operators on every node."""
    part = select(rows, vary="per_node")
    if not len(part) or max(numbers_of(part, "per_node")) < 40:
        return unjudged("40 operators per node were not run")
    one, other = (line(part, policy, "latency_ratio", "per_node")[-1] for policy in STATIC)
    words = f"at 40 operators per node: correlation {one:.3g}, largest-first {other:.3g}"
    return Finding(words, other <= NEAR * one)


def half_a_window(policies: tuple[str, str], rows: pl.DataFrame) -> Finding:
    """Find whether a policy works with a window of half a period: below the other, and at most twice its default."""
    part = select(rows, vary="period")
    periods = numbers_of(part, "period")
    if not {10.0, 20.0} <= set(periods):
        return unjudged("periods of 10 and 20 s were not both run")
    (default, long), (_, other) = (
        [line(part, policy, "latency_ratio", "period")[periods.index(at)] for at in (10.0, 20.0)] for policy in policies
    )
    words = f"period 20 s, window 10 s: {policies[0]} {long:.3g}, {policies[1]} {other:.3g}"
    return Finding(f"{words}; {policies[0]} at a period of 10 s {default:.3g}", long <= min(NEAR * default, other))


def grids(base: Row, varied: Mapping[str, Sequence[Value]], seeds: int) -> tuple[ParameterGrid, ...]:
    """Return one property varied at a time."""
    policies = (*STATIC, *DYNAMIC)
    return tuple(
        ParameterGrid({name: values, "policy": policies}, {**base, "load": 0.9, "vary": name}, seeds, FIRST)
        for name, values in varied.items()
    )


ABOUT: Final = f"""
Load 0.9, with one parameter varied at a time. The text names the parameters, but not their values. `correlation`
(COR-GLB) and `largest-first` (LLF-GLB) make a plan once, as in Fig. 3. `cor-se-imp` and `llf-bal` start from whole
chains and work every second, recovery included, as in Fig. 6. `per_node` is the number of operators for each node.
Chains keep their ten operators, so fewer operators mean fewer streams. The warm-up is as long as the window, if the
window is longer.

{SETTING.strip()}
"""

EXPERIMENTS: Final = (
    Experiment(
        name="B-fig9",
        title="Sensitivity to the parameters at load 0.9",
        about=ABOUT,
        grids=grids(DEFAULTS, VARIED, 5),
        quick=grids(SMALL, {"period": (5.0, 20.0), "samples": (5, 10)}, 1),
        measure=measure,
        columns=COLUMNS,
        claims=(
            Claim(
                "glb-insensitive",
                f"COR-GLB is not sensitive to any parameter except few operators (we take this as within {SPREAD:g} "
                "times).",
                lambda rows: insensitive(("correlation",), rows),
                "A window of half a period is too short for a plan that is made once, whether the window is short or "
                "the period long. It is not sensitive to nodes, samples and ratio.",
            ),
            Claim(
                "se-insensitive",
                "COR-SE-IMP is not sensitive to any parameter except few operators.",
                lambda rows: insensitive(("cor-se-imp",), rows),
                "It fails narrowly. It changes slightly more than three times from a ratio of 2 to one of 8, and "
                "slightly less from a period of 5 s to one of 20 s. Nodes, window and samples change little.",
            ),
            Claim(
                "llf-suffers",
                "LLF performs badly with few nodes, few operators, long periods and large ratios (we take badly as "
                f"{WORSE:g} times from one end to the other).",
                llf_suffers,
                "It does with few operators, long periods and large ratios. Few nodes make no difference here.",
            ),
            Claim(
                "many-operators",
                f"With many operators, LLF-GLB is almost as good as COR-GLB (we take almost as within {NEAR:g} times).",
                alike_with_many,
                "It is best with 40 operators for each node, and even there it has three times COR-GLB's ratio.",
            ),
            Claim(
                "half-window",
                "COR-GLB works pretty well when the window is half of the period.",
                partial(half_a_window, STATIC),
                "A plan that is made once, from half a period, mistakes streams that were high for heavy ones, and "
                "streams that were low for light ones. It is off balance as soon as they change.",
            ),
            Claim(
                "half-window-rounds",
                "The same for COR-SE-IMP, which keeps working.",
                partial(half_a_window, DYNAMIC),
            ),
        ),
        panels=tuple(
            Panel(
                x=name, y="latency_ratio", line="policy", log="xy", where={"vary": name}, title=name.replace("_", " ")
            )
            for name in VARIED
        ),
    ),
)
