"""Every kind of file in a checkpoint, damaged in every way: a restart is exact, or its error names the file.

The kinds are found by walking over the checkpoint, so a new kind is tested as soon as a run writes it. Two tiers: what
an open notices needs no Spark. Damage that it lets pass must not matter, and runs on Spark prove it. Such cases run
together, since none may matter; if the results are wrong, halves of them run until the culprit is found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from drover.control.settings import control_of
from drover.errors import DroverError
from drover.flow.instances import explicit
from drover.flow.recall import load_state
from drover.flow.tables import addresses
from drover.placement.plan import round_robin
from drover.spark import endpoint_file
from drover.spark.controller import Controller
from drover.spark.driver import Driver
from drover.spark.planner import Planner
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.service import QueryService
from tests.spark import damage
from tests.spark import old_checkpoint as old
from tests.spark.damage import DIED, PAST, STOPPED, DamagedFile

READING: Any = SimpleNamespace(layout=None, frame=SimpleNamespace(schema=None))  # Any: UnifiedSources
STATES = (STOPPED, DIED)
KINDS = {  # of which there must be at least these; what is found besides is tested as well
    "commits/N.full.json",
    "commits/N.json",
    "control/history/N.json",
    "control/periods/N.json",
    "control/state.json",
    "families/H-H.arrow",
    "lock",
    "network.yaml",
    "plans/N.json",
    "queries/accepted.json",
    "queries/figures.arrow",
    "queries/full-N.arrow",
    "queries/turn-N.arrow",
    "queries/wish-N.arrow",
    "spark/commits/N",
    "spark/metadata",
    "spark/offsets/N",
    "spark/sources/N/N",
    "spark/sources/N/N.compact",
    "state/N-N-N-H.arrow",
    "tables.db",
    "witness.json",
}
# SQLite has no checksums, and a run that dies cannot say what the file is like. Whether it is there and of the right
# time is up to `drover.flow.tables`.
UNSEEN = {(DIED, "tables.db")}


@pytest.fixture(scope="module")
def base(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with both checkpoints, and with rows for one more file."""
    folder = tmp_path_factory.mktemp("damage").resolve()
    damage.make_checkpoints(spark, folder)
    old.write_rows(folder / "run", [damage.LAST_FILE])
    return folder


@pytest.fixture(scope="module")
def passed(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[DamagedFile]]:
    """The cases, by checkpoint, that an open lets pass; each of the others has an error that names the file."""
    found: dict[str, list[DamagedFile]] = {}
    faults = []
    for state in STATES:
        kinds = damage.kinds_in(base / state / "checkpoint")
        for number, case in enumerate(damage.damages_of(kinds)):
            if (state, damage.kind_of(case.name)) in UNSEEN:
                continue
            copy = damage.linked_copy(base / state, tmp_path_factory.mktemp("copy") / str(number))
            case.do(copy / "checkpoint", base / PAST / "checkpoint")
            error = error_of_open(copy / "checkpoint")
            if error is None:
                found.setdefault(state, []).append(case)
            elif not names(error, case):
                faults.append(f"{state}: {case}: {error!r}")
    assert faults == []
    return found


def names(error: Exception, case: DamagedFile) -> bool:
    return isinstance(error, DroverError) and f"checkpoint/{case.name}" in str(error)


def error_of_open(checkpoint: Path) -> Exception | None:
    """Open a checkpoint as a run does, and read what its workers would; return the error, if there is one."""
    network = old.whole_network()
    planner = Planner(str(checkpoint), explicit(round_robin(network, old.NODES), network))
    queries = QueryService(network, QueryCatalog(network, str(checkpoint), {}))
    driver = Driver(network, READING, {}, str(checkpoint), planner, queries)
    driver.tables = addresses(network, {}, str(checkpoint))
    try:
        driver.open()
        Controller(network, planner, control_of(None)).recover()
        endpoint_file.working(str(checkpoint))
        for unit, saved in driver.checkpoint.version.units.items():
            load_state(str(checkpoint), unit, saved)
        driver.close()
    except Exception as error:  # noqa: BLE001 - the test is about which errors come
        driver.close()
        return error
    return None


def test_the_run_writes_files_of_every_kind(base: Path) -> None:
    found = {kind for state in STATES for kind in damage.kinds_in(base / state / "checkpoint")}
    assert found >= KINDS


def test_a_damaged_file_is_named_or_does_not_matter_to_an_open(passed: dict[str, list[DamagedFile]]) -> None:
    assert set(passed) == set(STATES)


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_what_an_open_lets_pass_does_not_change_results(
    spark: SparkSession, base: Path, passed: dict[str, list[DamagedFile]], tmp_path: Path, state: str
) -> None:
    runs = iter(tmp_path / str(number) for number in range(1000))
    expected = finish(spark, base, state, [], next(runs))
    assert isinstance(expected, dict)
    for kind in damage.DAMAGES:
        cases = [case for case in passed[state] if case.damage == kind]
        assert list(culprits(spark, base, state, cases, expected, runs)) == []


def culprits(
    spark: SparkSession,
    base: Path,
    state: str,
    cases: Sequence[DamagedFile],
    expected: dict[str, list[str]],
    runs: Iterator[Path],
) -> Iterator[str]:
    """Yield the cases with other results than expected, and with an error that does not name the file."""
    found = finish(spark, base, state, cases, next(runs))
    if found == expected:
        return
    if len(cases) > 1:
        for half in (cases[: len(cases) // 2], cases[len(cases) // 2 :]):
            yield from culprits(spark, base, state, half, expected, runs)
    elif isinstance(found, dict):
        yield f"{cases[0]}: other rows in {[name for name in expected if expected[name] != found.get(name)]}"
    elif not names(found, cases[0]):
        yield f"{cases[0]}: {found!r}"


def finish(
    spark: SparkSession, base: Path, state: str, cases: Sequence[DamagedFile], folder: Path
) -> dict[str, list[str]] | DroverError:
    """Run a damaged copy to the end, and return its rows, or its error."""
    damage.linked_copy(base / state, folder)
    for case in cases:
        case.do(folder / "checkpoint", base / PAST / "checkpoint")
    try:
        handle = damage.start(spark, folder, base / "run" / "in")
        try:
            assert handle.awaitTermination(120)
        finally:
            handle.stop()
    except DroverError as error:
        return error
    return damage.results(folder)
