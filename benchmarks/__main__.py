"""The benchmarks by name: `python -m benchmarks NAME [--json] [--quick]`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from importlib import import_module

from benchmarks.compare import Outcome

NAMES: Mapping[str, str] = {
    "join": "stream-stream join against Spark's, on both of its state stores",
    "aggregate": "sixteen window aggregates against eight queries of Spark, and against the best single one",
    "panes": "the same aggregates in one process, on one node against a node each",
    "overhead": "pass-through operators against a bare mapInArrow",
    "hops": "what each further hop between nodes costs, by a shuffle and between resident nodes",
    "floor": "ten filters on a hundred rows against Spark's own empty foreachBatch",
    "move": "moving an aggregate against stopping a query and starting it again",
    "memory": "a worker's memory against the Arrow size of a join's window",
    "placement": "how long placing takes, against printed times and plain numpy",
    "optimum": "how close plans come to the optimum, on small problems",
    "resilience": "feasible sets of all policies on random trees, and the search beyond ROD",
    "herding": "assigning small queries: queries per second, and traffic compared with LeastCost and Mt-KaHyPar",
    "steadiness": "variance and balance of correlation-based plans, and the search beyond them",
    "simulator": "invocations per second against SimPy, memory, plans near saturation, events against fluid",
    "diffusion": "spread joins under a hot key and by a band of values, against hashing and Spark; copies",
    "queries": "thousands of submitted queries against one Spark query each, and against a single one with a "
    "broadcast join",
    "peers": "Spark and Flink on the same files, each in the best of several forms, by processor seconds",
    "latency": "from a file's arrival to its rows at the driver: resident nodes, shuffles, Spark, Flink",
    "costs": "where the processor seconds of drover's batches go: by process, and in Java by threads",
    "control": "a step of the control loop against 5 % of a period",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Compare drover with plain Spark, and its plans with others."
    )
    parser.add_argument("name", nargs="?", choices=[*NAMES, "all"], help="which one; without it they are listed")
    parser.add_argument("--json", action="store_true", help="print one JSON object per benchmark")
    parser.add_argument("--quick", action="store_true", help="fewer batches: to see that it runs, not to be quoted")
    given = parser.parse_args()
    if given.name is None:
        print("\n".join(f"{name:12} {what}" for name, what in NAMES.items()))
        return
    for name in NAMES if given.name == "all" else [given.name]:
        bench: Callable[[bool], Outcome] = import_module(f"benchmarks.{name}").bench
        outcome = bench(given.quick)
        print(outcome.json() if given.json else f"{name}\n{outcome.table()}\n", flush=True)


if __name__ == "__main__":
    main()
