from __future__ import annotations

import pytest

from drover_lab.zong15 import online
from tests.drover_lab.verdicts import verdict
from tests.drover_lab.zong15.made_rows import Line, grown


@pytest.mark.parametrize(("servers", "holds"), [(lambda k: 1 + len(str(int(k))), True), (lambda k: k, False)])
def test_growth_with_servers(servers: Line, holds: bool) -> None:
    lines = dict.fromkeys(online.TEXT, servers)
    assert verdict("H-fig5", "servers", grown("servers", (1, 10, 100, 1000), lines)).holds is holds


@pytest.mark.parametrize(("queries", "holds"), [(lambda _n: 2.0, True), (lambda n: n, False)])
def test_indifference_to_queries(queries: Line, holds: bool) -> None:
    lines = dict.fromkeys(online.TEXT, queries)
    assert verdict("H-fig5", "queries", grown("queries", (10, 100), lines)).holds is holds
