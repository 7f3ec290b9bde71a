"""Which changes of a network a checkpoint survives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import drover
from drover.errors import DroverError, StateError
from drover.flow.state.storage import open_root
from drover.network.model import Network
from drover.spark.changes import NETWORK, check_network, differences, noted_network

COLUMNS = {"ts": "timestamp", "k": "bigint"}


def network(
    sources: tuple[str, ...] = ("a", "b"), size: str = "5 s", where: str | None = "k > 0", extra: bool = False
) -> Network:
    net = drover.Builder("n")
    found = {name: net.source(name, COLUMNS, time="ts") for name in sources}
    found["a"].aggregate("sums", {"n": "count(*)"}, size=size).output()
    if where is not None:
        found["a"].filter("some", where).output()
    for name in sources[1:] if sources[0] == "a" else sources[:1]:
        found[name].output()
    if extra:
        found["a"].filter("more", "k > 1").output()
    return net.build()


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        pytest.param(network(), [], id="nothing"),
        pytest.param(network(extra=True), [], id="a new operator"),
        pytest.param(network(where=None), [], id="an operator without state is gone"),
        pytest.param(network(where="k > 2"), ["operator some has changed"], id="another condition"),
        pytest.param(network(size="6 s"), ["operator sums has changed"], id="another window"),
        pytest.param(network(("a",)), ["source b is gone"], id="a source is gone"),
        pytest.param(network(("a", "b", "c")), ["source c is new"], id="a source is new"),
        pytest.param(network(("b", "a")), ["sources are in another order: b, a after a, b"], id="another order"),
    ],
)
def test_differences_are_named(after: Network, expected: list[str]) -> None:
    assert list(differences(network(), after)) == expected


def test_a_state_without_its_operator_is_named() -> None:
    net = drover.Builder("n")
    for name in "ab":
        net.source(name, COLUMNS, time="ts").output()
    assert "operator sums, which has state, is gone" in list(differences(network(), net.build()))


def test_a_network_is_noted_and_changes_that_do_no_harm_replace_it(tmp_path: Path) -> None:
    root = open_root(tmp_path)
    assert noted_network(*root) is None
    check_network(*root, network(), begun=False)
    assert noted_network(*root) == network()
    check_network(*root, network(extra=True), begun=True)
    assert noted_network(*root) == network(extra=True)


def test_a_refused_network_leaves_no_trace(tmp_path: Path) -> None:
    root = open_root(tmp_path)
    check_network(*root, network(), begun=False)
    with pytest.raises(DroverError, match="another form of network 'n': operator sums has changed"):
        check_network(*root, network(size="6 s"), begun=True)
    assert noted_network(*root) == network()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda text: text.replace("5 s", "6 s"), id="edited"),
        pytest.param(lambda text: text[:-5], id="cut off"),
    ],
)
def test_a_note_that_was_changed_is_refused(tmp_path: Path, harm: Callable[[str], str]) -> None:
    root = open_root(tmp_path)
    check_network(*root, network(), begun=False)
    path = tmp_path / NETWORK
    path.write_text(harm(path.read_text()))
    with pytest.raises(StateError, match="another text"):
        check_network(*root, network(extra=True), begun=True)


def test_a_checkpoint_with_batches_must_have_a_note(tmp_path: Path) -> None:
    with pytest.raises(StateError, match=NETWORK):
        check_network(*open_root(tmp_path), network(), begun=True)


@pytest.mark.parametrize("place", [0, 40, -40])
@pytest.mark.parametrize("bit", [0, 7], ids=["another letter", "no text any more"])
def test_a_flipped_bit_in_the_noted_network_names_the_file(tmp_path: Path, place: int, bit: int) -> None:
    fs, root = open_root(tmp_path)
    check_network(fs, root, network(), begun=False)
    path = tmp_path / "network.yaml"
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(StateError, match=r"network\.yaml: expected the network as it was noted"):
        check_network(fs, root, network(), begun=True)
    with pytest.raises(StateError, match=r"network\.yaml: expected the network as it was noted"):
        noted_network(fs, root)


def test_a_new_form_is_announced_before_it_is_written(tmp_path: Path) -> None:
    fs, root = open_root(tmp_path)
    seen: list[tuple[bytes, bool]] = []
    path = tmp_path / "network.yaml"
    for _ in range(2):  # the second time there is nothing to write
        check_network(fs, root, network(), begun=False, announce=lambda data: seen.append((data, path.exists())))
    assert seen == [(path.read_bytes(), False)]
