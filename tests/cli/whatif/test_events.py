from __future__ import annotations

import click
import numpy as np
import pytest

from drover.cli.whatif.events import (
    ClusterEvent,
    ClusterEvents,
    check_added,
    describe_event,
    node_events_of,
    read_events,
)
from drover.sim.cluster import Add, Drain, Kill


def event(text: str) -> ClusterEvent:
    (found,) = read_events([text], 60.0)
    return found


def test_a_node_and_a_time() -> None:
    assert event("2@30") == ClusterEvent("2@30", 2, 30.0)
    assert event("0@1.5").at == 1.5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("2", "'2' is not of the form NODE@SECONDS. Write for example 2@30.", id="no time"),
        pytest.param("x@3", "'x@3' is not of the form NODE@SECONDS.", id="no node"),
        pytest.param("-1@3", "'-1@3' is not of the form NODE@SECONDS.", id="a negative node"),
        pytest.param("1@x", "'1@x': 'x' is not a number.", id="no number"),
        pytest.param("1@0.5", "'1@0.5' is before the first sample at 1 s", id="too early"),
        pytest.param("1@60", "'1@60' is after the end of the run at 60 s. Raise --seconds.", id="too late"),
    ],
)
def test_wrong_events(text: str, says: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        event(text)
    assert caught.value.message.startswith(says)


def test_events_are_sorted_by_time_and_nodes_are_added_before_others_go() -> None:
    events = ClusterEvents(kill=(event("0@20"),), add=(event("2@20"),), drain=(event("1@10"),))
    found = node_events_of(events, np.array([1.0, 1.0, 0.5]), outage=2.0, replay=True)
    assert found == (Drain(10.0, 1), Add(20.0, 0.5), Kill(20.0, 0, 2.0, True))


@pytest.mark.parametrize(
    ("events", "says"),
    [
        pytest.param(
            ClusterEvents(kill=(event("5@3"),)), "names node 5, but the nodes at that time are 0, 1.", id="no such node"
        ),
        pytest.param(
            ClusterEvents(kill=(event("0@3"),), drain=(event("0@4"),)),
            "'0@4' names node 0, but the nodes at that time are 1.",
            id="it is gone already",
        ),
        pytest.param(
            ClusterEvents(kill=(event("0@3"), event("1@4"))), "'1@4' removes the last node. Keep one", id="the last"
        ),
    ],
)
def test_events_that_contradict_each_other(events: ClusterEvents, says: str) -> None:
    with pytest.raises(click.BadParameter) as caught:
        node_events_of(events, np.ones(2), 1.0, replay=False)
    assert says in caught.value.message


def test_added_nodes_have_the_next_numbers() -> None:
    check_added([event("3@20"), event("2@10")], 2)
    with pytest.raises(click.BadParameter, match=r"adds node 3, but the next free number is 2. Write 2@20"):
        check_added([event("3@20")], 2)


def test_events_in_words() -> None:
    assert describe_event(Kill(20.0, 0, 1.0, False), 0) == "node 0 is killed at 20 s"
    assert describe_event(Add(1.5, 1.0), 4) == "node 4 is added at 1.5 s"
    assert describe_event(Drain(3.0, 1), 1) == "node 1 is drained at 3 s"
