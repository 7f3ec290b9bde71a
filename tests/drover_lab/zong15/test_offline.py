from __future__ import annotations

import pytest

from drover_lab.zong15 import offline
from tests.drover_lab.verdicts import verdict
from tests.drover_lab.zong15.made_rows import Line, grown


@pytest.mark.parametrize(("factor", "holds"), [(1.9, True), (2.1, False)])
def test_single_sources(factor: float, holds: bool) -> None:
    lines: dict[str, Line] = dict.fromkeys(offline.TEXT, lambda _d: factor)
    assert verdict("H-fig4", "single", grown("sources", (1, 2), lines)).holds is holds
