"""Simulates histories and reports those that failed: python -m tests.simulation 0-299.

A seed replays exactly: `python -m tests.simulation 17 --story` shows what happened in history 17.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections.abc import Sequence

from tests.simulation.outcome import Outcome, simulate


def seeds_of(text: str) -> Sequence[int]:
    """Return the seeds that a text names.

    >>> list(seeds_of("3-5")), list(seeds_of("7"))
    ([3, 4, 5], [7])
    """
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def describe(outcome: Outcome, *, story: bool) -> str:
    """Return what happened in a history."""
    parts = list(outcome.story) if story else []
    if outcome.failure is not None:
        parts += [f"seed {outcome.seed} failed; again: make simulate-faults SEEDS={outcome.seed}", outcome.failure]
    return "".join(f"{part}\n" for part in parts)


def main() -> int:
    """Play the histories of the given seeds."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation")
    parser.add_argument("seeds", type=seeds_of, help="one seed, or a range such as 0-299")
    parser.add_argument("--story", action="store_true", help="tell what happened")
    parser.add_argument("--json", action="store_true", help="print one object instead of words")
    options = parser.parse_args()
    logging.disable()  # runs that are meant to fail say so at length
    started = time.monotonic()
    outcomes = []
    for seed in options.seeds:
        outcomes.append(simulate(seed))
        if not options.json:
            sys.stdout.write(describe(outcomes[-1], story=options.story))
            sys.stdout.flush()
    seconds = time.monotonic() - started
    failed = [one.seed for one in outcomes if one.failure is not None]
    figures = {
        "seeds": [options.seeds[0], options.seeds[-1]],
        "histories": len(outcomes),
        "seconds": round(seconds, 1),
        "per_second": round(len(outcomes) / seconds, 2),
        "batches": sum(one.batches for one in outcomes),
        "storage_calls": sum(one.calls for one in outcomes),
        "faults": sum(one.faults for one in outcomes),
        "failed": failed,
    }
    words = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in figures.items())
    sys.stdout.write(f"{json.dumps(figures) if options.json else words}\n")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
