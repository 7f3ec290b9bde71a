"""Queries of a stopped run: listed and dropped from the checkpoint alone."""

from __future__ import annotations

import shutil
from pathlib import Path

from drover.spark.queries import stopped
from tests.spark.queries.catalogs import begin, nodes_of, opened, queries


def test_a_stopped_run_lists_and_drops(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 1, 2, tenant="b"))
    shutil.rmtree(tmp_path / "families", ignore_errors=True)
    found = stopped.table(str(tmp_path))
    assert found.select("query", "tenant", "state").rows() == [(f"q{n}", "b", "waiting") for n in range(3)]
    assert stopped.drop(str(tmp_path), ["q1"], None, every=False) == 1
    assert stopped.table(str(tmp_path), "b")["query"].to_list() == ["q0", "q2"]
    assert stopped.table(str(tmp_path), "unknown").height == 0
    assert sorted(nodes_of(begin(opened(tmp_path), 0).families)) == ["q0", "q2"]
