from __future__ import annotations

import pytest

from tests.network.cases import Case, a_filter, assert_only_fault, examined


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(
            Case([a_filter(where="amount")], ("operators", "kept", "where"), "must be boolean and this is bigint"),
            id="the predicate of a filter is boolean",
        ),
        pytest.param(
            Case([a_filter(where="amont > 0")], ("operators", "kept", "where"), "Did you mean amount?"),
            id="the predicate of a filter names columns of its input",
        ),
        pytest.param(
            Case([a_filter(where="amount >")], ("operators", "kept", "where"), "'amount >'"),
            id="the predicate of a filter is SQL",
        ),
    ],
)
def test_rules(case: Case) -> None:
    assert_only_fault(case)


def test_a_filter_changes_no_column() -> None:
    streams = examined(Case([a_filter()], (), "")).streams
    assert streams["kept"] == streams["events"]
