from __future__ import annotations

import numpy as np
import pytest

from drover.herding.online.list_kernels import add_subscription
from drover.herding.online.state import (
    CAPACITY,
    KINDS,
    SERVERS,
    empty_state,
    holders,
    types_on,
    with_kinds,
    with_pool,
    with_server,
)
from drover.herding.set_kernels import count_up


@pytest.mark.parametrize("servers", [1, 2, 3, 5, 8])
def test_without_queries_the_first_server_is_the_lightest(servers: int) -> None:
    state = empty_state(np.ones(2), np.ones(servers))
    assert state.tree[1] == 0
    assert state.totals[CAPACITY] == servers
    assert holders(state) == {}
    assert types_on(state) == {}


def test_servers_join_and_leave() -> None:
    state = empty_state(np.ones(2), np.ones(2))
    state.load[:] = 1.0
    grown = with_server(state, 4, 2.0)
    assert grown.capacity.tolist() == [1.0, 1.0, 0.0, 0.0, 2.0]
    assert grown.totals[CAPACITY] == 4.0
    assert grown.tree[1] == 4, "the new server is the lightest; numbers without a server do not count"
    shrunk = with_server(grown, 4, 0.0)
    assert shrunk.totals[CAPACITY] == 2.0
    assert shrunk.tree[1] == 0


def test_a_larger_pool_keeps_the_lists() -> None:
    state = empty_state(np.ones(3), np.ones(4))
    for s in range(3):
        add_subscription(state, s, s + 1)
    grown = with_pool(state)
    assert len(grown.member) == 2 * len(state.member)
    assert holders(grown) == {(0, 1): 1, (1, 2): 1, (2, 3): 1}


def test_a_larger_table_keeps_the_types() -> None:
    state = empty_state(np.ones(1), np.ones(4))
    for kind in (0, 0, 7):
        count_up(state.kind_keys, state.kind_counts, kind * SERVERS + 2)
    state.totals[KINDS] = 2
    assert with_kinds(state, 3) is state, "there is room"
    grown = with_kinds(state, 100)
    assert len(grown.kind_keys) >= 2 * 102
    assert types_on(grown) == types_on(state) == {(0, 2): 2, (7, 2): 1}
