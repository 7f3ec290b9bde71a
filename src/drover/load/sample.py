"""Samples: what one operator did in one period, and what all of them say of the streams between them.

Rule 1: rows are counted per stream. Whoever counts only the sum over several streams uses `samples_of`, which works out
the rest from those before and after.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from drover.network.model import Network


@dataclass(frozen=True, slots=True)
class Sample:
    """What one operator did in one period."""

    operator: str
    rows_in: Mapping[str, float]  # by input stream; one that a join reads on both sides counts once
    rows_out: Mapping[str, float]  # by output stream
    busy: float  # CPU seconds
    state_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Totals:
    """The same with sums over all inputs and all outputs, as a node counts them."""

    operator: str
    rows_in: float
    rows_out: float
    busy: float  # CPU seconds
    state_bytes: int = 0
    copied: bool = False  # whether rows came to several instances of it, so that their sum tells nothing of streams


def own_name(operator: str, instance: int) -> str:
    """Return under which name a period has what one instance of an operator did, beside the sum of all of them."""
    return f"{operator}[{instance}]"


def merged(samples: Iterable[Sample]) -> dict[str, Sample]:
    """Return one sample per operator: rows and busy time add up, and of the state the largest counts.

    An operator has several if a period spans batches, or if it ran on several nodes.
    """
    found: dict[str, Sample] = {}
    for sample in samples:
        before = found.get(sample.operator)
        found[sample.operator] = sample if before is None else _added(before, sample)
    return found


def _added(one: Sample, other: Sample) -> Sample:
    return Sample(
        one.operator,
        _summed(one.rows_in, other.rows_in),
        _summed(one.rows_out, other.rows_out),
        one.busy + other.busy,
        max(one.state_bytes, other.state_bytes),
    )


def _summed(one: Mapping[str, float], other: Mapping[str, float]) -> dict[str, float]:
    return {name: one.get(name, 0.0) + other.get(name, 0.0) for name in {**one, **other}}


def samples_of(network: Network, sources: Mapping[str, float], totals: Iterable[Totals]) -> tuple[Sample, ...]:
    """Return the samples of one period from sums, and from the rows that each source delivered.

    A stream has as many rows as its source delivered, or as the sums of those that make or read it leave for it once
    their other streams are known. What none of these tells is an equal share of what is left. Operators that the
    network does not have are left out: they were dropped in that period. Sums of one operator add up, as in `merged`.
    """
    found: dict[str, Totals] = {}
    for each in totals:
        before = found.get(each.operator, Totals(each.operator, 0, 0, 0.0))
        found[each.operator] = Totals(
            each.operator,
            before.rows_in + each.rows_in,
            before.rows_out + each.rows_out,
            before.busy + each.busy,
            max(before.state_bytes, each.state_bytes),
            before.copied or each.copied,
        )
    streams = _known(network, sources, found)
    samples = []
    for operator in network.operators:
        if operator.name not in found:
            continue
        told = found[operator.name]
        inputs = tuple(dict.fromkeys(operator.inputs))
        plain = told.copied and all(stream in streams for stream in inputs)
        rows_in = {stream: streams[stream] for stream in inputs} if plain else _shared(inputs, told.rows_in, streams)
        rows_out = _shared(operator.outputs, told.rows_out, streams)
        samples.append(Sample(operator.name, rows_in, rows_out, told.busy, told.state_bytes))
    return tuple(samples)


def _known(network: Network, sources: Mapping[str, float], totals: Mapping[str, Totals]) -> dict[str, float]:
    """Return the rows of the streams that the sums leave no choice for."""
    names = {source.name for source in network.sources}
    known = {name: rows for name, rows in sources.items() if name in names}
    counted = [operator for operator in network.order if operator.name in totals]
    # Outputs first: what an operator gave out is all there is, and a reader may be behind.
    sums = [
        *((operator.outputs, totals[operator.name].rows_out) for operator in counted),
        *(
            (tuple(dict.fromkeys(operator.inputs)), totals[operator.name].rows_in)
            for operator in counted
            if not totals[operator.name].copied
        ),
    ]
    learned = True
    while learned:
        learned = False
        for streams, total in sums:
            unknown = [stream for stream in streams if stream not in known]
            if len(unknown) == 1:
                known[unknown[0]] = max(0.0, total - sum(known[stream] for stream in streams if stream in known))
                learned = True
    return known


def _shared(streams: tuple[str, ...], total: float, known: Mapping[str, float]) -> dict[str, float]:
    """Return the rows of each stream, with equal shares of what is left for those that are not known.

    All are scaled to the total: a reader that is behind has taken in less than was given out.
    """
    unknown = sum(stream not in known for stream in streams)
    left = max(0.0, total - sum(known.get(stream, 0.0) for stream in streams))
    rows = [known[stream] if stream in known else left / unknown for stream in streams]
    counted = sum(rows)
    if counted == 0:
        return dict.fromkeys(streams, total / len(streams) if streams else 0.0)
    return {stream: each * total / counted for stream, each in zip(streams, rows, strict=True)}
