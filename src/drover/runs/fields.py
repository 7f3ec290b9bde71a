"""The fields of a run file; files are read, checked and documented from these tables.

Rule 1: a field is a row here and nowhere else. Rule 2: rows are in the order in which a file shows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from drover.control.engine_choice import DEFAULT_ENGINE, EngineChoice
from drover.control.failing import HOLD_BYTES, OnFailure
from drover.errors import nearest, nearest_name
from drover.hierarchy.cluster import CLUSTER, CLUSTERS, NODE
from drover.hierarchy.layout import MARKS
from drover.network.files import codecs
from drover.network.files.codecs import Codec, Decoded, ListOf, MapOf, Parsed, Plain, Text, fault_at
from drover.network.files.document import Fields, Items, Node, Scalar
from drover.network.files.field import EMPTY, FALSE, NONE, Default, Field, table_lines
from drover.network.files.gather import Gatherer
from drover.network.schema import known
from drover.placement.starting_plans import AUTO_NODES, DEFAULT_NODES, DEFAULT_PLAN, STARTING_PLANS
from drover.runs.control import LoadSettings, Popularity, TenantLimits
from drover.runs.formats import SINK_FORMATS, SOURCE_FORMATS
from drover.runs.model import Option, Output
from drover.runs.tables import TABLES

T = TypeVar("T")
VERSION: Final = "1"  # of the format
READ: Final = tuple(SOURCE_FORMATS)
REPLAYED: Final = tuple(one.name for one in SOURCE_FORMATS.values() if one.suffixes)
WRITTEN: Final = tuple(SINK_FORMATS)


@dataclass(frozen=True, slots=True)
class ChoiceField:
    """One of a few words; if `open`, also any other word that does not look like a typing error."""

    says: str
    words: tuple[str, ...]
    open: bool = False

    @property
    def stand_in(self) -> str:
        """The first word."""
        return self.words[0]

    def read(self, node: Node) -> Decoded[str]:
        """Return the word."""
        text = Text(self.says, self.words[0]).read(node)
        if text.faults or text.value in self.words or (self.open and not nearest_name(text.value, self.words)):
            return Decoded(text.value or self.stand_in, text.faults)
        way_out = f"{nearest(text.value, self.words)}Known: {known(self.words)}."
        return Decoded(self.stand_in, (fault_at(node, f"it must be {self.says}", way_out),))

    def write(self, value: str) -> Plain:
        """Return the word."""
        return value


@dataclass(frozen=True, slots=True)
class RecordField(Generic[T]):
    """A mapping with fields of its own; a single word is the value of the field `short`."""

    says: str
    fields: tuple[Field, ...]
    make: Callable[..., T]
    stand_in: T
    short: str | None = None  # the field that a single word sets

    def read(self, node: Node) -> Decoded[T]:
        """Return what is made of the fields."""
        gatherer = Gatherer()
        if self.short is not None and isinstance(node, Scalar) and node.text:
            node = Fields(((Scalar(self.short, node.line), node),), node.line)
        values, _ = gatherer.fields((), Scalar("", node.line), node, self.fields, self.says)
        return Decoded(self.make(**values) if not gatherer.faults else self.stand_in, tuple(gatherer.faults))

    def write(self, value: T) -> Plain:
        """Return the fields that are set."""
        return {row.name: row.codec.write(found) for row in self.fields if (found := getattr(value, row.name))}


@dataclass(frozen=True, slots=True)
class OneOrMore(Generic[T]):
    """One, or a list of several."""

    item: Codec[T]
    says: str
    stand_in: tuple[T, ...] = ()

    def read(self, node: Node) -> Decoded[tuple[T, ...]]:
        """Return all of them."""
        if isinstance(node, Items):
            return ListOf(self.item, self.says).read(node)
        one = self.item.read(node)
        return Decoded((one.value,), one.faults)

    def write(self, value: tuple[T, ...]) -> Plain:
        """Return them in a list."""
        return [self.item.write(one) for one in value]


PATH: Final = Text("a path, from the folder of this file, or a URI", "out/suspects", "path")
FOLDER: Final = Text("a path, from the folder of this file", "out/suspects", "path")
OPTIONS: Final = MapOf(
    Text("a text", "true"),
    "a mapping of options to their values",
    "header: true",
    Option,
    lambda option: (option.name, option.value),
)


def _parse_nodes(text: str) -> int | str:
    return text if text == AUTO_NODES else codecs.SEED.parse(text)


WHOLE: Final = Parsed("a whole number", "4", codecs.SEED.parse, str, 1)
NODES: Final[Parsed[int | str]] = Parsed("a whole number, or auto", "4", _parse_nodes, str, 1)
SPEED: Final = Parsed("a number", "60", codecs.RATIO.parse, repr, 1.0)
SHARE: Final = Parsed("a number", "0.05", codecs.RATIO.parse, repr, 0.0)

SOURCE: Final = (
    Field(
        "read",
        ChoiceField("one of Spark's streaming formats", READ, open=True),
        "format of a stream for Spark to read; this or `replay`",
        NONE,
    ),
    Field(
        "replay",
        ChoiceField("a format of files that can be replayed", REPLAYED),
        "format of a file whose rows are replayed in order of time",
        NONE,
    ),
    Field("path", PATH, "the file or folder; formats such as kafka have none", NONE),
    Field("columns", codecs.COLUMNS, "columns of the data; left out, the columns of the source in the network", EMPTY),
    Field("options", OPTIONS, "options of Spark's reader, as Spark documents them", EMPTY),
    Field(
        "select",
        codecs.SELECT,
        "every column of the source, as Spark SQL over the columns of the data; left out, by name",
        EMPTY,
    ),
    Field("where", codecs.PREDICATE, "Spark SQL; only rows for which this is true are read", NONE),
    Field(
        "time", codecs.COLUMN, "of a replay: the timestamp column that orders it, if the source has no event time", NONE
    ),
    Field("speed", SPEED, "of a replay: multiple of real time; left out, as fast as the run can read", NONE),
    Field("batches", WHOLE, "of a replay without speed: the number of batches", Default(1)),
    Field(
        "by",
        codecs.SQL,
        "if the data has rows of several sources: Spark SQL whose result names the source of a row",
        NONE,
    ),
    Field(
        "value",
        Text("a value", "east"),
        "of a source that is read together with others: the result of `by` for its rows",
        NONE,
    ),
    Field(
        "shares",
        codecs.STREAM,
        "the source with whose data this one is read; the only other field is then `value`",
        NONE,
    ),
)
SINK: Final = (
    Field("write", ChoiceField("a kind of sink", WRITTEN), "format of a file per batch, or console"),
    Field("path", FOLDER, "the folder for the files; console has none", NONE),
)
SINKS: Final = OneOrMore(RecordField("a sink", SINK, Output, Output("console"), "write"), "a sink, or a list of sinks")

CONTROL: Final = LoadSettings()
LIMITS: Final = TenantLimits()
POPULARITY: Final = Popularity()

SETTINGS: Final = (
    Field("network", PATH, "the network file"),
    Field(
        "tables",
        TABLES,
        "the database of each table (docs/how-to/tables.md); a table that is left out is in the checkpoint",
        EMPTY,
    ),
    Field("dead_letters", SINKS, "sinks for rows that do not fit their source", EMPTY),
    Field("late", SINKS, "sinks for rows that come after the watermark of an operator", EMPTY),
    Field(
        "queries",
        SINKS,
        "sinks for results of submitted queries (docs/how-to/queries.md); left out, no queries are accepted",
        EMPTY,
    ),
    Field("limits", LIMITS, "limits of each tenant for submitted queries", Default(LIMITS.stand_in)),
    Field(
        "refine",
        SHARE,
        "fraction of submitted queries that drover may move per hour, so that rows travel to fewer nodes",
        Default(0.0),
    ),
    Field(
        "popularity",
        POPULARITY,
        "how many queries are expected to read the same rows (docs/how-to/queries.md); drover places them together",
        EMPTY,
    ),
    Field("checkpoint", PATH, "folder of the run's progress and state; `--checkpoint` overrides it", NONE),
    Field(
        "nodes",
        NODES,
        "number of nodes at the start, or as many as Spark has slots (auto); `--nodes` overrides it",
        Default(DEFAULT_NODES),
    ),
    Field("cluster", CLUSTER, "a tree of nodes to run on (docs/how-to/trees.md); left out, all nodes are equal", NONE),
    Field(
        "plan",
        ChoiceField("a way to place operators", tuple(STARTING_PLANS)),
        "how to place operators at the start; `--plan` overrides it",
        Default(DEFAULT_PLAN),
    ),
    Field(
        "engine",
        ChoiceField("an engine", tuple(EngineChoice)),
        "what computes batches (docs/how-to/engines.md): Spark jobs with a shuffle per hop (shuffle), resident "
        "nodes (resident), or resident nodes where they fit (auto); `--engine` overrides it",
        Default(str(DEFAULT_ENGINE)),
    ),
    Field(
        "trigger",
        codecs.LENGTH,
        "time from the start of a batch to the start of the next; left out, batches follow without a pause",
        NONE,
    ),
    Field(
        "control",
        CONTROL,
        "how load is managed, see docs/reference/control.md; `--control` overrides its mode",
        Default(CONTROL.stand_in),
    ),
    Field(
        "on_failure",
        ChoiceField("what a failing operator does with its input", tuple(OnFailure)),
        "what happens when an operator fails: it keeps its input until you resume it (hold), its input is lost (skip), "
        "or the run stops (stop); see docs/how-to/user-functions.md",
        Default(str(OnFailure.HOLD)),
    ),
    Field(
        "hold_bytes", WHOLE, "bytes of input that a parked operator may hold, before the run stops", Default(HOLD_BYTES)
    ),
    Field("stop_on_failure", codecs.TRUTH, "deprecated: `true` means `on_failure: stop`", FALSE),
)
SECTIONS: Final[Mapping[str, str]] = {
    "run": f"version of this format, {VERSION}; required, and distinguishes a run file from a network file",
    "sources": "where rows come from: an entry for every source of the network; required",
    "sinks": "where rows go: for an output, a sink or a list of sinks",
}


def reference() -> str:
    """Return docs/reference/run-file.md: every field there is."""
    return "\n".join(_reference_lines())


def _reference_lines() -> Iterator[str]:
    yield "# Run files"
    yield ""
    yield "<!-- Made by drover.runs.fields.reference; tests/runs/test_fields.py says how to make it again. -->"
    yield ""
    yield "A run file names the sources and sinks of a network. `drover run FILE` runs it, and"
    yield "`drover check FILE` lists all its faults. It is YAML, like a network file. Paths are relative to its folder."
    yield ""
    yield "| section | meaning |"
    yield "|---|---|"
    yield from (f"| `{name}` | {meaning} |" for name, meaning in SECTIONS.items())
    tables: dict[str, Any] = {"Settings, at the top": SETTINGS, "A source": SOURCE, "A sink": SINK}
    tables |= {"A cluster": CLUSTERS, "A node in the `tree` of a cluster": NODE, "The `marks` of a cluster": MARKS}
    for title, fields in tables.items():
        yield from table_lines(title, fields)
    yield ""
