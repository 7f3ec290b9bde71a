"""Seven agents as processes: some are killed, connections break, and no operator is lost or runs twice."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random

import pytest

from drover.hierarchy.queries import placement_faults
from tests.agents.forest import Forest, forest, until


def settled(agents: Forest) -> bool:
    """Return whether all agents are idle and all operators run."""
    assert all(agent.poll() is None for agent in agents.agents.values()), [agents.said(node)[-2:] for node in range(7)]
    last = [agents.last(node) for node in range(7)]
    idle = all(each and each["phase"] != "giving" for each in last)
    return idle and sum(each["running"] for each in last) == len(agents.layout.operators)


def moves(agents: Forest) -> int:
    return sum('"stopped"' in line for node in range(7) for line in agents.said(node))


@pytest.mark.slow
def test_kills_and_cuts_lose_and_double_nothing(tmp_path: Path) -> None:
    rng = Random(7)
    with forest(tmp_path) as agents:
        until(lambda: all(agents.last(node) for node in range(7)))
        names = agents.layout.operators
        for event in range(30):
            agents.measure(rng.sample(range(7), 3))
            victim = rng.randrange(7)
            if event % 4 == 1:
                agents.kill(victim)
            line = rng.choice(list(agents.proxies))
            agents.proxies[line].cut = event % 3 == 0
            time.sleep(0.5)
            for node, agent in agents.agents.items():
                if agent.poll() is not None:
                    assert agent.returncode == -9, agents.said(node)[-2:]  # not by its own error, such as at the fence
                    agents.start(node)
        for proxy in agents.proxies.values():
            proxy.cut = False
        agents.measure([])
        until(lambda: settled(agents))
        agents.stop()
        assert agents.killed == 8
        assert moves(agents) > 10, "operators moved, or this would be a test of nothing"
        owners = agents.owners()
        assert {len(nodes) for nodes in owners.values()} == {1}, owners
        node_of = [owners[j][0] for j in range(len(names))]
        assert list(placement_faults(agents.layout.tree, agents.layout.queries, node_of)) == []
        assert not [line for node in range(7) for line in agents.said(node) if not line.startswith("{")]
