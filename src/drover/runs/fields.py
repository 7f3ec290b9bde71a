"""The fields of a run file: one table, from which files are read, corrected and documented.

Rule 1: a field is a row here and nowhere else. Rule 2: rows stand in the order in which a file shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from drover.errors import nearest, nearest_name
from drover.hierarchy.cluster import CLUSTER, CLUSTERS, NODE
from drover.hierarchy.layout import MARKS
from drover.network.files import codecs
from drover.network.files.codecs import Codec, ListOf, MapOf, Parsed, Plain, Reading, Text, fault_at
from drover.network.files.document import Fields, Items, Node, Scalar
from drover.network.files.fields import EMPTY, FALSE, NONE, Default, Field, table_lines
from drover.network.files.gather import Gatherer
from drover.network.schema import known
from drover.runs.control import Settings, TenantLimits
from drover.runs.model import CONSOLE, FILES, PLACELESS, PLANS, REPLAYED, WRITTEN, Option, Output

T = TypeVar("T")
VERSION: Final = "1"  # of the format
READ: Final = (*FILES, *PLACELESS, "delta")


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words; if `open`, any other word too that does not look like a slip of the pen."""

    says: str
    words: tuple[str, ...]
    open: bool = False

    @property
    def stand_in(self) -> str:
        """The first word."""
        return self.words[0]

    def read(self, node: Node) -> Reading[str]:
        """Return the word."""
        text = Text(self.says, self.words[0]).read(node)
        if text.faults or text.value in self.words or (self.open and not nearest_name(text.value, self.words)):
            return Reading(text.value or self.stand_in, text.faults)
        way_out = f"{nearest(text.value, self.words)}Known: {known(self.words)}."
        return Reading(self.stand_in, (fault_at(node, f"it must be {self.says}", way_out),))

    def write(self, value: str) -> Plain:
        """Return the word."""
        return value


@dataclass(frozen=True, slots=True)
class Record(Generic[T]):
    """A mapping with fields of its own; `short` says what a bare word stands for."""

    says: str
    fields: tuple[Field, ...]
    make: Callable[..., T]
    stand_in: T
    short: str | None = None  # the field that a bare word is the value of

    def read(self, node: Node) -> Reading[T]:
        """Return what is made of the fields."""
        gatherer = Gatherer()
        if self.short is not None and isinstance(node, Scalar) and node.text:
            node = Fields(((Scalar(self.short, node.line), node),), node.line)
        values, _ = gatherer.fields((), Scalar("", node.line), node, self.fields, self.says)
        return Reading(self.make(**values) if not gatherer.faults else self.stand_in, tuple(gatherer.faults))

    def write(self, value: T) -> Plain:
        """Return the fields that are set."""
        return {row.name: row.codec.write(found) for row in self.fields if (found := getattr(value, row.name))}


@dataclass(frozen=True, slots=True)
class OneOrMore(Generic[T]):
    """One, or a list of several."""

    item: Codec[T]
    says: str
    stand_in: tuple[T, ...] = ()

    def read(self, node: Node) -> Reading[tuple[T, ...]]:
        """Return all of them."""
        if isinstance(node, Items):
            return ListOf(self.item, self.says).read(node)
        one = self.item.read(node)
        return Reading((one.value,), one.faults)

    def write(self, value: tuple[T, ...]) -> Plain:
        """Return them in a list."""
        return [self.item.write(one) for one in value]


PATH: Final = Text("a path, from the folder of this file, or a URI", "out/suspects", "path")
OPTIONS: Final = MapOf(
    Text("a text", "true"), "a mapping of options to their values", "header: true",
    Option, lambda option: (option.name, option.value),
)  # fmt: skip
WHOLE: Final = Parsed("a whole number", "4", codecs.SEED.parse, str, 1)
SPEED: Final = Parsed("a number", "60", codecs.RATIO.parse, repr, 1.0)
SHARE: Final = Parsed("a number", "0.05", codecs.RATIO.parse, repr, 0.0)

SOURCE: Final = (
    Field("read", Choice("one of Spark's streaming formats", READ, open=True), "format of a stream for Spark to read; "
          "this or `replay`", NONE),
    Field("replay", Choice("a format of files that can be replayed", REPLAYED), "format of a file whose rows are "
          "to come in order of time", NONE),
    Field("path", PATH, "the file or folder; formats such as kafka have none", NONE),
    Field("columns", codecs.COLUMNS, "columns of what is read; left out, those that the source has in the network",
          EMPTY),
    Field("options", OPTIONS, "options of Spark's reader, as Spark documents them", EMPTY),
    Field("select", codecs.SELECT, "every column of the source, in Spark's SQL over what is read; left out, by name",
          EMPTY),
    Field("where", codecs.PREDICATE, "rows for which this is true are read; Spark's SQL", NONE),
    Field("time", codecs.COLUMN, "of a replay: the timestamp column that orders it, if the source has no event time",
          NONE),
    Field("speed", SPEED, "of a replay: multiple of real time; left out, as fast as rows are taken", NONE),
    Field("batches", WHOLE, "of a replay without speed: in how many batches", Default(1)),
    Field("by", codecs.SQL, "if it carries several sources: what tells them apart, Spark's SQL over its columns",
          NONE),
    Field("value", Text("a value", "east"), "of a source that is read together with others: what `by` gives for it",
          NONE),
    Field("shares", codecs.STREAM, "the source whose rows carry this one too; besides it there is only `value`", NONE),
)  # fmt: skip
SINK: Final = (
    Field("write", Choice("a kind of sink", (*WRITTEN, CONSOLE)), "format of a file per batch, or console"),
    Field("path", PATH, "the folder for the files; console has none", NONE),
)
SINKS: Final = OneOrMore(Record("a sink", SINK, Output, Output(CONSOLE), "write"), "a sink, or a list of sinks")

CONTROL: Final = Settings()
LIMITS: Final = TenantLimits()

SETTINGS: Final = (
    Field("network", PATH, "the network file"),
    Field("dead_letters", SINKS, "sinks for rows that do not fit their source", EMPTY),
    Field("queries", SINKS, "sinks for results of submitted queries, see docs/queries.md; left out, none are taken",
          EMPTY),
    Field("limits", LIMITS, "what each tenant may have of submitted queries", Default(LIMITS.stand_in)),
    Field("refine", SHARE, "share of submitted queries that may move of themselves per hour, so that rows travel to "
          "fewer nodes", Default(0.0)),
    Field("checkpoint", PATH, "folder of the run's progress and state; `--checkpoint` wins", NONE),
    Field("nodes", WHOLE, "how many nodes to begin with; `--nodes` wins", Default(4)),
    Field("cluster", CLUSTER, "a tree of nodes to run on, see docs/hierarchy.md; left out, nodes are all alike", NONE),
    Field("plan", Choice("a way to place operators", PLANS), "how to place operators to begin with; `--plan` wins",
          Default("round-robin")),
    Field("trigger", codecs.LENGTH, "from the start of a batch to that of the next; left out, without a pause", NONE),
    Field("control", CONTROL, "how load is managed, see docs/control.md; `--control` wins over its mode",
          Default(CONTROL.stand_in)),
    Field("stop_on_failure", codecs.TRUTH, "whether the run ends when an operator fails; else it alone is parked",
          FALSE),
)  # fmt: skip
SECTIONS: Final[Mapping[str, str]] = {
    "run": f"version of this format, {VERSION}; required, and tells a run file from a network file",
    "sources": "where rows come from: an entry for every source of the network; required",
    "sinks": "where rows go: for an output, a sink or a list of sinks",
}


def reference() -> str:
    """Return docs/runs.md: every field there is."""
    return "\n".join(_reference_lines())


def _reference_lines() -> Iterator[str]:
    yield "# Run files"
    yield ""
    yield "<!-- Made by drover.runs.fields.reference; tests/runs/test_fields.py says how to make it again. -->"
    yield ""
    yield "A run file says where the rows of a network come from and go to. `drover run FILE` runs it, and"
    yield "`drover check FILE` lists all its faults. It is YAML, as a network file is; paths are taken from its folder."
    yield ""
    yield "| section | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in SECTIONS.items())
    tables: dict[str, Any] = {"Settings, at the top": SETTINGS, "A source": SOURCE, "A sink": SINK}
    tables |= {"A cluster": CLUSTERS, "A node in the `tree` of a cluster": NODE, "The `marks` of a cluster": MARKS}
    for title, fields in tables.items():
        yield from table_lines(title, fields)
    yield ""
