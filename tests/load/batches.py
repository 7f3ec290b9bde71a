"""Made-up batches, whose costs are known."""

from __future__ import annotations

from numpy.random import Generator, default_rng

from drover.load.batch_model import BatchMeasure, BatchWork

RATE = 1000.0  # rows per second
USUAL = BatchWork(RATE, 50_000.0, 2.0, 0.3, 100.0, 4_000.0, 20_000.0)  # of a second


def true_seconds(work: BatchWork) -> tuple[float, float, float, float]:
    """Compute, of which routing, sinks and commit, as the made-up engine takes them."""
    routing = 2e-5 * work.rows
    return 0.2 + 0.09 * work.hops + routing + 1.1 * work.work, routing, 0.05 + 2e-5 * work.result_rows, 0.02


def batch(work: BatchWork, rng: Generator, noise: float = 0.03, trigger: float = 1.0, cores: int = 2) -> BatchMeasure:
    """One batch of four nodes."""
    compute, routing, sinks, commit = (value * max(rng.normal(1, noise), 0.1) for value in true_seconds(work))
    return BatchMeasure(
        work, compute, routing, sinks, commit, 4, cores, cores, trigger, "shuffle", 4.0, 8.0, 2e5, 0.02 * work.work
    )


def batches(seed: int = 0, spread: float = 0.5, trigger: float = 1.0, cores: int = 2) -> tuple[BatchMeasure, ...]:
    """Sixty batches whose rows vary around the usual ones by up to a share."""
    rng = default_rng(seed)
    factors = rng.uniform(1 - spread, 1 + spread, 60)
    return tuple(batch(USUAL.times(factor), rng, trigger=trigger, cores=cores) for factor in factors)
