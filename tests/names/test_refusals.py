"""A name that drover does not allow is refused by field, value, rule and way out, wherever it is given."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
import yaml

from drover.errors import Fault, NetworkError
from drover.network.files.network_file import dumps, inspect
from drover.network.queries.query import examine_query
from drover.network.schema import COLUMN_RULE, NAME_RULE
from tests.names.dealing import COLUMN_PARTS, PARTS
from tests.names.network import (
    CASES,
    COLUMNS,
    PLAIN,
    QUERY_NAMES,
    QUERY_PARTS,
    STREAMS,
    TABLE_PARTS,
    TABLES,
    Naming,
    named_network,
    named_queries,
    named_tables,
)
from tests.names.words import REFUSED, SPOILT_COLUMNS

IN_NETWORK = ("network", *STREAMS, *CASES, *dict.fromkeys(plain for schema in COLUMNS for plain in schema))
IN_QUERIES = ("tenant", *QUERY_NAMES, *QUERY_PARTS, *(plain for plain in COLUMN_PARTS if plain.startswith("q_")))
IN_TABLES = (*TABLES, *TABLE_PARTS)
CASE_RULE = "a case is named like a column"


def check_faults(faults: Iterable[Fault], plain: str, name: str) -> None:
    """Demand that one of the faults is about the name, and that all of them can be read."""
    listed = list(faults)
    assert all(str(fault).isprintable() for fault in listed)
    assert all(fault.rule and fault.way_out.endswith(".") for fault in listed)
    rules = (NAME_RULE, COLUMN_RULE, CASE_RULE)
    own = [fault for fault in listed if fault.rule.startswith(rules)]
    assert own, f"{name!r} as {plain} is refused for other reasons: {listed[:2]}"
    assert all(name[:20] in fault.value or repr(name)[:20] in fault.value for fault in own)
    assert all("Rename" in fault.way_out for fault in own)
    assert all(name in fault.path or fault.path[-1] in ("name", "tenant", "rest") for fault in own)


@pytest.mark.parametrize("plain", [*IN_NETWORK, *IN_TABLES])
def test_the_builder_refuses_it(plain: str) -> None:
    make = named_tables if plain in IN_TABLES else named_network
    for name in REFUSED:
        with pytest.raises(NetworkError) as refused:
            make(Naming({plain: name}))
        check_faults(refused.value.faults, plain, name)


@pytest.mark.parametrize("plain", [*IN_NETWORK, *IN_TABLES])
def test_the_check_of_a_file_refuses_it(plain: str) -> None:
    text = dumps((named_tables if plain in IN_TABLES else named_network)(PLAIN))
    content = yaml.safe_load(text)
    for name in REFUSED:
        network, faults = inspect(json.dumps(renamed(content, plain, name), ensure_ascii=False))
        assert network is None
        assert all(fault.line is not None for fault in faults)
        if name == "\ud800":  # no file of UTF-8 has it, so it is refused before anything is read
            assert [fault.value for fault in faults] == ["holding character U+D800"]
        else:
            check_faults(faults, plain, name)


def renamed(content: Any, plain: str, name: str) -> Any:  # Any: as YAML gives it
    """Return a network file in which a part has another name, in expressions too."""
    if isinstance(content, dict):
        return {renamed(key, plain, name): renamed(value, plain, name) for key, value in content.items()}
    if isinstance(content, list):
        return [renamed(value, plain, name) for value in content]
    if content == plain:
        return name
    if not isinstance(content, str):
        return content
    return content.replace(f"`{plain}`", f"`{name}`").replace(f"parts.{plain}", f"parts.{name}")


@pytest.mark.parametrize("plain", IN_QUERIES)
def test_a_submission_refuses_it(plain: str) -> None:
    network = named_network(PLAIN)
    for name in REFUSED:
        faults = [fault for one in named_queries(Naming({plain: name})) for fault in examine_query(one, network)]
        check_faults(faults, plain, name)


@pytest.mark.parametrize("plain", [*CASES, *(one for one in COLUMN_PARTS if one in IN_NETWORK)])
def test_a_column_has_no_dash(plain: str) -> None:
    for name in SPOILT_COLUMNS:
        with pytest.raises(NetworkError) as refused:
            named_network(Naming({plain: name}))
        check_faults(refused.value.faults, plain, name)


@pytest.mark.parametrize(
    ("names", "says"),
    [
        pytest.param({"c_key": "C_TAG", "c_tag": "c_tag"}, "for Spark it is the same as column", id="columns"),
        pytest.param({"low": "x", "high": "X"}, "the switch already has a case of that name", id="cases"),
        pytest.param({"few": "first"}, "another of that name among the sources", id="an operator and a source"),
        pytest.param({"m_sum": "M_key", "m_key": "m_KEY"}, "already has a column of that name", id="selected columns"),
        pytest.param({"a_count": "Window_Start"}, "already has a column of that name", id="a column of windows"),
        pytest.param({"j_tag": "C_Time"}, "the join's event time has that name already", id="the time of a join"),
    ],
)
def test_twins_are_refused(names: dict[str, str], says: str) -> None:
    with pytest.raises(NetworkError, match=says):
        named_network(Naming(names))


def test_a_table_is_not_called_as_sqlite_itself_would() -> None:
    for name in ("sqlite_", "sqlite_master", "SQLITE_x"):
        with pytest.raises(NetworkError, match="names that begin with sqlite_"):
            named_tables(Naming({"newest": name}))


def test_a_result_has_no_second_column_called_query() -> None:
    for name in ("query", "QUERY"):
        (counting, _) = named_queries(Naming({"q_count": name}))
        (fault,) = examine_query(counting, named_network(PLAIN))
        assert fault.text == (
            "output is 'q_counted', but results have the name of their query in a column 'query'. "
            "Rename that column in a map."
        )


def test_every_part_is_tried() -> None:
    assert {*IN_NETWORK, *IN_TABLES, *IN_QUERIES} == {*PARTS, *COLUMN_PARTS}
