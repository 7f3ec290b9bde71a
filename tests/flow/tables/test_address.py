"""Addresses of tables: which are taken, and what is shown of them."""

from __future__ import annotations

import pytest

import drover
from drover.errors import DroverError
from drover.flow.tables import Address, addresses, parse_address, touched


def a_network() -> drover.Network:
    net = drover.Builder("n")
    source = net.source("s", {"ts": "timestamp", "k": "int"}, time="ts")
    names = net.table("names", {"k": "int", "name": "string"}, key="k")
    kept = net.table("kept", {"k": "int", "ts": "timestamp"}, key="k")
    net.table("spare", {"k": "int"}, key="k")
    source.read_table("r", names, on="k", columns="name").output()
    source.write_table("w", kept)
    return net.build()


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        pytest.param("sqlite:///data/a.db", "/data/a.db", id="three slashes"),
        pytest.param("sqlite:////data/a.db", "/data/a.db", id="four, as SQLAlchemy writes absolute paths"),
        pytest.param("sqlite:///data/some%20tables%3F.db", "/data/some tables?.db", id="escapes"),
    ],
)
def test_paths_of_sqlite(uri: str, path: str) -> None:
    assert Address(uri).path == path


@pytest.mark.parametrize(
    ("uri", "said"),
    [
        pytest.param("mysql://host/db", "must start with sqlite:// or postgresql://", id="another database"),
        pytest.param("sqlite://data/a.db", "absolute path", id="a relative path"),
        pytest.param("sqlite:a.db", "absolute path", id="a path without slashes"),
        pytest.param("sqlite://", "absolute path", id="in memory"),
        pytest.param("", "must start with", id="nothing"),
    ],
)
def test_bad_addresses_are_refused(uri: str, said: str) -> None:
    with pytest.raises(DroverError, match=said):
        Address(uri)


@pytest.mark.parametrize(
    ("uri", "shown"),
    [
        pytest.param("postgresql://me:hush@host/db", "'postgresql://me:***@host/db'", id="before the host"),
        pytest.param("postgresql://host/db?password=hush&x=1", "'postgresql://host/db?password=***&x=1'", id="option"),
        pytest.param("postgresql://me@host:5432/db", "'postgresql://me@host:5432/db'", id="nothing to hide"),
        pytest.param("postgresql://me:hu:s@/h@host/db", "'postgresql://me:***@host/db'", id="not escaped"),
        pytest.param("postgresql://:hush@host/db#t", "'postgresql://:***@host/db#t'", id="without a user"),
        pytest.param("mysql://me:hush@host/db", "'mysql://me:***@host/db'", id="even where it is refused"),
    ],
)
def test_passwords_are_not_shown(uri: str, shown: str) -> None:
    if uri.startswith("mysql"):
        with pytest.raises(DroverError) as caught:
            Address(uri)
        assert shown in str(caught.value)
    else:
        address = Address(uri)
        assert address.shown == shown
        assert "hush" not in repr(address)
        assert "hush" not in address.hide(f"cannot connect to {uri}")


def test_a_password_is_hidden_in_any_form() -> None:
    address = Address("postgresql://me:hu%40sh@host/db")
    assert address.hide("password hu@sh and hu%40sh are wrong") == "password *** and *** are wrong"


def test_a_table_without_an_address_is_in_the_checkpoint() -> None:
    found = addresses(a_network(), {"names": "postgresql://host/db"}, "/some where/50%?#")
    assert set(found) == {"names", "kept"}
    assert found["names"] == Address("postgresql://host/db")
    assert found["kept"].path == "/some where/50%?#/tables.db"
    assert (found["kept"].internal, found["names"].internal) == (True, False)


def test_addresses_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DroverError, match=r"address for table 'nmaes', but the tables of 'n' are names, kept, spare"):
        addresses(a_network(), {"nmaes": "sqlite:///a.db"}, "/c")
    with pytest.raises(DroverError, match=r"table 'kept' has no address, and the checkpoint is not on a local disk"):
        addresses(a_network(), {"names": "sqlite:///a.db"}, None)
    with pytest.raises(DroverError, match="SQLite has no schemas"):
        Address("sqlite:///a.db", schema="s")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        pytest.param("sqlite:///a.db", Address("sqlite:///a.db"), id="no name"),
        pytest.param("sqlite:///a.db#The%20table", Address("sqlite:///a.db", "The table"), id="a name"),
        pytest.param("postgresql://h/d#s.t", Address("postgresql://h/d", "t", "s"), id="a schema and a name"),
        pytest.param("postgresql://u:p#w@h/d", Address("postgresql://u:p#w@h/d"), id="a # in a password"),
    ],
)
def test_a_uri_may_end_with_the_name_of_the_table(text: str, address: Address) -> None:
    assert parse_address(text) == address


def test_which_tables_are_written() -> None:
    assert touched(a_network()) == {"names": False, "kept": True}
