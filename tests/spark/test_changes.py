"""Whether another form of a network may continue from a checkpoint, and what a refusal says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import drover
from drover.errors import DroverError, StateError
from drover.flow.held import HELD
from drover.flow.state.commits import Checkpoint, commit, latest
from drover.flow.state.documents import Commit
from drover.flow.state.layout import state_name
from drover.flow.state.segments import Delta, write_deltas
from drover.flow.state.storage import join, open_root
from drover.network.files.network_file import dumps
from drover.network.model import Network
from drover.spark.changes import (
    NETWORK,
    change_of,
    check_change,
    checksum_of,
    network_of_state,
    note_network,
    noted_network,
    operators_with_rows,
)
from drover.spark.clean_stop import mark_stop
from drover.spark.commit_notes import NetworkChangeover, changeover_to_json

COLUMNS = {"ts": "timestamp", "k": "bigint"}


def network(size: str = "5 s", where: str = "k > 0", *, extra: bool = False, sources: str = "ab") -> Network:
    net = drover.Builder("n")
    found = {name: net.source(name, COLUMNS, time="ts") for name in sources}
    found["a"].aggregate("sums", {"n": "count(*)"}, size=size).output()
    found["a"].filter("some", where).output()
    for name in set(sources) - {"a"}:
        found[name].output()
    if extra:
        found["a"].filter("more", "k > 1").output()
    return net.build()


def committed(root: Path, *, begun: bool = False, notes: dict[str, object] | None = None) -> Checkpoint:
    """Make a checkpoint with one committed batch and a unit with rows; with `begun`, Spark has begun another."""
    fs, path = open_root(str(root))
    note_network(fs, path, network())
    delta = Delta("sums", "panes", pa.table({"at": [1]}), newest=1)
    segments = write_deltas(fs, join(path, "state"), state_name(0, 0, "a"), [delta])
    made = commit(fs, path, Checkpoint(), Commit(0, segments, {}, (), {"spark_batch": 0, **(notes or {})}))
    for folder, last in (("offsets", 1 if begun else 0), ("commits", 0)):
        (root / "spark" / folder).mkdir(parents=True)
        for number in range(last + 1):
            (root / "spark" / folder / str(number)).write_text("v1")
    (root / "spark" / "metadata").write_text("{}")
    return made


def check(root: Path, after: Network, allowed: bool | list[str] = False, command: str | None = None) -> None:
    fs, path = open_root(str(root))
    change = change_of(fs, path, latest(fs, path), after)
    if change is not None:
        check_change(path, change, allowed, command)


@pytest.mark.parametrize(
    ("after", "allowed"),
    [
        pytest.param(network(), False, id="nothing changed"),
        pytest.param(network(extra=True), False, id="a new operator"),
        pytest.param(network(where="k > 2"), False, id="a filter has no state to lose"),
        pytest.param(network(size="6 s"), True, id="everything is allowed"),
        pytest.param(network(size="6 s"), ["sums", "unknown"], id="it is allowed by name"),
    ],
)
def test_a_change_that_loses_nothing_or_is_allowed_passes(
    tmp_path: Path, after: Network, allowed: bool | list[str]
) -> None:
    committed(tmp_path)
    check(tmp_path, after, allowed)
    assert noted_network(*open_root(str(tmp_path))) == network()  # a check writes nothing


def test_a_refusal_lists_everything_and_gives_the_command(tmp_path: Path) -> None:
    committed(tmp_path)
    net = drover.Builder("n")
    for name in "ab":
        net.source(name, COLUMNS, time="ts").output()
    with pytest.raises(DroverError) as raised:
        check(tmp_path, net.build(), command="drover run 'my file.yaml'")
    assert str(raised.value).splitlines() == [
        f"the checkpoint {tmp_path} was made by another form of network 'n':",
        "  operators.sums: gone: its state is dropped; if it has another name now, write was at that operator",
        "To continue with these changes: drover run 'my file.yaml' --allow-changes sums",
        "Without a name, all changes are allowed. To keep the state, take the changes back.",
    ]
    with pytest.raises(DroverError, match=r"drover\.run\(\.\.\., allow_changes=\['sums'\]\)"):
        check(tmp_path, net.build())


def test_other_sources_are_refused_whatever_is_allowed(tmp_path: Path) -> None:
    committed(tmp_path)
    with pytest.raises(DroverError, match=r"sources.c: refused: it is new.*\nTake these back"):
        check(tmp_path, network(sources="abc"), allowed=True)


@pytest.mark.parametrize(
    ("after", "passes"),
    [
        pytest.param(network(), True, id="nothing changed"),
        pytest.param(network(extra=True), True, id="a new operator"),
        pytest.param(network(where="k > 2"), False, id="another filter would give other rows"),
        pytest.param(network(size="6 s"), False, id="a window that starts anew"),
    ],
)
def test_a_begun_batch_is_finished_by_the_network_that_began_it(tmp_path: Path, after: Network, passes: bool) -> None:
    committed(tmp_path, begun=True)
    if passes:
        check(tmp_path, after, allowed=True)
    else:
        expected = rf"Batch 1 was begun by the network as it was.*network: {tmp_path}/network.yaml"
        with pytest.raises(DroverError, match=expected):
            check(tmp_path, after, allowed=True)
    mark_stop(*open_root(str(tmp_path)), 0)  # Spark has noted the offsets, but no batch was begun
    check(tmp_path, after, allowed=True)


def test_before_the_first_batch_any_network_may_start(tmp_path: Path) -> None:
    root = open_root(str(tmp_path))
    check(tmp_path, network())
    note_network(*root, network())
    check(tmp_path, network(size="6 s", sources="abc"))


@pytest.mark.parametrize("died", [True, False], ids=["the run died after the commit", "the file was written"])
def test_the_commit_of_a_changeover_decides_which_network_the_state_has(tmp_path: Path, died: bool) -> None:
    after = network(size="6 s")
    changeover = NetworkChangeover(0, dumps(after), checksum_of(network()), {})
    made = committed(tmp_path, notes=changeover_to_json(changeover))
    if not died:
        note_network(*open_root(str(tmp_path)), network(size="7 s"))
    found = network_of_state(*open_root(str(tmp_path)), made)
    assert found == (after if died else network(size="7 s"))


def test_rows_of_operators_without_state_count_unless_they_wait_for_a_table(tmp_path: Path) -> None:
    fs, path = open_root(str(tmp_path))
    keys = [("sums[1]", "panes"), ("some", HELD), ("keep", "pending"), ("f0.q0@1", "panes")]
    deltas = [Delta(unit, part, pa.table({"at": [1]})) for unit, part in keys]
    segments = write_deltas(fs, join(path, "state"), state_name(0, 0, "a"), deltas)
    made = commit(fs, path, Checkpoint(), Commit(0, segments, {}, (), {}))
    assert operators_with_rows(made.version) == {"sums", "some"}


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param(lambda data: data.replace(b"5 s", b"6 s"), id="edited"),
        pytest.param(lambda data: data[:-5], id="cut off"),
        pytest.param(lambda data: bytes([data[0] ^ 0x80]) + data[1:], id="a flipped bit"),
        pytest.param(lambda _: b"", id="emptied"),
    ],
)
def test_a_note_that_was_changed_is_refused(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    committed(tmp_path)
    path = tmp_path / NETWORK
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(StateError, match="another text"):
        check(tmp_path, network(extra=True))


def test_a_checkpoint_with_batches_must_have_a_note(tmp_path: Path) -> None:
    committed(tmp_path)
    (tmp_path / NETWORK).unlink()
    with pytest.raises(StateError, match=NETWORK):
        check(tmp_path, network())


@pytest.mark.parametrize("place", [0, 40, -40])
@pytest.mark.parametrize("bit", [0, 7], ids=["another letter", "no text any more"])
def test_a_flipped_bit_in_the_noted_network_names_the_file(tmp_path: Path, place: int, bit: int) -> None:
    fs, root = open_root(tmp_path)
    note_network(fs, root, network())
    path = tmp_path / "network.yaml"
    data = bytearray(path.read_bytes())
    data[place] ^= 1 << bit
    path.write_bytes(data)
    with pytest.raises(StateError, match=r"network\.yaml: expected the network as it was noted"):
        noted_network(fs, root)


def test_a_new_form_is_announced_before_it_is_written(tmp_path: Path) -> None:
    fs, root = open_root(tmp_path)
    seen: list[tuple[bytes, bool]] = []
    path = tmp_path / "network.yaml"
    for _ in range(2):  # the second time there is nothing to write
        note_network(fs, root, network(), announce=lambda data: seen.append((data, path.exists())))
    assert seen == [(path.read_bytes(), False)]
