"""Every place that ARCHITECTURE.md names exists, and the layers are those that are tested."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.test_layers import MAY_IMPORT

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
TABLE = TEXT.partition("## Where to look")[2].partition("\n## ")[0]
PLACES = sorted(set(re.findall(r"`([\w./-]+/[\w./-]*|[\w-]+\.(?:py|md))`", TABLE)))


@pytest.mark.parametrize("place", PLACES)
def test_every_place_exists(place: str) -> None:
    assert (ROOT / place).exists() or (ROOT / "src" / "drover" / place).exists()


def test_every_layer_is_described() -> None:
    layers = {layer for layer in MAY_IMPORT if (ROOT / "src" / "drover" / layer).is_dir()}
    described = set(re.findall(r"`(\w+)`", TEXT.partition("## Layers")[2].partition("`drover_lab` stands")[0]))
    assert layers <= described
