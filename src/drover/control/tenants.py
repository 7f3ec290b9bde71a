"""Limits of tenants: how many queries they may have, and how much state and processor time these may take.

Rule 1: no limit unless somebody sets one. Rule 2: the number is judged when queries are submitted; state and time are
judged on what was measured, and the heaviest queries of a tenant that is over its limit are the ones to be parked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from drover.errors import DroverError, Fault, nearest, shorten

OTHERS: Final = "*"  # stands for every tenant that has no limits of its own
RULES: Final[Mapping[str, str]] = MappingProxyType({
    "queries": "how many queries it may have at a time",
    "state": "bytes of state that its queries may hold together",
    "busy": "busy seconds per second that its queries may take together",
})  # fmt: skip
WHOLE: Final = frozenset({"queries", "state"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What one tenant may have."""

    queries: float = math.inf
    state: float = math.inf  # bytes
    busy: float = math.inf  # busy seconds per second of the clock on the wall


NO_LIMITS: Final = Limits()
AllLimits = Mapping[str, Limits]


def limits_faults(given: object) -> Iterator[Fault]:
    """Yield what is wrong with limits by tenant, as read from a file."""
    if not isinstance(given, Mapping):
        way_out = "Write for example {acme: {queries: 1000}}; * stands for all others."
        yield Fault((), shorten(given), "it must be a mapping of tenants to their limits", way_out)
        return
    for tenant, limits in given.items():
        if not isinstance(limits, Mapping):
            rule, way_out = "it must be a mapping of limits", f"Known: {', '.join(RULES)}."
            yield Fault((str(tenant),), shorten(limits), rule, way_out)
            continue
        for name, value in limits.items():
            yield from (fault.under(str(tenant)) for fault in _limit_faults(str(name), value))


def _limit_faults(name: str, value: object) -> Iterator[Fault]:
    if name not in RULES:
        way_out = f"{nearest(name, RULES)}Known: {', '.join(RULES)}."
        yield Fault((name,), "unknown", "there is no such limit", way_out)
        return
    kinds = int if name in WHOLE else (int, float)
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= float(value) < math.inf:
        what = "a whole number" if name in WHOLE else "a number"
        way_out = "Leave it out for no limit."
        yield Fault((name,), shorten(value), f"it must be {what}, at least 0 ({RULES[name]})", way_out)


def limits_of(given: Mapping[str, Any] | None) -> AllLimits:  # Any: Limits, or as read from a file
    """Return limits by tenant; DroverError says what is wrong with them."""
    plain = {name: one for name, one in (given or {}).items() if not isinstance(one, Limits)}
    for fault in limits_faults(plain):
        raise DroverError(fault.under("limits").text)
    return MappingProxyType(
        {name: one if isinstance(one, Limits) else Limits(**one) for name, one in (given or {}).items()}
    )


def limits_for(tenant: str, limits: AllLimits) -> Limits:
    """Return the limits of a tenant."""
    return limits.get(tenant) or limits.get(OTHERS) or NO_LIMITS


def too_heavy(figures: pl.DataFrame, limits: AllLimits) -> pl.DataFrame:
    """Return the queries to park, `number` and `parked` (the reason), so that every tenant keeps its limits.

    `figures` has a row per running query: number, tenant, state (bytes) and busy (busy seconds per second). Of a tenant
    that is over a limit, the heaviest go first, until what is left fits; equal ones by number, the latest first.
    """
    found = [pl.DataFrame(schema={"number": pl.Int64, "parked": pl.String})]
    if not limits or not figures.height:
        return found[0]
    for measure, unit in (("state", "bytes of state"), ("busy", "busy seconds per second")):
        sums = figures.group_by("tenant", maintain_order=True).agg(pl.col(measure).sum())
        for tenant, total in sums.iter_rows():
            most = float(getattr(limits_for(tenant, limits), measure))
            if total > most:
                mine = figures.filter(tenant=tenant).sort([measure, "number"], descending=True)
                before = pl.col(measure).cum_sum() - pl.col(measure)
                heavy = mine.filter(total - before > most)
                said = f"{total:,.0f}" if measure == "state" else f"{total:.3g}"
                reason = (
                    f"tenant {tenant} is over its limit: its queries took {said} {unit}, but may take {most:,g}. "
                    "Drop it or others, or raise the limit; then submit it again."
                )
                found.append(heavy.select("number", pl.lit(reason).alias("parked")))
    return pl.concat(found).unique("number", keep="first", maintain_order=True)
