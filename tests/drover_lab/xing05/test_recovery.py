from __future__ import annotations

import pytest

from drover_lab.xing05.recovery import POLICIES, times
from tests.drover_lab.verdicts import table, verdict

GOOD_COURSE = {  # latency ratio, moved, deviation
    "cor-bal": (200.0, 0.1, 0.3),
    "cor-re-imp": (60.0, 3.0, 0.06),
    "cor-se-imp": (50.0, 1.0, 0.1),
    "correlation": (20.0, 0.9, 0.05),
    "thrifty": (30.0, 0.5, 0.08),
    "steady": (15.0, 0.9, 0.05),
}


@pytest.mark.parametrize(
    ("claim", "bent"),
    [
        ("re-moves-more", {"cor-re-imp": (60.0, 1.2, 0.06)}),
        ("re-ends-closer", {"cor-re-imp": (60.0, 3.0, 0.2)}),
        ("se-better", {"cor-se-imp": (70.0, 1.0, 0.1)}),
        ("global-better", {"correlation": (20.0, 4.0, 0.05)}),
        ("global-better", {"correlation": (70.0, 0.9, 0.05)}),
        ("thrifty-below", {"thrifty": (55.0, 0.5, 0.08)}),
    ],
)
def test_courses(claim: str, bent: dict[str, tuple[float, float, float]]) -> None:
    for figures, holds in ((GOOD_COURSE, True), ({**GOOD_COURSE, **bent}, False)):
        rows = table(
            {"policy": POLICIES, "at": times(50.0)},
            lambda policy, at, figures=figures: {
                "latency_ratio": figures[policy][0],
                "moved": figures[policy][1] * at / 50,
                "deviation": figures[policy][2],
                "correlation": 0.5,
            },
        )
        assert verdict("B-fig8", claim, rows).holds is holds
