"""A kind of operator is complete: every layer has its row, and nothing else in the tree lists kinds.

`missing` names what a kind lacks, so that the person who adds one learns what is left to do.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import polars as pl
import pytest
from numpy.random import default_rng

from drover.flow.operators import RUNNERS, CompileContext, make_runner
from drover.flow.tables import addresses
from drover.load.profile import make_profile
from drover.network.drawing import svg, tree
from drover.network.files import codecs
from drover.network.files.network_file import dumps, loads
from drover.network.operators import OPERATORS, Operator, OperatorKind
from drover.network.rewrite import expressions_of, input_field, table_field, with_expressions, with_inputs
from drover.network.samples import sample_network
from drover.placement.plan import Plan, units_of
from drover.spark.oracle import ORACLES
from drover_lab.generate import rows
from tests.flow.harness import Harness
from tests.strategies.networks import STEPS

ROOT: Final = Path(__file__).parents[1]
SOURCE: Final = ROOT / "src" / "drover"
SQL_FIELDS: Final = (codecs.PREDICATE, codecs.SQL, codecs.SELECT, codecs.COMPUTE, codecs.CASES)
SAMPLES: Final = [pytest.param(one, id=f"{one.kind} {one.name}") for kind in OPERATORS.values() for one in kind.samples]


def missing(kind: OperatorKind[Any]) -> Iterator[str]:
    """Yield what a kind lacks, in words; none means complete."""
    if not kind.samples:
        yield "samples in its record"
        return
    if not kind.summary(kind.samples[0]).strip():
        yield "a summary in its record"
    listed = set(kind.expressions)
    yield from (
        f"{field.name!r} among the expressions in its record"
        for field in kind.fields
        if field.codec in SQL_FIELDS and not listed.issuperset(field.targets)
    )
    if not any(field.reads for field in kind.fields):
        yield "a field that names its input streams (reads=True)"
    if kind.samples[0].table is not None and not any(field.table for field in kind.fields):
        yield "a field that names its table (table=True)"
    if kind.name not in RUNNERS:
        yield "a runner in drover.flow.operators.RUNNERS"
    if kind.name not in ORACLES:
        yield "an oracle in drover.spark.oracle.ORACLES"
    if kind.name not in STEPS:
        yield "a row in STEPS of tests/strategies/networks.py"
    for folder in ("network/operators", "flow/operators", "spark/oracle"):
        if not (SOURCE / folder / f"{kind.name}.py").exists():
            yield f"the module src/drover/{folder}/{kind.name}.py"


@pytest.mark.parametrize("name", OPERATORS)
def test_a_kind_is_complete(name: str) -> None:
    assert [f"{name} lacks {what}" for what in missing(OPERATORS[name])] == []


@pytest.mark.parametrize("table", [RUNNERS, ORACLES, STEPS], ids=["runners", "oracles", "strategies"])
def test_no_table_has_a_kind_that_does_not_exist(table: dict[str, object]) -> None:
    assert set(table) - {"join instance"} <= set(OPERATORS)  # instances of spread joins are made by plans


@pytest.mark.parametrize("operator", SAMPLES)
def test_a_sample_is_written_read_drawn_and_summarised(operator: Operator) -> None:
    network = sample_network(operator)
    assert loads(dumps(network)) == network
    assert operator.name in svg(network)
    assert operator.name in [line.name for line in tree(network)]


@pytest.mark.parametrize("operator", SAMPLES)
def test_a_sample_has_a_load(operator: Operator) -> None:
    profile = make_profile(sample_network(operator), [])
    assert set(profile.loads()) == {operator.name}
    assert set(operator.outputs) <= set(profile.stream_rates())


@pytest.mark.parametrize("operator", SAMPLES)
def test_a_sample_compiles_and_runs(operator: Operator, tmp_path: Path) -> None:
    network = sample_network(operator)
    if operator.table is not None:  # tests/flow/tables run these; they need a database
        context = CompileContext(network, lambda _: None, frozenset(), addresses(network, {}, str(tmp_path)))
        assert callable(make_runner(operator, context).run)
        return
    harness = Harness(network)
    plan = Plan(1, 1, dict.fromkeys(units_of(network), 0))
    batches: list[dict[str, pl.DataFrame]] = [dict(rows(network, 100, default_rng(0))), {}]
    for batch in batches:
        harness.run(batch, plan)
    assert harness.failures == []
    assert sum(harness.output(stream).height for stream in operator.outputs) > 0


@pytest.mark.parametrize("operator", SAMPLES)
def test_inputs_and_expressions_are_found_by_the_record(operator: Operator) -> None:
    others = [f"other{index}" for index in range(len(operator.inputs))]
    moved = with_inputs(operator, others)
    assert list(moved.inputs) == others
    assert with_inputs(moved, operator.inputs) == operator
    names = [str(input_field(operator, index)[0]) for index in range(len(others))]
    fields = {field.name for field in OPERATORS[operator.kind].fields}
    assert fields.issuperset(names)
    assert operator.table is None or table_field(operator) in fields
    texts = [text for _, text in expressions_of(operator)]
    marked = with_expressions(operator, lambda text: f"({text})")
    assert [text for _, text in expressions_of(marked)] == [f"({text})" for text in texts]


# Modules that name several kinds on purpose, and why.
NAMES_KINDS: Final = {
    "network/operators/__init__.py": "the table itself",
    "network/build.py": "the builder has a method per kind; `Builder.add` takes any",
}


def kinds_named(file: Path) -> set[str]:
    """Return the classes of kinds that a module imports."""
    classes = {kind.model.__name__ for kind in OPERATORS.values()}
    imports = (node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.ImportFrom))
    names = {alias.name for node in imports if str(node.module).startswith("drover.network") for alias in node.names}
    return names & classes


def test_no_other_module_lists_kinds() -> None:
    lists = {
        file.relative_to(SOURCE).as_posix(): sorted(found)
        for file in sorted(SOURCE.rglob("*.py"))
        if len(found := kinds_named(file)) > 1
    }
    allowed = [name for name in lists if any(name.startswith(prefix) for prefix in NAMES_KINDS)]
    assert {name: found for name, found in lists.items() if name not in allowed} == {}


def test_double_is_the_function_of_the_sample() -> None:
    from drover.network.samples import double  # noqa: PLC0415 - found by its path everywhere else

    assert double(pl.DataFrame({"amount": [1, 2]}))["amount"].to_list() == [2, 4]


def test_a_kind_without_its_rows_is_named_with_all_that_it_lacks() -> None:
    class Nowhere(OPERATORS["filter"].model):  # type: ignore[misc]  # a class that is only known at run time
        kind = "nowhere"

    lone = replace(OPERATORS["filter"], model=Nowhere, expressions=())
    assert list(missing(lone)) == [
        "'where' among the expressions in its record",
        "a runner in drover.flow.operators.RUNNERS",
        "an oracle in drover.spark.oracle.ORACLES",
        "a row in STEPS of tests/strategies/networks.py",
        "the module src/drover/network/operators/nowhere.py",
        "the module src/drover/flow/operators/nowhere.py",
        "the module src/drover/spark/oracle/nowhere.py",
    ]
    assert list(missing(replace(lone, samples=()))) == ["samples in its record"]
