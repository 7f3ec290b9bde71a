"""Random queries on streams of a random network, and others that differ from one in its constants."""

from __future__ import annotations

from dataclasses import replace

from numpy.random import Generator

from drover.network.model import Network
from drover.network.operators import Filter, Operator
from drover.network.queries import Query, examine_query
from drover.network.queries.normalize import PLACEHOLDER, normalize
from drover.network.queries.query import rename_inputs
from drover.network.rewrite import with_expressions
from drover_lab.generate import DagParameters, dags, rows
from tests.flow.harness import Batch, cut_rows
from tests.flow.test_against_oracle import delayed

KEYED = ("key = 3 AND amount > 1", "tag = 'drover' AND price < 1.5", "key = 3 AND tag <> 'a'", "5 = key", "key > 2")
WORDS = ("", "a", "Ab", "drover", "zebra", "k1", "k2", "absent")


def random_network(rng: Generator) -> Network:
    return dags(rng, DagParameters(sources=2, operators=int(rng.integers(1, 6)), timeout=0.3))


def random_batches(network: Network, rng: Generator) -> list[Batch]:
    """Return rows for a minute or so, in a few batches, the last two of them without rows."""
    count = int(rng.integers(2, 7))
    drawn = rows(network, int(rng.integers(100, 300)), rng)
    if rng.random() < 0.5:
        drawn = {name: delayed(frame, rng) for name, frame in drawn.items()}
    cuts = sorted(int(cut) for cut in rng.integers(0, 100, count - 1))
    return [*cut_rows(drawn, lambda _, height: [cut * height // 100 for cut in cuts], count), {}, {}]


def random_query(rng: Generator, network: Network, name: str) -> Query:
    """Return a sound query; most begin with a condition that rows can be looked up by."""
    while True:
        wanted = DagParameters(sources=2, operators=int(rng.integers(1, 5)), timeout=0.3, switch=0.5, aggregate=3)
        pattern = dags(rng, wanted)
        events = pattern.streams[pattern.sources[0].name]
        alike = [stream for stream, schema in network.streams.items() if schema == events]
        names = {operator.name: f"own-{operator.name}" for operator in pattern.operators}
        streams = {
            stream: names[operator.name] + stream.removeprefix(operator.name)
            for operator in pattern.operators
            for stream in operator.outputs
        }
        first: list[Operator] = []
        for source in pattern.sources:
            read = alike[int(rng.integers(len(alike)))]
            streams[source.name] = read
            if rng.random() < 0.5:
                where = KEYED[int(rng.integers(len(KEYED)))]
                first.append(Filter(name=f"keyed-{source.name}", input=read, where=where))
                streams[source.name] = first[-1].name
        own = [replace(rename_inputs(operator, streams), name=names[operator.name]) for operator in pattern.operators]
        output = streams[pattern.outputs[int(rng.integers(len(pattern.outputs)))]]
        query = Query(name, "tenant", tuple(needed([*first, *own], output)), output)
        if query.operators and not examine_query(query, network):
            return query


def needed(operators: list[Operator], output: str) -> list[Operator]:
    """Return the operators that the output is made by."""
    wanted = {output}
    for operator in reversed(operators):
        if wanted & set(operator.outputs):
            wanted |= set(operator.inputs)
    return [operator for operator in operators if wanted & set(operator.outputs)]


def varied(rng: Generator, query: Query, name: str) -> Query:
    """Return the query with other constants: of the same types, and mostly small."""

    def draw(mark: str, written: str) -> str:
        if mark == "i":
            return str(int(rng.integers(0, 9)))
        if mark == "d":
            return str(int(rng.integers(0, 100)) / 8)
        return f"'{WORDS[int(rng.integers(len(WORDS)))]}'" if mark == "s" else written

    def change(text: str) -> str:
        found = normalize(text)
        if found is None:
            return text
        first, *rest = found[0].split(PLACEHOLDER)
        pieces = zip(rest, found[1], strict=True)
        return first + "".join(draw(after[0], written) + after[1:] for after, (written, _) in pieces)

    return replace(
        query, name=name, operators=tuple(with_expressions(operator, change) for operator in query.operators)
    )
