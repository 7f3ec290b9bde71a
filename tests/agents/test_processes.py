"""Seven agents and their runners as processes: agents are killed, connections break, and nothing runs twice."""

from __future__ import annotations

import re
import signal
import time
from pathlib import Path
from random import Random

import pytest

from drover.hierarchy.queries import placement_faults
from tests.agents.forest import Forest, forest, until

IGNORED = re.compile(r"drover: the acknowledgement of request \d+\.\d+ is ignored")


def is_idle(agents: Forest) -> bool:
    """Return whether all agents are idle and all operators run."""
    assert all(agent.poll() is None for agent in agents.agents.values()), [agents.said(node)[-2:] for node in range(7)]
    last = [agents.last(node) for node in range(7)]
    idle = all(each and each["phase"] != "giving" for each in last)
    return idle and sum(each["running"] for each in last) == len(agents.layout.operators)


def moves(agents: Forest) -> int:
    return sum('"stopped":' in line for node in range(7) for line in agents.said(node))


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
                    # Not by its own error, such as at the fence.
                    assert agent.returncode == -signal.SIGKILL % 256, agents.said(node)[-2:]
                    agents.start(node)
        for proxy in agents.proxies.values():
            proxy.cut = False
        agents.measure([])
        until(lambda: is_idle(agents))
        agents.stop()
        assert agents.doubles() == []
        assert agents.killed >= 6
        assert moves(agents) > 10, "operators moved, or this would be a test of nothing"
        owners = agents.owners()
        assert {len(nodes) for nodes in owners.values()} == {1}, owners
        node_of = [owners[j][0] for j in range(len(names))]
        assert list(placement_faults(agents.layout.tree, agents.layout.queries, node_of)) == []
        said = [line for node in range(7) for line in agents.said(node) if not line.startswith("{")]
        assert [line for line in said if not IGNORED.match(line)] == []  # acknowledgements that came twice


def test_the_log_of_the_runners_shows_an_operator_that_runs_twice(tmp_path: Path) -> None:
    agents = Forest(tmp_path)
    (tmp_path / "log").write_text("start a n1\nstop a n1\nstart a n2\nstart a n3\n")
    assert agents.doubles() == ["a starts on n3 and runs on n2"]
    agents.end()
