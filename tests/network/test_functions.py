from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from drover.errors import DroverError
from drover.network.functions import Declaration, columns_of, declaration_of, function, path_of, resolve
from drover.network.schema import Column
from drover.network.types import BIGINT, INT, TIMESTAMP
from tests import user_functions


def test_columns_are_given_as_text_or_as_types() -> None:
    assert columns_of({"at": "timestamp", "n": BIGINT}) == (Column("at", TIMESTAMP), Column("n", BIGINT))


def test_a_marked_function_declares_its_columns() -> None:
    expected = Declaration((Column("seen", BIGINT),), None, keeps_state=True, cost="medium", frame="polars")
    assert declaration_of(user_functions.rows_so_far) == expected
    assert declaration_of(user_functions.nulls_per_row).columns == (Column("nulls", INT),)


def test_a_marked_function_is_still_the_function() -> None:
    frame = pl.DataFrame({"a": [1, None], "b": [None, None]})
    assert user_functions.nulls_per_row(frame)["nulls"].to_list() == [1, 2]
    first, state = user_functions.rows_so_far(frame, None)
    second, _state = user_functions.rows_so_far(frame, state)
    assert first["seen"].to_list() + second["seen"].to_list() == [1, 2, 3, 4]


def test_a_function_is_found_again_by_its_path() -> None:
    path = path_of(user_functions.nulls_per_row)
    assert path == "tests.user_functions:nulls_per_row"
    assert resolve(path) is user_functions.nulls_per_row


def test_a_function_inside_another_has_no_path() -> None:
    @function(columns={"x": "int"})
    def inner(frame: pl.DataFrame) -> pl.DataFrame:
        return frame

    with pytest.raises(DroverError, match="Define it at the top level of an importable module"):
        path_of(inner)


def test_a_function_of_the_main_module_has_no_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_functions.nulls_per_row, "__module__", "__main__")
    with pytest.raises(DroverError, match="of module __main__ cannot be found"):
        path_of(user_functions.nulls_per_row)


@pytest.mark.parametrize(
    ("path", "says"),
    [
        pytest.param("no.such.module:f", "cannot be imported", id="no such module"),
        pytest.param("leaves:f", "module 'leaves' raises SystemExit: 3. Correct the module", id="a script that ends"),
        pytest.param("breaks:f", "module 'breaks' raises ValueError: no", id="a module that fails"),
        pytest.param("tests.user_functions:lost", "has no function 'lost'", id="no such function"),
        pytest.param("tests.user_functions:pl", "has no function 'pl'", id="something that is no function"),
        pytest.param("tests.user_functions:unmarked", "unmarked is not marked", id="a function without the mark"),
        pytest.param("os:system", "system is not marked", id="a function of the standard library"),
    ],
)
def test_a_path_to_no_function_is_refused(
    path: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)", "utf-8")
    (tmp_path / "breaks.py").write_text("raise ValueError('no')", "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(DroverError, match=says):
        resolve(path)
