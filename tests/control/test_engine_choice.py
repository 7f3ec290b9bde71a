"""The choice of an engine: what fits is taken, what was named is taken or refused, and the reason is told."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drover.control.engine_choice import EngineChoice, EngineInUse, SparkSlots, choose_engine, engine_choice
from drover.errors import DroverError

ENCRYPTED = SparkSlots(9, "spark.ssl.enabled")


def test_an_unknown_engine_is_refused_with_those_that_exist() -> None:
    with pytest.raises(DroverError, match=r"engine is 'shufle', but must be one of auto, .*Did you mean shuffle"):
        engine_choice("shufle")


@given(st.integers(1, 50), st.integers(1, 50))
def test_auto_takes_resident_nodes_if_each_has_a_slot_and_one_is_left(slots: int, nodes: int) -> None:
    found = choose_engine(EngineChoice.AUTO, SparkSlots(slots), nodes)
    assert (found.engine is EngineChoice.RESIDENT) == (slots >= nodes + 1)
    assert found.why


@pytest.mark.parametrize("choice", [EngineChoice.RESIDENT, EngineChoice.SHUFFLE])
def test_an_engine_that_was_named_is_taken_whatever_fits(choice: EngineChoice) -> None:
    assert choose_engine(choice, SparkSlots(1), 7) == EngineInUse(choice)


def test_only_resident_nodes_keep_slots_that_reading_needs() -> None:
    assert [EngineInUse(choice).readers for choice in (EngineChoice.RESIDENT, EngineChoice.SHUFFLE)] == [1, 0]


@pytest.mark.parametrize(
    ("slots", "words"),
    [
        pytest.param(3, "engine resident, because 2 nodes and a reader fit into 3 slots of Spark", id="it fits"),
        pytest.param(1, "engine shuffle, because 2 nodes and a reader do not fit into 1 slot of Spark", id="too small"),
    ],
)
def test_the_reason_is_reported(slots: int, words: str) -> None:
    assert str(choose_engine(EngineChoice.AUTO, SparkSlots(slots), 2)) == words


def test_an_engine_that_was_named_needs_no_reason() -> None:
    assert str(EngineInUse(EngineChoice.SHUFFLE)) == "engine shuffle"


def test_where_spark_encrypts_no_node_sends_rows_in_the_clear() -> None:
    with pytest.raises(DroverError, match=r"spark\.ssl\.enabled is on, and resident nodes do not encrypt") as raised:
        choose_engine(EngineChoice.RESIDENT, ENCRYPTED, 2)
    assert "pip install 'drover[tls]'" in str(raised.value)
    found = choose_engine(EngineChoice.AUTO, ENCRYPTED, 2)
    assert (found.engine, found.why.partition(" ")[0]) == (EngineChoice.SHUFFLE, "spark.ssl.enabled")
    assert choose_engine(EngineChoice.SHUFFLE, ENCRYPTED, 2) == EngineInUse(EngineChoice.SHUFFLE)


def test_nodes_that_can_encrypt_do_so_where_spark_does() -> None:
    spark = SparkSlots(3, "spark.ssl.enabled", can_encrypt=True)
    named = choose_engine(EngineChoice.RESIDENT, spark, 2)
    assert named == EngineInUse(EngineChoice.RESIDENT, encrypted_by="spark.ssl.enabled")
    assert str(named) == "engine resident; nodes encrypt, because spark.ssl.enabled is on"
    assert str(choose_engine(EngineChoice.AUTO, spark, 2)) == (
        "engine resident, because 2 nodes and a reader fit into 3 slots of Spark; "
        "nodes encrypt, because spark.ssl.enabled is on"
    )
    assert str(choose_engine(EngineChoice.AUTO, spark, 3)) == (
        "engine shuffle, because 3 nodes and a reader do not fit into 3 slots of Spark"
    )
    assert choose_engine(EngineChoice.SHUFFLE, spark, 2) == EngineInUse(EngineChoice.SHUFFLE)
