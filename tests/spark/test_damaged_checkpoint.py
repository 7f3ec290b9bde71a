"""Every kind of file in a checkpoint, damaged in every way: a restart is exact, or its error names the file.

The kinds are found by walking over the checkpoint, so a new kind is tested as soon as a run writes it. Two tiers: what
an open notices needs no Spark. Damage that it lets pass must not matter, and runs on Spark prove it. Such cases run
together, since none may matter; if the results are wrong, halves of them run until the culprit is found.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

import drover
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
from tests.flow.oracle import assert_same_rows, expected_streams
from tests.spark import damage
from tests.spark import old_checkpoint as old
from tests.spark.damage import DIED, PAST, STOPPED, DamagedFile

pytestmark = pytest.mark.slow

READING: Any = SimpleNamespace(layout=None, frame=SimpleNamespace(schema=None))  # Any: UnifiedSources
STATES = (STOPPED, DIED)
KINDS = {  # of which there must be at least these; what is found besides is tested as well
    "commits/N.full.json",
    "commits/N.json",
    "control/endpoint.json",
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


@dataclass(frozen=True)
class BothCheckpoints:
    """The checkpoints, and what runs on copies of them."""

    spark: SparkSession
    folder: Path
    batches: Mapping[str, damage.RowsIn]

    def at(self, state: str) -> Path:
        return self.folder / state / "checkpoint"

    def finish(self, state: str, cases: Sequence[DamagedFile], folder: Path) -> drover.Handle:
        """Run a damaged copy to the end."""
        damage.linked_copy(self.folder / state, folder)
        for case in cases:
            case.do(folder / "checkpoint", self.at(PAST))
        handle = damage.start(self.spark, folder, self.folder / "run" / "in")
        try:
            assert handle.awaitTermination(120)
        finally:
            handle.stop()
        return handle


@pytest.fixture(scope="module")
def base(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> BothCheckpoints:
    """Both checkpoints, and rows for one more file."""
    folder = tmp_path_factory.mktemp("damage").resolve()
    batches = damage.make_checkpoints(spark, folder)
    old.write_rows(folder / "run", range(old.DIED_IN, damage.LAST_FILE + 1))
    return BothCheckpoints(spark, folder, batches)


@pytest.fixture(scope="module")
def passed(base: BothCheckpoints, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[DamagedFile]]:
    """The cases, by checkpoint, that an open lets pass; each of the others has an error that names the file."""
    found: dict[str, list[DamagedFile]] = {}
    faults = []
    for state in STATES:
        kinds = damage.kinds_in(base.at(state))
        for number, case in enumerate(damage.damages_of(kinds)):
            if (state, damage.kind_of(case.name)) in UNSEEN:
                continue
            copy = damage.linked_copy(base.folder / state, tmp_path_factory.mktemp("copy") / str(number))
            case.do(copy / "checkpoint", base.at(PAST))
            error = error_of_open(copy / "checkpoint")
            shutil.rmtree(copy)
            if error is None:
                found.setdefault(state, []).append(case)
            elif not names(error, case):
                faults.append(f"{state}: {case}: {error!r}")
    assert faults == []
    return found


def names(error: Exception, case: DamagedFile) -> bool:
    return isinstance(error, DroverError) and re.search(rf"\b{re.escape(case.name)}(?!\d)", str(error)) is not None


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


def test_the_run_writes_files_of_every_kind(base: BothCheckpoints) -> None:
    found = {kind for state in STATES for kind in damage.kinds_in(base.at(state))}
    assert found >= KINDS


def test_a_damaged_file_is_named_or_does_not_matter_to_an_open(passed: dict[str, list[DamagedFile]]) -> None:
    assert set(passed) == set(STATES)


@pytest.mark.parametrize("state", STATES)
def test_what_an_open_lets_pass_does_not_change_results(
    base: BothCheckpoints, passed: dict[str, list[DamagedFile]], tmp_path: Path, state: str
) -> None:
    handle = base.finish(state, [], tmp_path / "whole")
    batches = damage.files_of({**base.batches[state], **damage.rows_in(handle)})
    for stream, rows in expected_streams(base.spark, old.checked_network(), batches).items():
        assert_same_rows(old.read_files(tmp_path / "whole" / "out" / stream), rows)
    expected = damage.results(tmp_path / "whole")
    runs = iter(tmp_path / str(number) for number in range(1000))
    for kind in damage.DAMAGES:
        cases = [case for case in passed[state] if case.damage == kind]
        assert list(culprits(base, state, cases, expected, runs)) == []


def culprits(
    base: BothCheckpoints,
    state: str,
    cases: Sequence[DamagedFile],
    expected: dict[str, list[str]],
    runs: Iterator[Path],
) -> Iterator[str]:
    """Yield the cases with other results than expected, or with an error that does not name the file."""
    folder = next(runs)
    error: DroverError | None = None
    found: dict[str, list[str]] = {}
    try:
        base.finish(state, cases, folder)
        found = damage.results(folder)
    except DroverError as caught:
        error = caught
    if found == expected:
        return
    if len(cases) > 1:
        for half in (cases[: len(cases) // 2], cases[len(cases) // 2 :]):
            yield from culprits(base, state, half, expected, runs)
    elif error is None:
        yield f"{cases[0]}: other rows in {[name for name in expected if expected[name] != found.get(name)]}"
    elif not names(error, cases[0]):
        yield f"{cases[0]}: {error!r}"
