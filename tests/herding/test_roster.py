from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.errors import ProblemError
from drover.herding.problem import HerdingProblem
from drover.herding.roster import Roster, no_queries


def problem_of(sets: list[list[int]]) -> HerdingProblem:
    start = np.concatenate([[0], np.cumsum([len(sources) for sources in sets])]).astype(np.int64)
    source = np.array([s for sources in sets for s in sources], dtype=np.int64)
    return HerdingProblem(start=start, source=source, rate=np.ones(10), capacity=np.ones(1))


def sources_of(roster: Roster, query: int) -> list[int]:
    found: list[int] = roster.store.source[roster.store.start[query] : roster.store.stop[query]].tolist()
    return found


@given(steps=st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 9), min_size=1, max_size=4)), max_size=40))
def test_queries_keep_their_sources_while_others_come_and_go(steps: list[tuple[bool, set[int]]]) -> None:
    roster = Roster(counts_types=False)
    live = dict[int, list[int]]()
    for leaves, sources in steps:
        if leaves and live:
            query = min(live)
            del live[query]
            roster.store.server[query] = -1
            roster.release(np.array([query]))
        else:
            (number,) = roster.allocate(1)
            assert number not in live
            roster.add(np.array([number]), problem_of([sorted(sources)]))
            roster.store.server[number] = 0
            live[int(number)] = sorted(sources)
        assert {query: sources_of(roster, query) for query in live} == live
        start, source = roster.packed(np.array(sorted(live), dtype=np.int64))
        assert source.tolist() == [s for query in sorted(live) for s in live[query]]
        assert start[-1] == len(source)


def test_sources_of_those_that_left_are_dropped_once_they_are_the_larger_part() -> None:
    roster = Roster(counts_types=False)
    numbers = roster.allocate(3)
    roster.add(numbers, problem_of([[0, 1], [2, 3], [4]]))
    roster.store.server[numbers] = 0
    roster.store.server[numbers[:2]] = -1
    roster.release(numbers[:2])
    roster.add(roster.allocate(1), problem_of([[5, 6]]))
    assert roster.store.source.tolist() == [4, 5, 6]


def test_types_are_numbered_only_if_they_are_counted() -> None:
    given = problem_of([[0, 1], [2], [0, 1]])
    for counted, kinds in ((True, [0, 1, 0]), (False, [-1, -1, -1])):
        roster = Roster(counts_types=counted)
        numbers = roster.allocate(3)
        roster.add(numbers, given)
        assert roster.store.kind[numbers].tolist() == kinds


def test_a_restored_roster_gives_out_the_same_numbers() -> None:
    roster = Roster(counts_types=False)
    numbers = roster.allocate(3)
    given = problem_of([[0], [1], [2]])
    roster.add(numbers, given)
    roster.store.server[numbers] = 1
    other = Roster(counts_types=False)
    other.restore(numbers, given, np.ones(3, dtype=np.int64), roster.free)
    assert other.allocate(4).tolist() == roster.allocate(4).tolist()
    assert [sources_of(other, query) for query in numbers] == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("queries", "words"),
    [
        pytest.param([1], "query is 1, but there is no live query", id="one that has left"),
        pytest.param([99], "query is 99", id="one that never was"),
        pytest.param([-1], "query is -1", id="no number"),
        pytest.param([0, 0], "Remove duplicates", id="one twice"),
    ],
)
def test_only_live_queries_are_accepted(queries: list[int], words: str) -> None:
    roster = Roster(counts_types=False)
    numbers = roster.allocate(2)
    roster.add(numbers, problem_of([[0], [1]]))
    roster.store.server[numbers] = [0, -1]
    roster.check_present(np.array([0]))
    with pytest.raises(ProblemError, match=words):
        roster.check_present(np.array(queries))


def test_a_herd_without_queries_is_checked_like_any_problem() -> None:
    assert no_queries(np.ones(2), np.ones(3), 0.1, 1.0).n == 0
    with pytest.raises(ProblemError, match="slack is -1"):
        no_queries(np.ones(2), np.ones(3), -1.0, 1.0)
