from __future__ import annotations

import subprocess
import sys

import pytest

import drover


def test_dir_lists_the_public_names_and_nothing_else() -> None:
    assert dir(drover) == sorted(drover.__all__)


@pytest.mark.parametrize("name", drover.__all__)
def test_every_public_name_is_found(name: str) -> None:
    assert getattr(drover, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        drover.nothing  # noqa: B018 - the access is the point


def test_importing_drover_imports_neither_spark_nor_polars() -> None:
    code = "import sys, drover; print(sorted({'pyspark', 'polars'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"
