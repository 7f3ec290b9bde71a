"""The command: `python -m tests.fuzz --cases N [--target NAME] [--seed S] [--index I] [--json]`."""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
from dataclasses import asdict
from typing import Final

from tests.fuzz.run import TARGETS, Progress, Tally, fuzz, shares

# Seconds; a case that hangs where no signal reaches it ends the process with all stacks. So long, because the clock
# goes on while a process is stopped.
STUCK: Final = 4 * 3600.0


def main(words: list[str] | None = None, progress: Progress = lambda _: None) -> int:
    """Run, print a line per target, and return 1 if there is a finding."""
    options = _options().parse_args(words)
    chosen = [TARGETS[name] for name in options.target or TARGETS]
    counts = shares(options.cases, chosen)
    tallies = []
    for target in chosen:
        indices = range(counts[target.name]) if options.index is None else range(options.index, options.index + 1)
        tallies.append(fuzz(target, options.seed, indices, progress))
        if not options.json:
            _say(_row(tallies[-1]))
    findings = [finding for tally in tallies for finding in tally.findings]
    if options.json:
        _say(json.dumps({"seed": options.seed, "targets": [asdict(tally) for tally in tallies]}, indent=2))
    else:
        _say(_sum(tallies))
        for finding in findings:
            _say(f"\n{finding}")
    return 1 if findings else 0


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Feed damaged inputs to drover.")
    parser.add_argument("--cases", type=int, default=20_000, help="of all targets together")
    parser.add_argument("--target", action="append", choices=tuple(TARGETS), help="only this one; may be repeated")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--index", type=int, help="only this case of each target")
    parser.add_argument("--json", action="store_true", help="print one JSON object, for programs")
    return parser


def _watch(tally: Tally) -> None:
    """Show how far a target is, and wait for the next chunk at most so long."""
    faulthandler.dump_traceback_later(STUCK, exit=True)
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{tally.target}: {tally.cases:,} cases ")


def _row(tally: Tally) -> str:
    rate = tally.cases / tally.seconds if tally.seconds else 0.0
    return (
        f"{tally.target:12} {tally.cases:9,} cases  {tally.accepted:9,} accepted  {tally.refused:9,} refused  "
        f"{len(tally.findings):3} found  slowest {tally.slowest:6.3f} s (#{tally.slowest_index})  "
        f"{tally.peak >> 20:4} MB  {tally.seconds:7.1f} s  {rate:6,.0f} cases/s"
    )


def _sum(tallies: list[Tally]) -> str:
    whole = Tally("all")
    for tally in tallies:
        whole.cases += tally.cases
        whole.accepted += tally.accepted
        whole.refused += tally.refused
        whole.seconds += tally.seconds
        whole.findings += tally.findings
        if tally.slowest > whole.slowest:
            whole.slowest = tally.slowest
            whole.slowest_index = tally.slowest_index
        whole.peak = max(whole.peak, tally.peak)
    return _row(whole)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    raise SystemExit(main(progress=_watch))
