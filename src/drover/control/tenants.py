"""Limits of tenants: how many queries they may have, and how much state and processor time these may use.

Rule 1: there is no limit unless you set one.
Rule 2: the number of queries is checked when queries are submitted. State and time are checked as measured, and the
heaviest queries of a tenant over its limit are parked.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import polars as pl

from drover.errors import DroverError, Fault, nearest, shorten
from drover.network.schema import NAME, NAME_RULE

OTHERS: Final = "*"  # all tenants without limits of their own
RULES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "queries": "how many queries it may have at a time",
        "state": "bytes of state that its queries may hold together",
        "busy": "busy seconds per second that its queries may take together",
    }
)
WHOLE: Final = frozenset({"queries", "state"})


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The limits of one tenant."""

    queries: float = math.inf
    state: float = math.inf  # bytes
    busy: float = math.inf  # busy seconds per second of wall-clock time


NO_LIMITS: Final = QueryLimits()
AllLimits = Mapping[str, QueryLimits]


def limits_faults(given: object) -> Iterator[Fault]:
    """Yield the faults of limits by tenant, as read from a file."""
    if not isinstance(given, Mapping):
        way_out = "Write for example {acme: {queries: 1000}}; * stands for all others."
        yield Fault((), shorten(given), "it must be a mapping of tenants to their limits", way_out)
        return
    for tenant, limits in given.items():
        if tenant != OTHERS and not NAME.fullmatch(str(tenant)):
            yield Fault((str(tenant),), shorten(tenant), NAME_RULE, f"Rename the tenant; {OTHERS} is for all others.")
        if not isinstance(limits, Mapping):
            rule = "it must be a mapping of limits"
            way_out = f"Known: {', '.join(RULES)}."
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
    if isinstance(value, bool) or not isinstance(value, kinds) or not 0 <= value < math.inf:
        what = "a whole number" if name in WHOLE else "a number"
        way_out = "Leave it out for no limit."
        yield Fault((name,), shorten(value), f"it must be {what}, at least 0 ({RULES[name]})", way_out)


def limits_of(given: Mapping[str, Any] | None) -> AllLimits:  # Any: Limits, or as read from a file
    """Return limits by tenant; DroverError with the first fault they have."""
    plain = {name: one for name, one in (given or {}).items() if not isinstance(one, QueryLimits)}
    for fault in limits_faults(plain):
        raise DroverError(fault.under("limits").text)
    return MappingProxyType(
        {name: one if isinstance(one, QueryLimits) else QueryLimits(**one) for name, one in (given or {}).items()}
    )


def limits_for(tenant: str, limits: AllLimits) -> QueryLimits:
    """Return the limits of a tenant."""
    return limits.get(tenant) or limits.get(OTHERS) or NO_LIMITS


def too_heavy(figures: pl.DataFrame, limits: AllLimits) -> pl.DataFrame:
    """Return the queries to park, `number` and `parked` (the reason), so that every tenant is within its limits.

    `figures` has a row per running query: number, tenant, state (bytes) and busy (busy seconds per second). The
    heaviest queries of a tenant over its limit are parked until the rest fits; of equal ones, the latest first.
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
                used = f"{total:,.0f}" if measure == "state" else f"{total:.3g}"
                reason = (
                    f"tenant {tenant} is over its limit: its queries took {used} {unit}, but may take {most:,g}. "
                    "Drop it or others, or raise the limit; then submit it again."
                )
                found.append(heavy.select("number", pl.lit(reason).alias("parked")))
    return pl.concat(found).unique("number", keep="first", maintain_order=True)
