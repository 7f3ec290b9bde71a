from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from drover_lab.catalogue import EXPERIMENTS, FAMILIES, TEXTS
from drover_lab.pages import write_page
from drover_lab.run import run
from drover_lab.table import MARKS

NAMES = list(EXPERIMENTS)
ALONE = [name for name in NAMES if not EXPERIMENTS[name].engine]  # need no Spark
LONG = {"B-fig3", "B-fig8", "H-fig4", "H-fig8"}  # a row of these takes from 2 to 6 s


def test_no_name_is_given_twice() -> None:
    assert len(EXPERIMENTS) == sum(len(family.EXPERIMENTS) for family in FAMILIES)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_is_well_formed(name: str) -> None:
    experiment = EXPERIMENTS[name]
    assert re.fullmatch(r"[A-Z]-((fig|table)\d+(\.\d+)?|day|readings|growth|saturation)(-spark)?", name)
    assert name[0] in TEXTS
    assert len({claim.name for claim in experiment.claims}) == len(experiment.claims) > 0
    assert all(claim.text.endswith(".") for claim in experiment.claims)
    full = experiment.rows()
    quick = experiment.rows(quick=True)
    assert len(quick) < len(full)
    assert {frozenset(row) for row in (*full, *quick)} == {frozenset(full[0])}, "all rows have the same parameters"
    assert not set(full[0]) & {*experiment.columns, *MARKS}
    assert experiment.timed <= set(experiment.columns)
    assert experiment.engine == name.endswith("-spark")
    known = {*full[0], *experiment.columns}
    for panel in experiment.panels:
        assert {panel.x, panel.y, *panel.where} <= known
        assert {panel.line, panel.bound} <= {*known, ""}
        assert any(all(row[key] == value for key, value in panel.where.items()) for row in full), "a panel has rows"


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE)
def test_one_seed_of_the_quick_version_makes_a_page(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS[name]
    result = run(experiment, quick=True, seeds=1)
    assert len(result.rows) == len(experiment.rows(quick=True, seeds=1))
    assert set(result.rows.columns) == {*experiment.rows(quick=True)[0], *experiment.columns, *MARKS}
    for column in experiment.columns:
        assert not result.rows[column].is_null().any()
    assert [verdict.claim for verdict in result.verdicts] == [claim.name for claim in experiment.claims]
    assert all(verdict.measured for verdict in result.verdicts)
    write_page(result, tmp_path)
    text = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert all(f"| `{claim.name}` |" in text for claim in experiment.claims)
    assert (tmp_path / f"{name}.svg").stat().st_size > 0


@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in ALONE])
def test_a_row_depends_on_nothing_but_itself(name: str) -> None:
    experiment = EXPERIMENTS[name]
    rows = experiment.rows(quick=True, seeds=1)
    chosen = [rows[0], rows[-1], rows[0]]
    first, last, again = (experiment.measure(row) for row in chosen)
    untimed = [key for key in experiment.columns if key not in experiment.timed]
    one, other = (pl.DataFrame([{key: found[key] for key in untimed}]) for found in (first, again))
    assert one.equals(other, null_equal=True) or not untimed
    assert set(last) == set(experiment.columns)
