from __future__ import annotations

import pytest

from drover import Builder
from drover.errors import ProblemError
from drover.hierarchy.queries import Queries, grouped, placement_faults, queries_of
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
        pytest.param(((),), ((),), "operator 0 reads nothing", id="nothing to read"),
        pytest.param(((), (2,), (1,)), ((0,), (), ()), "operator 1 reads its own output", id="a cycle"),
        pytest.param(((1,),), ((),), "operator 0 reads operator 1, but operators are 0 to 0", id="no such operator"),
        pytest.param(((-1,),), ((),), "operator 0 reads operator -1", id="a negative number"),
        pytest.param(((),), (), "given for 0 of 1", id="a gap"),
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


def test_a_group_that_reads_itself_reads_nothing_of_its_own() -> None:
    queries = Queries(((), (0,), (1,)), ((1,), (), ()))
    assert grouped(queries, [0, 0, 0]) == Queries(((),), ((1,),))
    assert len(grouped(Queries((), ()), [])) == 0


def test_operators_come_after_what_they_read() -> None:
    queries = Queries(((1, 2), (2,), ()), ((), (), (5, 4)))
    assert queries.order() == [2, 1, 0]
    assert queries.readers == ((), (0,), (0, 1))


def test_the_origins_of_an_operator_are_the_entries_of_all_that_it_reads_by_any_way() -> None:
    queries = Queries(((1, 2), (2,), ()), ((7, 5), (6,), (5, 4)))
    assert queries.origins == ((7, 5, 6, 4), (6, 5, 4), (5, 4))


def test_a_placement_is_sound_where_all_inputs_pass() -> None:
    queries = Queries(((), (0,), (0,)), ((2,), (), (3,)))
    assert list(placement_faults(FORK, queries, [2, 1, 0])) == []
    assert list(placement_faults(FORK, queries, [1, 2, 2])) == [
        "operator 1 is on node 2, but reads operator 0, on node 1",
        "operator 2 is on node 2, which a source that enters at node 3 does not pass",
        "operator 2 is on node 2, but reads operator 0, on node 1",
    ]
