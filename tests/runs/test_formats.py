from __future__ import annotations

import pytest

from drover.runs.formats import SINK_FORMATS, SOURCE_FORMATS, source_format
from drover.runs.model import Output
from drover.spark.replay import FORMATS
from drover.spark.sinks import SINKS, Files, sink_of


def test_every_sink_format_has_a_sink_and_the_other_way_round() -> None:
    assert list(SINKS) == list(SINK_FORMATS)


@pytest.mark.parametrize("name", SINK_FORMATS)
def test_a_sink_is_made_from_an_entry_of_a_run_file(name: str) -> None:
    path = "results" if SINK_FORMATS[name].has_path else None
    sink = sink_of(Output(name, path))
    assert isinstance(sink, Files) == (path is not None)


def test_files_are_replayed_by_their_suffix() -> None:
    assert FORMATS[".ndjson"] == "json"
    assert set(FORMATS.values()) <= {name for name, one in SOURCE_FORMATS.items() if one.has_path}


def test_an_unknown_connector_may_have_a_path_or_none() -> None:
    assert source_format("iceberg").has_path is None
    assert not source_format("iceberg").own_columns
    assert source_format("kafka").has_path is False
