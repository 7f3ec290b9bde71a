from __future__ import annotations

import pytest

from drover import Builder
from drover.errors import ProblemError
from drover.hierarchy.queries import Queries, grouped, queries_of
from drover.hierarchy.tree import ROOT, Tree

FORK = Tree((ROOT, 0, 1, 1))  # 2 and 3 -> 1 -> 0


def test_queries_of_a_network() -> None:
    builder = Builder("meters")
    columns = {"ts": "timestamp", "value": "bigint"}
    left, right = (builder.source(name, columns, time="ts") for name in ("left", "right"))
    both = left.filter("large", "value > 1").union("both", right)
    both.filter("largest", "value > 9").output()
    queries = queries_of(builder.build(), {"left": 2, "right": 3})
    assert queries == Queries(((), (0,), (1,)), ((2,), (3,), ()))
    assert [queries.lowest(FORK, j) for j in range(3)] == [2, 1, 1]
    with pytest.raises(ProblemError, match="'right' has no entry node"):
        queries_of(builder.build(), {"left": 2})


@pytest.mark.parametrize(
    ("inputs", "entries", "words"),
    [
        pytest.param(((),), ((),), "reads nothing", id="nothing to read"),
        pytest.param(((1,), (0,)), ((), ()), "its own output", id="a cycle"),
        pytest.param(((4,),), ((),), "reads operator 4", id="no such operator"),
        pytest.param(((),), (), "0 of 1", id="a gap"),
    ],
)
def test_queries_that_run_nowhere_are_refused(
    inputs: tuple[tuple[int, ...], ...], entries: tuple[tuple[int, ...], ...], words: str
) -> None:
    with pytest.raises(ProblemError, match=words):
        Queries(inputs, entries)


def test_operators_of_a_group_read_what_any_of_them_reads() -> None:
    queries = Queries(((), (0,), (), (1, 2)), ((1,), (), (2,), ()))
    found = grouped(queries, [0, 1, 1, 2])
    assert found.inputs == ((), (0,), (1,))
    assert found.entries == ((1,), (2,), ())
