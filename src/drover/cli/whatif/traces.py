"""Trace files: rates of sources over time, in CSV or Parquet.

Rule 1: a file is wide (a column `time` and one column per source) or long (columns `time`, `stream` and `rate`).
Rule 2: time is in seconds, or a date and time; the run begins at the first time. A rate holds until the next time. The
last rate holds as long as the one before it. In a long file, a source is silent before its first time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from drover.cli.whatif.workload import RateTrace
from drover.errors import DroverError, nearest, shorten
from drover.load.arrays import Floats
from drover.network.schema import known

TIME: Final = "time"
LONG: Final = frozenset({TIME, "stream", "rate"})
SHAPES: Final = "Write the columns time and one for each source, or time, stream and rate."
ALONE: Final = 1.0  # seconds for which the only line of a trace holds; the trace is repeated anyway


def _read_csv(path: Path) -> pl.DataFrame:
    return pl.read_csv(path, try_parse_dates=True, infer_schema_length=None)


READERS: Final[Mapping[str, Callable[[Path], pl.DataFrame]]] = {
    ".csv": _read_csv,
    ".csv.gz": _read_csv,
    ".parquet": pl.read_parquet,
}


def read_trace(path: str, sources: Sequence[str]) -> dict[str, RateTrace]:
    """Return the rates over time in a file, by source; DroverError if the file is wrong."""
    table = _table(path)
    if TIME not in table.columns:
        raise _refusal(path, f"has the columns {known(table.columns)}", f"one must be {TIME}", SHAPES)
    if not len(table):
        raise _refusal(path, "has no lines", "a trace needs at least one", SHAPES)
    times = _times(path, table[TIME])
    if set(table.columns) == LONG:
        return dict(_long(path, table, times, sources))
    return dict(_wide(path, table, times, sources))


def _table(path: str) -> pl.DataFrame:
    suffix = next((suffix for suffix in READERS if path.lower().endswith(suffix)), None)
    if suffix is None:
        raise _refusal(
            path, "has an unknown file type", f"a trace is one of {', '.join(READERS)}", "Save it as one of these."
        )
    if not Path(path).is_file():
        raise _refusal(path, "is not a file", "a trace is read from a file", "Correct the name.")
    try:
        return READERS[suffix](Path(path))
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = (str(error).splitlines() or ["no reason given"])[0]
        raise _refusal(path, f"cannot be read ({reason})", f"it must be a {suffix} file", "Save it again.") from error


def _times(path: str, column: pl.Series) -> Floats:
    """Return, (lines,), seconds since the first."""
    if column.null_count():
        raise _refusal(path, f"lacks {TIME} in line {_first(column.is_null())}", "every line needs one", "Fill it in.")
    if isinstance(column.dtype, pl.Datetime | pl.Date):
        seconds = column.cast(pl.Datetime("us")).cast(pl.Int64).to_numpy() / 1e6
    elif column.dtype.is_numeric():
        seconds = column.cast(pl.Float64).to_numpy()
    else:
        found = shorten(column[0])
        raise _refusal(path, f"has {found} as {TIME}", "it must be seconds or a date and time", "Write 0, 1, 2 ...")
    if not np.isfinite(seconds).all():
        raise _refusal(path, f"has a {TIME} that is not finite", "times are numbers of seconds", "Correct it.")
    return np.asarray(seconds - seconds.min(), dtype=np.float64)


def _rates(path: str, name: str, column: pl.Series) -> Floats:
    if not column.dtype.is_numeric():
        raise _refusal(path, f"has {shorten(column[0])} as rate of {name}", "a rate is a number", "Correct it.")
    found = column.cast(pl.Float64)
    wrong = (found.is_null() | ~found.is_finite() | (found < 0)).fill_null(value=True)
    if wrong.any():
        line = _first(wrong)
        value = "none" if found[line - 2] is None else f"{found[line - 2]:g}"
        rule = "a rate is finite and at least 0"
        raise _refusal(path, f"has {value} as rate of {name} in line {line}", rule, "Correct the number.")
    return found.to_numpy()


def _wide(path: str, table: pl.DataFrame, times: Floats, sources: Sequence[str]) -> Iterator[tuple[str, RateTrace]]:
    _rising(path, times)
    for name in (column for column in table.columns if column != TIME):
        _check_source(path, f"a column {shorten(name)}", name, sources)
        yield name, _trace(times, _rates(path, name, table[name]), _span(times))


def _long(path: str, table: pl.DataFrame, times: Floats, sources: Sequence[str]) -> Iterator[tuple[str, RateTrace]]:
    rates = _rates(path, "a stream", table["rate"])
    span = _span(np.unique(times))
    names = table["stream"].cast(pl.String).fill_null("").to_numpy()
    for name in dict.fromkeys(names.tolist()):
        _check_source(path, f"the stream {shorten(name)}", name, sources)
        own = names == name
        _rising(path, times[own], f" of {name}")
        silence = np.zeros(int(times[own][0] > 0))  # a step before the first, if there is time before it
        yield name, _trace(np.append(silence, times[own]), np.append(silence, rates[own]), span)


def _trace(starts: Floats, values: Floats, span: float) -> RateTrace:
    return RateTrace(np.append(starts[1:], span), values)


def _span(times: Floats) -> float:
    """Return the length in seconds of a trace with these times, (h,), rising from 0."""
    return float(times[-1] + (times[-1] - times[-2] if len(times) > 1 else ALONE))


def _rising(path: str, times: Floats, whose: str = "") -> None:
    if (np.diff(times) <= 0).any():
        raise _refusal(
            path, f"has times{whose} that do not rise", "each must be after the one before", "Sort the lines."
        )


def _check_source(path: str, what: str, name: str, sources: Sequence[str]) -> None:
    if name not in sources:
        way_out = f"{nearest(name, sources)}Known: {known(sources)}."
        raise _refusal(path, f"has {what}", "the network has no such source", way_out)


def _first(wrong: pl.Series) -> int:
    """Return the line number, counting the header, of the first wrong row."""
    return int(wrong.arg_true()[0]) + 2


def _refusal(path: str, found: str, rule: str, way_out: str) -> DroverError:
    return DroverError(f"the trace {shorten(path)} {found}, but {rule}. {way_out}")
