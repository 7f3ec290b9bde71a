from __future__ import annotations

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from drover.herding.online.list_kernels import add_subscription, find, has_room, remove_subscription
from drover.herding.online.state import USED, empty_state, holders, with_pool

SOURCES = 4
SERVERS = 6
CHANGES = st.lists(st.tuples(st.booleans(), st.integers(0, SOURCES - 1), st.integers(0, SERVERS - 1)), max_size=80)


@given(changes=CHANGES)
def test_lists_count_the_queries_of_each_source_and_server(changes: list[tuple[bool, int, int]]) -> None:
    state = empty_state(np.ones(SOURCES), np.ones(SERVERS))
    expected = Counter[tuple[int, int]]()
    for add, s, j in changes:
        while not has_room(state, 1):
            state = with_pool(state)
        if add:
            expected[s, j] += 1
            assert add_subscription(state, s, j) == expected[s, j]
        elif expected[s, j]:
            expected[s, j] -= 1
            assert remove_subscription(state, s, j) == expected[s, j]
        assert holders(state) == dict(+expected)


def test_a_server_that_is_not_in_a_list_is_found_at_its_end() -> None:
    state = empty_state(np.ones(1), np.ones(SERVERS))
    add_subscription(state, 0, 3)
    add_subscription(state, 0, 5)
    assert state.member[find(state, 0, 5)] == 5
    assert find(state, 0, 1) == state.at[0] + state.size[0]


def test_a_list_that_moves_leaves_its_block_to_others() -> None:
    state = empty_state(np.ones(2), np.ones(SERVERS))
    for j in range(3):
        add_subscription(state, 0, j)  # it moves from blocks of 1 and 2 into one of 4
    used = int(state.totals[USED])
    add_subscription(state, 1, 0)
    add_subscription(state, 1, 1)
    assert state.totals[USED] == used, "both blocks are used again"
    assert holders(state) == {(0, 0): 1, (0, 1): 1, (0, 2): 1, (1, 0): 1, (1, 1): 1}
