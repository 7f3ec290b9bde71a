"""Subscriptions that were not made up: the data that drover carries, and those that somebody else has."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from drover.errors import DroverError
from drover_lab.table import Value
from drover_lab.zong15 import real
from drover_lab.zong15.real import libraries, problem_of, subscriptions
from tests.drover_lab.verdicts import table, verdict


def edges(folder: Path, text: str) -> Path:
    path = folder / "edges.csv.gz"
    path.write_bytes(gzip.compress(text.encode()))
    return path


def test_users_have_their_articles_once_and_in_order(tmp_path: Path) -> None:
    assert libraries(edges(tmp_path, "user,article\n7,3\n2,9\n7,1\n2,9\n")) == ((9,), (1, 3))


@pytest.mark.parametrize("text", ["user,article\n1,two\n", "user\n1\n", "", "user,article\n1,2,3\n"])
def test_a_file_of_another_kind_is_refused_with_its_name_and_a_way_out(tmp_path: Path, text: str) -> None:
    path = edges(tmp_path, text)
    with pytest.raises(DroverError, match=r"cannot be read as lines of user, article .* unset DROVER_DATA") as caught:
        libraries(path)
    assert str(path) in str(caught.value)


def test_a_file_that_is_gone_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DroverError, match="cannot be read"):
        libraries(tmp_path / "edges.csv.gz")


def test_data_that_drover_carries_are_what_their_page_says() -> None:
    assert len(subscriptions("reviews")) == 40_000
    assert len({source for each in subscriptions("reviews") for source in each}) == 243
    assert len(subscriptions("jobs")) == 25_428
    assert problem_of("jobs", 25_428, 10).m == 17_158


@pytest.mark.parametrize(("part", "worst", "holds"), [(0.11, 1.1, True), (0.4, 3.0, False)])
def test_real_subscriptions(part: float, worst: float, holds: bool) -> None:
    def found(policy: str, **_: Value) -> dict[str, Value]:
        return {"replication": 10 * part if policy == "least-cost" else 10.0, "worst": 10 * worst}

    rows = table({"workload": real.WORKLOADS, "servers": (10,), "policy": real.TEXT}, found)
    assert verdict("H-fig9", "eleven-percent", rows).holds is holds
    assert verdict("H-fig9", "nearly-worst", rows).holds is holds
    assert verdict("H-fig9", "less", rows).holds


@pytest.mark.parametrize("name", real.WORKLOADS)
def test_subscriptions_are_there(name: str) -> None:
    sets = real.subscriptions(name)
    assert len(sets) == {"reviews": 40_000, "jobs": 25_428, "libraries": 5_551}[name]
    assert all(sets)
