"""Batches of a network with a spread join, as the control loop takes them in."""

from __future__ import annotations

import drover
from drover.network.model import Network
from drover.spark.periods import Figures, facts

COLUMNS = {"ts": "timestamp", "k": "bigint"}


def network() -> Network:
    net = drover.Builder("n")
    a, b = (net.source(name, COLUMNS, time="ts") for name in "ab")
    a.filter("some", "k > 0").join("j", b, within="2 s", on="k", select={"k": "left.k"}, spread="auto").output()
    return net.build()


def batch(*instances: tuple[int, float, int]) -> Figures:
    """What a batch tells in which instances of the join took so many rows, busy seconds and bytes of state."""
    samples = [{"operator": "some", "instance": 0, "rows_in": 100, "rows_out": 80, "busy": 0.1, "state_bytes": 0}]
    samples += [
        {"operator": "j", "instance": number, "rows_in": rows, "rows_out": 10, "busy": busy, "state_bytes": size}
        for number, (rows, busy, size) in enumerate(instances)
    ]
    return {"rowsIn": {"a": 100, "b": 40}, "samples": samples}


def test_instances_are_told_apart_and_their_sum_counts_no_copies() -> None:
    spread = batch((60, 0.2, 500), (60, 0.3, 700), (60, 0.4, 900))
    seconds, rows, samples = facts(network(), [spread, spread], 2.0)
    found = {sample.operator: sample for sample in samples}
    assert (seconds, rows) == (2.0, {"a": 200.0, "b": 80.0})
    assert list(found) == ["some", "j", "j[0]", "j[1]", "j[2]"]
    assert found["j"].rows_in == {"some": 160, "b": 80}  # and not what three instances took
    assert (found["j"].rows_out, found["j"].state_bytes) == ({"j": 60}, 2100)
    assert abs(found["j"].busy - 1.8) < 1e-9
    assert (found["j[2]"].busy, found["j[2]"].state_bytes) == (0.8, 900)


def test_a_period_in_which_the_shape_changed_tells_nothing_of_instances() -> None:
    changing = [batch((120, 0.5, 1000)), batch((60, 0.2, 500), (100, 0.3, 700))]
    _, _, samples = facts(network(), changing, 2.0)
    found = {sample.operator: sample for sample in samples}
    assert list(found) == ["some", "j"]
    assert found["j"].rows_in == {"some": 160, "b": 80}


def test_a_whole_join_is_as_ever() -> None:
    _, _, samples = facts(network(), [batch((120, 0.5, 1000))], 1.0)
    assert [sample.operator for sample in samples] == ["some", "j"]
