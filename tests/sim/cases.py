"""Networks, workloads and runs for tests of the simulator."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import strategies as st
from numpy.random import Generator, default_rng

from drover.load.arrays import Floats, Ints
from drover.load.profile import Origin, Profile, make_profile
from drover.load.statistics import Behaviour, Statistics
from drover.network.build import Builder, Stream
from drover.network.model import Network
from drover.sim.cluster import SimulatedCluster
from drover.sim.model import Model, model_of

COLUMNS = {"ts": "timestamp", "k": "int"}


def chain(*costs: float, selectivity: float = 1.0) -> Model:
    """One source and a chain of operators with these costs."""
    builder = Builder("chain")
    stream = builder.source("s", COLUMNS, time="ts")
    for step, cost in enumerate(costs):
        stream = stream.synthetic(f"o{step}", cost=cost, selectivity=selectivity)
    stream.output()
    return model_of(make_profile(builder.build()))


def joined(rate: float = 20.0, cost: float = 1e-4, share: float = 0.1, within: str = "1 s") -> Model:
    """Two sources into a join; cost and selectivity are per row in, at that rate of both."""
    builder = Builder("joined")
    left, right = (builder.source(name, COLUMNS, time="ts") for name in ("a", "b"))
    left.join("j", right, within=within, where="left.k <> right.k", select={"k": "left.k"}).output()
    said = Statistics({"a": rate, "b": rate}, {"j": Behaviour(cost, {"j": share})})
    return model_of(make_profile(builder.build(), [(Origin.GIVEN, said)]))


def drawn_network(rng: Generator, sources: int, size: int) -> Network:
    """A graph of synthetic operators, unions, switches and joins; streams that nobody reads are given out."""
    builder = Builder("drawn")
    streams = [builder.source(f"s{k}", COLUMNS, time="ts") for k in range(sources)]
    unread = {stream.name: stream for stream in streams}

    def pick() -> Stream:
        stream = streams[int(rng.integers(len(streams)))]
        unread.pop(stream.name, None)
        return stream

    for j in range(size):
        kind = rng.choice(["synthetic", "synthetic", "union", "switch", "join"])
        stream = pick()
        made = []
        other = pick() if kind in {"union", "join"} else stream
        if kind == "join":
            made = [
                stream.join(f"o{j}", other, within=("2 s", "500 ms"), where="left.k <> right.k", select={"k": "left.k"})
            ]
        elif kind == "union" and other.name != stream.name:
            made = [stream.union(f"o{j}", other)]
        elif kind == "switch":
            made = list(stream.switch(f"o{j}", {"a": "k > 0", "b": "k < 0"}).values())
        else:
            made = [stream.synthetic(f"o{j}", cost=0.1, selectivity=0.5)]
        streams += made
        unread |= {each.name: each for each in made}
    for stream in unread.values():
        stream.output()
    return builder.build()


def drawn_profile(rng: Generator, network: Network) -> Profile:
    """Costs up to 0.2 s and selectivities up to 1.5; some of them 0 or whole, for ties."""
    said = {}
    for operator in network.operators:
        shares = {stream: float(rng.choice([0.0, 0.5, 1.0, rng.uniform(0, 1.5)])) for stream in operator.outputs}
        said[operator.name] = Behaviour(float(rng.choice([0.0, 0.125, rng.uniform(0, 0.2)])), shares)
    return make_profile(
        network, [(Origin.GIVEN, Statistics(dict.fromkeys((s.name for s in network.sources), 2.0), said))]
    )


@dataclass(frozen=True)
class Case:
    """A small world with everything in it."""

    model: Model
    cluster: SimulatedCluster
    places: Ints  # (m,) of operators
    arrivals: tuple[Floats, ...]
    schedule: str
    quantum: int
    seed: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A small case; numbers come from a seed, so that failures shrink in size."""
    rng = default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(1, 4))
    sources = draw(st.integers(1, 3))
    network = drawn_network(rng, sources, draw(st.integers(1, 8)))
    model = model_of(drawn_profile(rng, network))
    model = replace(model, spread=rng.choice([0.0, 0.5, 1.0], model.m))
    places = rng.integers(0, n, len(model.units))[model.unit_of]
    network_kind = draw(st.sampled_from(["free", "slow", "narrow"]))
    capacity = rng.choice([0.5, 1.0, 2.0], n)
    cluster = SimulatedCluster(
        capacity,
        delay=0.0 if network_kind == "free" else 0.25,
        bandwidth=rng.uniform(5, 100, (n, n)) if network_kind == "narrow" else np.inf,
    )
    counts = rng.integers(0, 12, sources)
    # Times on a grid, so that events meet; Constant and Rates make such ties in earnest.
    arrivals = tuple(np.sort(np.round(rng.uniform(0, 6, count) * 8) / 8) for count in counts)
    schedule = draw(st.sampled_from(["fifo", "round-robin"]))
    return Case(model, cluster, places, arrivals, schedule, draw(st.integers(1, 3)), int(rng.integers(1000)))
