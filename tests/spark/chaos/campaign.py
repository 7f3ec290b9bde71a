"""A run under fire: it is struck again and again, each time after a commit, and started again when it has ended.

Rule 1: nothing is cleaned up after a strike. What the dead leave behind, such as a Java process that is still running a
batch, is there when the next run starts.
Rule 2: a strike counts only if the process was stopped or died of it.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NamedTuple

import polars as pl

from drover.control.engine_choice import DEFAULT_ENGINE
from drover.errors import DroverError
from drover.flow.state.commits import Checkpoint
from drover.spark.caller import ask
from drover.spark.offsets import spark_batch
from drover.spark.spark_logs import SPARK
from drover.wording import count
from tests.spark.chaos.outputs import Difference, OutputReader, difference_at_end, difference_so_far
from tests.spark.chaos.plain import Files
from tests.spark.chaos.processes import RunProcess, ignores, kill_all, process_of, processes_of, send
from tests.spark.chaos.run_under_fire import RunUnderFire, prepare
from tests.spark.chaos.strikes import Strike, Way
from tests.spark.runs import chaos_network, ordered_batches, write_files

PATIENCE: Final = 180.0  # seconds for anything that has to come
ROWS: Final = 6  # of each source in a file
AHEAD: Final = 8  # files that wait to be read, so that a batch follows another
MOST_FILES: Final = 20_000
POLL: Final = 0.1  # seconds
UNITS: Final = ("both", "some", "windows", "pairs", "seen")
NODES: Final = 3
SOURCES: Final = ("a", "b")  # in the order of the network, and so of Spark's offsets
CLOSED: Final = "is lost or drained"  # what a run says of a node that takes no units
NOTHING: Final = Difference()


class Place(NamedTuple):
    """How far a run has come: drover's last batch, the last of Spark's in it, and the files that every source has."""

    batch: int
    spark_batch: int
    files: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a strike did."""

    master: str
    strike: Strike
    commits: int  # since the last start or strike
    hit: bool  # the process was stopped, or died
    restarted: bool  # the run had to be started again
    difference: Difference  # since the last strike
    seconds: float  # from the first signal to the next commit

    def __str__(self) -> str:
        went_on = "ignored" if not self.hit else "after a restart" if self.restarted else "by itself"
        return (
            f"{self.master}: {self.strike} ({count(self.commits, 'commit')} before): {went_on}, next commit after "
            f"{self.seconds:.1f} s; {self.difference.lost} lost, {self.difference.doubled} doubled"
        )


def files_of(folder: Path, batch: int) -> dict[str, int]:
    """Return how many files of each source Spark has read up to one of its batches.

    A batch has one file of each source. But a run that ends while it looks for files may have noted one for a source
    and not yet for the other. Then the next batch has two files of the first.
    """
    path = folder / "checkpoint" / SPARK / "offsets" / str(batch)
    if batch < 0:
        return dict.fromkeys(SOURCES, 0)
    _version, _metadata, *offsets = path.read_text(encoding="utf-8").splitlines()
    return {source: json.loads(line)["logOffset"] + 1 for source, line in zip(SOURCES, offsets, strict=True)}


def read_by(folder: Path, batch: int, batches: Sequence[Mapping[str, pl.DataFrame]]) -> Files:
    """Return the files that Spark has read up to one of its batches."""
    read = files_of(folder, batch)
    return [
        {source: rows for source, rows in each.items() if number < read[source]}
        for number, each in enumerate(batches[: max(read.values())])
    ]


@dataclass(slots=True)
class Campaign:
    """One checkpoint and the runs on it, one after another."""

    folder: Path
    seed: int
    engine: str = str(DEFAULT_ENGINE)
    batches: list[Mapping[str, pl.DataFrame]] = field(init=False)
    runs: list[RunUnderFire] = field(default_factory=list)
    fed: int = 0  # files of each source
    since: int = -1  # the last batch at the last start or strike
    difference: Difference = NOTHING
    reader: OutputReader = field(init=False)
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        prepare(self.folder, self.engine)
        self.batches = list(ordered_batches(chaos_network(), MOST_FILES, ROWS, self.seed))
        self.reader = OutputReader(self.folder)
        self.chance = random.Random(self.seed)
        self._feed(AHEAD)

    @property
    def run(self) -> RunUnderFire:
        """The run that is running."""
        return self.runs[-1]

    def start(self, master: str) -> None:
        """Start a run that goes on from the checkpoint."""
        self.runs.append(RunUnderFire(self.folder, master))
        self.since = self.place().batch

    def stop(self) -> None:
        """Stop the run in good order."""
        self.run.process.send_signal(signal.SIGTERM)
        code = self.run.process.wait(PATIENCE)
        assert code == 0, self._words(f"the run was stopped and ended with {code}")

    def strike(self, strike: Strike, master: str) -> Outcome:
        """Wait for a commit, strike, and wait for the next commit, if need be after a restart."""
        self._wait(lambda: self.place().batch > self.since, "a commit after the last start or strike")
        self._move_something()
        time.sleep(strike.delay)
        process = self._wait_for_process(strike)
        before = self.place().batch
        commits = before - self.since
        began = time.monotonic()
        hit = strike.way is not Way.INTERRUPT or not ignores(process.pid, signal.SIGINT)
        send(process.pid, strike.way, strike.pause)
        if hit and strike.way is not Way.PAUSE:
            self._wait(lambda: process_of(process.pid) is None, f"the end of {strike.role}", ending=True)
        self.since = self.place().batch
        restarted = self._go_on(master)
        seconds = time.monotonic() - began
        return Outcome(master, strike, commits, hit, restarted, self._difference(), seconds)

    def end(self) -> Difference:
        """Let the run read all files, stop it, and compare everything that it has written."""
        files = self.batches[: self.fed]
        self._wait(lambda: self.place().files == self.fed, "the last file", feeding=False)
        # The last windows close in a batch without rows, after Spark has found none.
        with contextlib.suppress(AssertionError):
            self._wait(lambda: difference_at_end(self.folder, files) == NOTHING, "the last windows", feeding=False)
        self.stop()
        return difference_at_end(self.folder, files)

    def leftovers(self, patience: float = 10.0) -> list[RunProcess]:
        """Return the processes of all runs that are still there after a while."""
        end = time.monotonic() + patience
        while (left := [one for run in self.runs for one in processes_of(run.process.pid)]) and time.monotonic() < end:
            time.sleep(POLL)
        return left

    def kill(self) -> None:
        """Kill whatever is left."""
        for run in self.runs:
            kill_all(run.process.pid)
            run.process.wait()

    def _go_on(self, master: str) -> bool:
        """Wait for the next commit, and start the run again if it ends; return whether it did."""
        restarted = False
        goal = self.since
        end = time.monotonic() + PATIENCE
        while self.place().batch <= goal:
            if self.run.process.poll() is not None:
                assert not restarted, self._words("the run ended again after a restart")
                self.start(master)
                restarted = True
            assert time.monotonic() < end, self._words(f"no commit after batch {goal}")
            self._feed(self.place().files + AHEAD)
            time.sleep(POLL)
        return restarted

    def _wait(self, condition: Callable[[], bool], what: str, *, feeding: bool = True, ending: bool = False) -> None:
        """Wait until a condition holds, with files for the run to read; the run must go on, unless it is `ending`."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert ending or self.run.process.poll() is None, self._words(f"the run ended before {what}")
            assert time.monotonic() < end, self._words(f"{what} did not come")
            if feeding:
                self._feed(self.place().files + AHEAD)
            time.sleep(POLL)

    def _wait_for_process(self, strike: Strike) -> RunProcess:
        """Return the process to strike; executors and workers may be just starting."""
        self._wait(lambda: bool(self.run.processes(strike.role)), f"a process: {strike.role}")
        found = self.run.processes(strike.role)
        return found[int(strike.draw * len(found))]

    def _move_something(self) -> None:
        """Move a unit with its state from the next batch on, so that strikes hit moves, too."""
        unit = self.chance.choice(UNITS)
        for node in self.chance.sample(range(NODES), NODES):
            try:
                ask(str(self.folder / "checkpoint"), "move", unit=unit, node=node)
            except DroverError as error:
                # While an executor that was struck is missing, the run closes a node. The others take the unit.
                if CLOSED not in str(error):
                    raise
            else:
                return
        raise AssertionError(self._words(f"no node takes {unit}"))

    def _difference(self) -> Difference:
        """Return what is wrong now and was not at the last strike."""
        place = self.place()
        files = read_by(self.folder, place.spark_batch, self.batches)
        earlier = read_by(self.folder, place.spark_batch - 1, self.batches)
        now = difference_so_far(self.reader.read_up_to(place.batch), files, earlier)
        before = self.difference
        self.difference = now
        return Difference(now.lost - before.lost, now.doubled - before.doubled)

    def place(self) -> Place:
        """Return how far the runs have come."""
        reached: Checkpoint = self.run.checkpoint()
        last = spark_batch(reached)
        return Place(reached.batch, last, min(files_of(self.folder, last).values()))

    def _feed(self, count: int) -> None:
        """Put files where the sources look, until each has had so many."""
        for number in range(self.fed, count):
            write_files(self.folder, self.batches[number], number)
        self.fed = max(self.fed, count)

    def _words(self, what: str) -> str:
        """Return an error with the last that the run has said."""
        said = (self.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
        return f"{what}\n{said[-3000:]}"
