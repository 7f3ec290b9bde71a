"""Runs cases and reports what went wrong: any error that is not drover's own, and any case that takes too much.

Rule 1: a case may take MOST_SECONDS of the processor, and all of them together MOST_BYTES of memory.
Rule 2: memory is looked at after every chunk of cases; only a chunk that took too much is run again, case by case.
"""

from __future__ import annotations

import logging
import random
import resource
import signal
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from drover.errors import DroverError
from tests.fuzz.expressions import EXPRESSIONS
from tests.fuzz.frames import FRAMES
from tests.fuzz.networks import NETWORKS
from tests.fuzz.queries import QUERIES
from tests.fuzz.requests import REQUEST_TARGET
from tests.fuzz.runs import RUNS
from tests.fuzz.statistics import STATISTICS
from tests.fuzz.target import Feed, Target
from tests.fuzz.trees import TREES

TARGETS: Final = {
    target.name: target for target in (EXPRESSIONS, NETWORKS, RUNS, QUERIES, STATISTICS, TREES, REQUEST_TARGET, FRAMES)
}
MOST_SECONDS: Final = 5.0  # of one case, of the processor: a busy machine is not a finding
MOST_WAITING: Final = 60.0  # seconds of one case on the clock, for one that waits for ever
MOST_BYTES: Final = 500 * 2**20  # over the memory at the start of a target
TOO_LONG: Final = f"more than {MOST_SECONDS:g} s of the processor, or {MOST_WAITING:g} s on the clock"
CHUNK: Final = 500  # cases between two looks at the memory
MOST_FINDINGS: Final = 20  # of one target; then it stops
SHOWN: Final = 2_000  # characters of an input
STATUS: Final = Path("/proc/self/status")
Progress = Callable[["Tally"], None]


class TookTooLongError(BaseException):
    """A case has reached a time limit. Not an Exception, so that nothing in drover can catch it."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A case that went wrong, with what is needed to repeat it."""

    target: str
    seed: int
    index: int
    what: str
    text: str

    def __str__(self) -> str:
        again = f"python -m tests.fuzz --target {self.target} --seed {self.seed} --index {self.index}"
        shown = self.text if len(self.text) <= SHOWN else f"{self.text[:SHOWN]}... ({len(self.text)} characters)"
        return f"{self.what}\n  again: {again}\n  input: {shown!r}"


@dataclass(slots=True)
class Tally:
    """What was done with one target so far."""

    target: str
    cases: int = 0
    accepted: int = 0
    refused: int = 0
    slowest: float = 0.0  # seconds of the processor, of one case
    slowest_index: int = 0
    seconds: float = 0.0  # of the processor, draws included
    peak: int = 0  # bytes over the start
    findings: list[Finding] = field(default_factory=list)


def draw(target: Target, seed: int, index: int) -> str:
    """Return the input of a case."""
    return target.draw(random.Random(f"{seed}:{target.name}:{index}"))


def shares(cases: int, targets: list[Target]) -> dict[str, int]:
    """Return the number of cases of each target; together they are at least `cases`."""
    whole = sum(target.share for target in targets)
    return {target.name: -(-cases * target.share // whole) for target in targets}


def fuzz(target: Target, seed: int, indices: range, progress: Progress = lambda _: None) -> Tally:
    """Run the cases of one target."""
    tally = Tally(target.name)
    with tempfile.TemporaryDirectory() as folder, _quiet(), target.open(Path(folder)) as feed:
        start = resident_bytes()
        reset_peak()
        for first in range(indices.start, indices.stop, CHUNK):
            chunk = range(first, min(first + CHUNK, indices.stop))
            for index in chunk:
                _run_case(target, feed, seed, index, tally)
            over = peak_bytes() - start
            tally.peak = max(tally.peak, over)
            progress(tally)
            if over > MOST_BYTES:
                tally.findings.append(_heaviest(target, feed, seed, chunk, over))
                break
            if len(tally.findings) >= MOST_FINDINGS:
                break
    return tally


def _run_case(target: Target, feed: Feed, seed: int, index: int, tally: Tally) -> None:
    drawn_at = time.process_time()
    text = draw(target, seed, index)
    began = time.process_time()
    accepted, what = _outcome(feed, text)
    if what == TOO_LONG:
        # A process that was stopped for a while has waited, too. Only a case that takes too long twice is a finding.
        began = time.process_time()
        accepted, what = _outcome(feed, text)
    ended = time.process_time()
    took = ended - began
    tally.cases += 1
    tally.accepted += accepted
    tally.refused += not (accepted or what)
    tally.seconds += ended - drawn_at
    if took > tally.slowest:
        tally.slowest = took
        tally.slowest_index = index
    if what:
        tally.findings.append(Finding(target.name, seed, index, what, text))


def _outcome(feed: Feed, text: str) -> tuple[bool, str]:
    """Return whether an input was accepted, and what went wrong: an empty text, if it was refused in words."""
    try:
        with _time_limit():
            return feed(text), ""
    except DroverError as error:
        return False, "" if str(error).strip() else "an error without words"
    except TookTooLongError:
        return False, TOO_LONG
    except Exception as error:  # noqa: BLE001 - this is what we look for
        return False, _described(error)


def _described(error: Exception) -> str:
    """Return an error with the place where it was raised."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        place = f"{Path(code.co_filename).name}:{trace.tb_lineno} in {code.co_name}"
        trace = trace.tb_next
    return f"{type(error).__name__}: {error} ({place})"


def _heaviest(target: Target, feed: Feed, seed: int, chunk: range, over: int) -> Finding:
    """Run a chunk again and return the case that takes the most memory; the chunk, if no single one takes too much."""
    worst = (0, chunk.start)
    for index in chunk:
        text = draw(target, seed, index)
        before = resident_bytes()
        reset_peak()
        with suppress(Exception):
            feed(text)
        worst = max(worst, (peak_bytes() - before, index))
    grown, index = worst
    what = f"{grown >> 20} MB" if grown > MOST_BYTES else f"{over >> 20} MB after all cases up to {chunk.stop - 1}"
    return Finding(target.name, seed, index, what, draw(target, seed, index))


@contextmanager
def _time_limit() -> Iterator[None]:
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    signal.setitimer(signal.ITIMER_REAL, MOST_WAITING)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def _on_alarm(_number: int, _frame: FrameType | None) -> None:
    raise TookTooLongError


@contextmanager
def _quiet() -> Iterator[None]:
    """Turn warnings into errors, silence the log, limit memory, and take the alarms; put all back at the end."""
    before = {each: signal.signal(each, _on_alarm) for each in (signal.SIGALRM, signal.SIGPROF)}
    level = logging.root.manager.disable
    limits = resource.getrlimit(resource.RLIMIT_AS)
    logging.disable(logging.CRITICAL)
    # A case that asks for far too much fails with a MemoryError, rather than taking the machine with it.
    resource.setrlimit(resource.RLIMIT_AS, (_status("VmSize") + 4 * MOST_BYTES, limits[1]))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
        logging.disable(level)
        for each, handler in before.items():
            signal.signal(each, handler)


def _status(name: str) -> int:
    """Return a line of the status of this process, in bytes."""
    for line in STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise LookupError(name)


def resident_bytes() -> int:
    """Return the memory of this process now."""
    return _status("VmRSS")


def peak_bytes() -> int:
    """Return the most memory of this process since `reset_peak`."""
    return _status("VmHWM")


def reset_peak() -> None:
    """Forget the most memory so far; where the kernel does not allow that, the peak is that of the whole process."""
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
