from __future__ import annotations

import pytest

from drover.network.operators import OPERATORS
from drover.network.samples import SOURCES, TABLES, sample_network


@pytest.mark.parametrize("name", OPERATORS)
def test_samples_use_the_sample_streams_and_tables_only(name: str) -> None:
    for operator in OPERATORS[name].samples:
        network = sample_network(operator)
        assert {source.name for source in network.sources} <= set(SOURCES)
        assert {table.name for table in network.tables} <= set(TABLES)
        assert network.outputs == operator.outputs
