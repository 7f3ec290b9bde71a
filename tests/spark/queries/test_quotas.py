"""Quotas: a tenant over its limit loses its heaviest queries, and others lose none."""

from __future__ import annotations

from pathlib import Path

from drover.spark.queries.metrics import QueryMetrics
from drover.spark.queries.quotas import QuotaEnforcer
from tests.spark.queries.catalogs import begin, counts, nodes_of, opened, queries


def test_a_tenant_over_its_limit_loses_its_heaviest_query(tmp_path: Path) -> None:
    catalog = opened(tmp_path, acme={"state": 100})
    catalog.submit([*queries(0, 4), *queries(8, tenant="b")])
    (family,) = begin(catalog, 0).families.by_id
    metrics = QueryMetrics()
    metrics.record(2.0, 0.3, [counts(family, state_bytes=[90, 40, 500])])
    QuotaEnforcer(catalog).enforce(metrics.figures())
    assert sorted(nodes_of(begin(catalog, 1).families)) == ["q4", "q8"]
    assert "over its limit: its queries took 130 bytes of state" in str(catalog.query_log.members["parked"][0])


def test_without_limits_nothing_is_parked(tmp_path: Path) -> None:
    catalog = opened(tmp_path)
    catalog.submit(queries(0, 4))
    (family,) = begin(catalog, 0).families.by_id
    metrics = QueryMetrics()
    metrics.record(2.0, 0.3, [counts(family, state_bytes=[2**40, 2**40])])
    QuotaEnforcer(catalog).enforce(metrics.figures())
    assert sorted(nodes_of(begin(catalog, 1).families)) == ["q0", "q4"]
