from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.drover_lab.verdicts import verdict
from tests.drover_lab.zong15.made_rows import COMING, KNOWN, Line, by_skew


@pytest.mark.parametrize(
    ("experiment", "claim", "lines", "bent"),
    [
        pytest.param("H-fig4", "skew", KNOWN, {"mqp": lambda x: x}, id="one rises with the skew"),
        pytest.param("H-fig4", "best", KNOWN, {"mqp": lambda _x: 1.0}, id="MQP is better"),
        pytest.param("H-fig4", "four-times", KNOWN, {"random-types": lambda x: 9 / x}, id="only twice"),
        pytest.param("H-fig5", "best", COMING, {"least-source": lambda x: 3 / x}, id="LeastSource is better"),
        pytest.param("H-fig5", "four-times", COMING, {"random": lambda x: 9 / x}, id="only twice, online"),
        pytest.param("H-fig5", "offline", COMING, {"mms": lambda x: 3 / x}, id="MMS is always better"),
        pytest.param("H-fig5", "least-source", COMING, {"least-source": lambda x: 8 / x}, id="not close"),
        pytest.param("H-fig5", "least-types", COMING, {"least-types": lambda x: 8 / x}, id="not as OnRand"),
    ],
)
def test_order_of_policies(experiment: str, claim: str, lines: Mapping[str, Line], bent: dict[str, Line]) -> None:
    assert verdict(experiment, claim, by_skew(lines)).holds
    found = verdict(experiment, claim, by_skew({**lines, **bent}))
    assert (found.holds, found.judged) == (False, True)


def test_rows_without_a_policy_tell_nothing() -> None:
    assert not verdict("H-fig5", "best", by_skew({"random": lambda _x: 1.0})).judged
