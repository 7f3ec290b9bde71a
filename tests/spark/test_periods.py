"""Batches of a network with a spread join, as the control loop takes them in."""

from __future__ import annotations

import drover
from drover.flow.node import OperatorFacts
from drover.flow.schedule import HopNode
from drover.load.sample import Sample
from drover.network.model import Network
from drover.spark.facts import BatchFacts, BatchSeconds
from drover.spark.periods import period_of

COLUMNS = {"ts": "timestamp", "k": "bigint"}


def network() -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, COLUMNS, time="ts") for name in "ab")
    a.filter("some", "k > 0").join("j", b, within="2 s", on="k", select={"k": "left.k"}, spread="auto").output()
    return net.build()


def batch(*instances: tuple[int, float, int]) -> BatchFacts:
    """A batch in which instances of the join read so many rows, with so many busy seconds and bytes of state.

    A third of what an instance reads is of b.
    """
    some = Sample("some", {"a": 100}, {"some": 80}, 0.1)
    facts = [OperatorFacts(some, HopNode(0, 0))]
    for number, (rows, busy, size) in enumerate(instances):
        sample = Sample("j", {"some": rows - rows // 3, "b": rows // 3}, {"j": 10}, busy, size)
        facts.append(OperatorFacts(sample, HopNode(1, number), instance=number))
    return BatchFacts(0, 0, 1, 3, 2, BatchSeconds(0, 0, 0), {"a": 100, "b": 40}, operators=tuple(facts))


def test_instances_are_told_apart_and_their_sum_counts_no_copies() -> None:
    spread = batch((60, 0.2, 500), (60, 0.3, 700), (60, 0.4, 900))
    period = period_of(network(), [spread, spread], 2.0)
    found = {sample.operator: sample for sample in period.samples}
    assert (period.seconds, period.rows) == (2.0, {"a": 200.0, "b": 80.0})
    assert list(found) == ["some", "j", "j[0]", "j[1]", "j[2]"]
    assert found["j"].rows_in == {"some": 160, "b": 80}  # and not what three instances took
    assert (found["j"].rows_out, found["j"].state_bytes) == ({"j": 60}, 2100)
    assert abs(found["j"].busy - 1.8) < 1e-9
    assert (found["j[2]"].busy, found["j[2]"].state_bytes) == (0.8, 900)


def test_a_period_in_which_the_shape_changed_tells_nothing_of_instances() -> None:
    changing = [batch((120, 0.5, 1000)), batch((60, 0.2, 500), (100, 0.3, 700))]
    found = {sample.operator: sample for sample in period_of(network(), changing, 2.0).samples}
    assert list(found) == ["some", "j"]
    assert found["j"].rows_in == {"some": 160, "b": 80}


def test_a_whole_join_is_as_ever() -> None:
    period = period_of(network(), [batch((120, 0.5, 1000))], 1.0)
    assert [sample.operator for sample in period.samples] == ["some", "j"]
