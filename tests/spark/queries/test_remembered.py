from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyarrow.fs import LocalFileSystem

from drover.flow.families.topics import ALL
from drover.flow.query_log.figures import FIGURES, Figures, TopicRates, write_figures
from drover.spark.queries.catalog import QueryCatalog
from drover.spark.queries.remembered import LEAST_WEIGHT, RememberedFigures, remembered
from tests.spark.queries.catalogs import begin, nodes_of, opened, queries

SITE = ("readings", "`site`")


def store(folder: Path, rates: dict[str, float], states: list[int]) -> None:
    table = pl.DataFrame({"value": list(rates), "rate": list(rates.values())})
    rows = [(number, 1.0, 1.0, 0.1 * (number + 1), 1, size) for number, size in enumerate(states)]
    figures = pl.DataFrame(rows, schema=FIGURES, orient="row")
    everything = TopicRates("readings", ALL, pl.DataFrame({"value": [None], "rate": [70.0]}))
    topics = (TopicRates(*SITE, table), everything)
    write_figures(LocalFileSystem(), str(folder), Figures(0, 1.0, 1.0, {}, (0.1,), figures, topics))


def rates(catalog: QueryCatalog) -> dict[object, float]:
    placer = catalog._placer
    return {topic: placer._rates[number] for topic, number in placer._topics.items()}


def test_rates_weights_and_states_survive_a_restart(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.submit(queries(2, 6, 22))  # s2, s6, s2
    placed = nodes_of(begin(first, 0).families)
    store(tmp_path, {"s2": 40.0, "s6": 10.0, "gone": 7.0}, [1000, 0, 0])
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    assert rates(again) == {(*SITE, "s2"): 40.0, (*SITE, "s6"): 10.0}
    assert nodes_of(begin(again, 1).families) == placed
    assert again._placer._herd is not None
    saved = again._placer._herd.snapshot()
    assert (saved.state - saved.state.min()).tolist() == [1000, 0, 0]
    again.submit(queries(10))  # s10 was never measured: it is taken as usual
    assert rates(again)[*SITE, "s10"] == pytest.approx(25.0)


def test_pending_queries_are_placed_by_the_rates_of_the_last_run(tmp_path: Path) -> None:
    first = opened(tmp_path)
    first.submit(queries(2))
    begin(first, 0)
    first.submit(queries(6))
    store(tmp_path, {"s2": 40.0}, [0])
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    assert rates(again) == {(*SITE, "s2"): 40.0, (*SITE, "s6"): 40.0}
    assert sorted(nodes_of(begin(again, 1).families)) == ["q2", "q6"]


def test_damaged_figures_are_no_reason_not_to_start(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = opened(tmp_path)
    first.submit(queries(2))
    begin(first, 0)
    store(tmp_path, {"s2": 40.0}, [0])
    (tmp_path / "queries" / "figures.arrow").write_bytes(b"nothing of the kind")
    again = opened(tmp_path, 0, {"turn": 0, "failed": {}})
    assert rates(again) == {(*SITE, "s2"): 1.0}
    assert "queries are measured anew, because their last measurements are damaged" in caplog.text


def test_weights_are_those_of_families() -> None:
    figures = pl.DataFrame(
        [(0, 0.0, 0.0, 0.3, 0, 0), (1, 0.0, 0.0, 0.1, 0, 0), (2, 0.0, 0.0, 0.0, 0, 0)], schema=FIGURES, orient="row"
    )
    families = pl.DataFrame({"number": [0, 1, 2, 3, 4], "family": ["f", "f", "idle", "f", "new"]})
    found = RememberedFigures(figures).weights(np.arange(6), families)
    assert found.tolist() == pytest.approx([1.5, 1.5, LEAST_WEIGHT, 1.5, 1.0, 1.0])
    assert RememberedFigures().weights(np.arange(2), families).tolist() == [1.0, 1.0]


def test_a_checkpoint_without_figures_remembers_nothing(tmp_path: Path) -> None:
    found = remembered(str(tmp_path))
    assert (found.queries.height, found.rates) == (0, {})
