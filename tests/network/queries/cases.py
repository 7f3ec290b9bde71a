"""A network with one source and a switch, and small queries on it."""

from __future__ import annotations

from drover.network.durations import UNITS
from drover.network.model import Network
from drover.network.operators import Aggregate, Filter, Named, Operator, Switch
from drover.network.parts import Source
from drover.network.queries import Query
from drover.network.schema import Column
from drover.network.types import BIGINT, BOOLEAN, DATE, DOUBLE, INT, STRING, TIMESTAMP, TINYINT

COLUMNS = {
    "ts": TIMESTAMP,
    "source": STRING,
    "x": DOUBLE,
    "k": INT,
    "big": BIGINT,
    "tiny": TINYINT,
    "day": DATE,
    "ok": BOOLEAN,
}
EVENTS = Source("events", tuple(Column(name, kind) for name, kind in COLUMNS.items()), "ts")
NETWORK = Network(
    "net",
    (EVENTS,),
    (Switch(name="s", input="events", cases=(Named("hot", "x > 9"),), rest="cold"),),
    ("s.hot", "s.cold"),
)


def filtering(where: str, name: str = "f", stream: str = "events") -> Query:
    return Query("q", "tenant", (Filter(name=name, input=stream, where=where),), name)


def window(name: str, stream: str, **more: object) -> Operator:
    size = UNITS["s"]
    return Aggregate(name=name, input=stream, size=size, advance=size, compute=(Named("n", "count(*)"),), **more)  # type: ignore[arg-type] # fields of an aggregate
