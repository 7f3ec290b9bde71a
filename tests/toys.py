"""The toys of tests/test_contributing.py: what a stranger would write into each file, and a script that uses it."""

from __future__ import annotations

from typing import Final

CAP_KIND: Final = '''"""Cap: a whole number that is not above a bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final

from drover.network.files import codecs
from drover.network.files.field import INPUT, Field
from drover.network.operators.base import Derived, Operator, Table, missing_column
from drover.network.operators.kind import OperatorKind
from drover.network.schema import Schema


@dataclass(frozen=True, slots=True, kw_only=True)
class Cap(Operator):
    """Replaces values of `column` above `most` by it."""

    kind: ClassVar[str] = "cap"

    input: str
    column: str
    most: int

    @property
    def inputs(self) -> tuple[str, ...]:
        return (self.input,)

    def derive(self, inputs: tuple[Schema, ...], tables: Mapping[str, Table]) -> Derived:
        known = self.column in inputs[0].types
        return Derived(inputs, () if known else (missing_column(self.column, inputs[0], ("column",)),))


CAP: Final = OperatorKind(
    model=Cap,
    fields=(
        INPUT,
        Field("column", codecs.COLUMN, "the column to cap"),
        Field("most", codecs.SEED, "the bound"),
    ),
    summary=lambda operator: f"{operator.column} at most {operator.most}",
    samples=(Cap(name="capped", input="events", column="amount", most=3),),
)
'''
CAP_RUNNER: Final = '''"""Cap on Polars."""

import polars as pl

from drover.flow.operators.base import CompileContext, Frames, UnitState, Watermarks
from drover.network.operators.cap import Cap


class RunCap:
    def __init__(self, operator: Cap, context: CompileContext) -> None:
        self.operator = operator

    def run(self, inputs: Frames, state: UnitState, clock: Watermarks) -> dict[str, pl.DataFrame]:
        capped = pl.col(self.operator.column).clip(upper_bound=self.operator.most)
        return {self.operator.name: inputs[self.operator.input].with_columns(capped)}
'''
CAP_ORACLE: Final = '''"""What a cap means, in plain Spark."""

from pyspark.sql import DataFrame

from drover.network.operators.cap import Cap
from drover.spark.oracle.scope import Scope


def oracle_cap(operator: Cap, scope: Scope) -> dict[str, DataFrame]:
    rows = scope.streams[operator.input]
    capped = f"CASE WHEN `{operator.column}` > {operator.most} THEN {operator.most}L ELSE `{operator.column}` END"
    chosen = [f"{capped} AS `{name}`" if name == operator.column else f"`{name}`" for name in rows.columns]
    return {operator.name: rows.selectExpr(*chosen)}
'''
CAP_STEP: Final = """    "cap": (
        lambda sketch, name: Cap(name=name, input=sketch.timed[0], column=sketch.columns(
            sketch.streams[sketch.timed[0]], least=1)[0], most=3),
        lambda sketch: sketch.timed,
    ),
"""
CAP_SCRIPT: Final = """
from pathlib import Path
import polars as pl
from drover import cli
from drover.network.files.network_file import dump
from drover.network.operators import OPERATORS
from drover.network.samples import sample_network
from tests import test_kinds

kind = OPERATORS["cap"]
assert list(test_kinds.missing(kind)) == [], list(test_kinds.missing(kind))
(sample,) = kind.samples
test_kinds.test_a_sample_is_written_read_drawn_and_summarised(sample)
test_kinds.test_a_sample_has_a_load(sample)
test_kinds.test_a_sample_compiles_and_runs(sample, Path("."))
test_kinds.test_inputs_and_expressions_are_found_by_the_record(sample)

harness = test_kinds.Harness(sample_network(sample))
rows = pl.DataFrame({"ts": [0, 1], "key": ["a", "b"], "amount": [2, 9]}).with_columns(
    pl.col("ts").cast(pl.Datetime("us", "UTC")))
harness.run({"events": rows}, test_kinds.Plan(1, 1, {"capped": 0}))
assert harness.output("capped")["amount"].to_list() == [2, 3]

dump(sample_network(sample), "network.yaml")
assert "kind: cap" in Path("network.yaml").read_text()
assert cli.main(["check", "network.yaml"]) == 0
assert cli.main(["show", "network.yaml"]) == 0
print("works")
"""
CAP_ON_SPARK: Final = """
from numpy.random import default_rng
from pyspark.sql import SparkSession
from drover.network.operators import OPERATORS
from drover.network.samples import sample_network
from drover_lab.generate import rows
from drover.placement.plan import Plan
from tests.flow.harness import Harness
from tests.flow.oracle import assert_same_rows, expected_streams

spark = SparkSession.builder.master("local[1]").config("spark.sql.session.timeZone", "UTC").config(
    "spark.ui.enabled", "false").getOrCreate()
network = sample_network(OPERATORS["cap"].samples[0])
batch = rows(network, 50, default_rng(0))
harness = Harness(network)
harness.run(batch, Plan(1, 1, {"capped": 0}))
expected = expected_streams(spark, network, {0: batch})
assert_same_rows(harness.output("capped"), expected["capped"])
spark.stop()
print("works")
"""

POLICY: Final = '''"""All units on the last node."""

import numpy as np
from numpy.random import Generator

from drover.load.arrays import Ints
from drover.placement.problem import PlacementProblem


def place_last(problem: PlacementProblem, _rng: Generator) -> Ints:
    return np.full(problem.m, problem.n - 1)
'''
POLICY_SCRIPT: Final = """
import contextlib, io, json
from drover import cli
from drover.network.files.network_file import dump
from drover.network.operators import OPERATORS
from drover.network.samples import sample_network

def printed(*arguments):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert cli.main(arguments) == 0
    return out.getvalue()

dump(sample_network(OPERATORS["filter"].samples[0]), "network.yaml")
assert "last-node" in printed("plan", "--policies")
plan = json.loads(printed("plan", "network.yaml", "--policy", "last-node", "--nodes", "3", "--json"))
assert plan["policy"] == "last-node"
assert set(plan["node_of"]) == {"large"}
print("works")
"""

SINK: Final = '''

@dataclass(frozen=True, slots=True)
class Count:
    """Writes the number of rows of each batch, for a toy."""

    folder: str

    def write(self, rows: pl.DataFrame, batch: int, spark: SparkSession) -> None:
        """Write the number."""
        Path(self.folder).mkdir(parents=True, exist_ok=True)
        (Path(self.folder) / str(batch)).write_text(str(rows.height))
'''
SINK_SCRIPT: Final = """
from pathlib import Path
import polars as pl
from drover import runs
from drover.network.files.network_file import dump
from drover.network.operators import OPERATORS
from drover.network.samples import sample_network
from drover.spark.sinks import sink_of

dump(sample_network(OPERATORS["filter"].samples[0]), "network.yaml")
Path("run.yaml").write_text('''
run: 1
network: network.yaml
sources: {events: {read: parquet, path: events}}
sinks: {large: {write: count, path: counts}}
''')
(output,) = runs.load("run.yaml").sinks["large"]
sink_of(output).write(pl.DataFrame({"x": [1, 2, 3]}), 7, None)
assert Path("counts/7").read_text() == "3"
print("works")
"""

SQL_FUNCTION: Final = """    SqlFunction(
        "first_letter",
        (A_STRING,),
        STRING,
        lambda _, a: a[0].str.slice(0, 1),
        lambda _, a: f"SUBSTRING({a[0]}, 1, 1)",
    ),
"""
SQL_SCRIPT: Final = """
import polars as pl
from drover.network.expressions import parse, to_polars, to_spark
from drover.network.expressions.reference import reference
from drover.network.types import STRING

tree = parse("first_letter(name)", {"name": STRING})
assert pl.DataFrame({"name": ["drover", None]}).select(to_polars(tree).alias("x"))["x"].to_list() == ["d", None]
assert to_spark(tree) == "SUBSTRING(`name`, 1, 1)"
assert "first_letter('drover')" in reference()
print("works")
"""

COMMAND: Final = '''"""`drover hello`: a toy."""

import click


@click.command()
def hello() -> None:
    """Say hello."""
    click.echo("hello")
'''
COMMAND_SCRIPT: Final = """
import contextlib, io
from drover import cli

out = io.StringIO()
with contextlib.redirect_stdout(out):
    assert cli.main(["--help"]) == 0
    assert cli.main(["hello"]) == 0
assert "Say hello." in out.getvalue()
assert out.getvalue().endswith("hello\\n")
print("works")
"""

METRIC_FIELD: Final = "    largest: int = 0  # rows of the largest output\n"
METRIC_VALUE: Final = "        max((rows.height for rows in result.rows.values()), default=0),\n"
METRIC_KEY: Final = '        "largest": facts.largest,\n'
METRIC_SCRIPT: Final = """
import json
import polars as pl
from drover.placement.plan import Plan
from drover.spark.batch import BatchResult
from drover.spark.commit_notes import CommitNotes
from drover.spark.facts import BatchSeconds, facts_of
from drover.spark.progress import describe

rows = {"a": pl.DataFrame({"x": [1]}), "b": pl.DataFrame({"x": [1, 2]})}
result = BatchResult(rows, {}, {}, (), (), frozenset())
facts = facts_of(3, Plan(1, 1, {}), result, CommitNotes(), BatchSeconds(0, 0, 0), None)
assert json.loads(json.dumps(describe(facts)))["largest"] == 2
print("works")
"""
