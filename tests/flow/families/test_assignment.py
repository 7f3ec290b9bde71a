"""What a batch gets to know about families: places, arrivals, and state that is not needed any more."""

from __future__ import annotations

from drover.flow.families.assignment import arrivals_of, make_family_assignment, unneeded_state, with_families
from drover.flow.families.members import MemberTable, make_members
from drover.flow.schedule import make_schedule
from drover.flow.state.versions import PartState, Version
from drover.flow.watermarks import SourceProgress
from drover.network.queries import shape_of
from drover.placement.plan import Plan
from tests.network.queries.cases import NETWORK, filtering

EVENTS = shape_of(filtering("source = 'a'"), NETWORK).shape
HOT = shape_of(filtering("source = 'a'", stream="s.hot"), NETWORK).shape


def table(family: str, *nodes: int, members: int = 1) -> MemberTable:
    return MemberTable(family, f"content-{family}-{nodes}", nodes, members)


def test_families_without_members_are_left_out() -> None:
    progress = SourceProgress()
    tables = {EVENTS.id: table(EVENTS.id, 0), HOT.id: table(HOT.id, members=0)}
    found = make_family_assignment(NETWORK, progress, [EVENTS, HOT], tables)
    assert found is not None
    assert list(found.shapes) == list(found.member_tables) == list(found.watermarks) == [EVENTS.id]
    assert make_family_assignment(NETWORK, progress, [HOT], tables) is None


def test_the_fingerprint_changes_with_the_members() -> None:
    found = [
        make_family_assignment(NETWORK, SourceProgress(), [EVENTS], {EVENTS.id: table(EVENTS.id, *nodes)})
        for nodes in ((0,), (0,), (1,))
    ]
    prints = [one.fingerprint for one in found if one is not None]
    assert prints[0] == prints[1] != prints[2]


def test_a_family_runs_where_its_members_are_once_its_streams_have_arrived() -> None:
    schedule = make_schedule(NETWORK, Plan(1, 2, {"s": 0}))
    found = with_families(schedule, [EVENTS, HOT], {EVENTS.id: table(EVENTS.id, 0, 1), HOT.id: table(HOT.id, 0, 1)})
    places = {(family, place.node): place.hop for place, families in found.herds.items() for family in families}
    assert places == {(EVENTS.id, 0): 0, (EVENTS.id, 1): 0, (HOT.id, 0): 0, (HOT.id, 1): 1}
    assert {place.node for place in found.wanted["s.hot"]} == {1}  # node 0 has the stream already
    assert found.hops == 2


def test_arrivals_are_the_nodes_that_members_come_from() -> None:
    constants = [("a",)] * 3
    before = make_members(EVENTS, [1, 2, 3], ["a", "b", "c"], [0, 0, 1], constants)
    after = make_members(EVENTS, [1, 2, 4], ["a", "b", "d"], [2, 0, 2], constants)
    assert arrivals_of("f", before, after) == {("f", 2): (0,)}
    assert arrivals_of("f", None, after) == {}


def test_state_of_families_without_members_on_a_node_is_not_needed() -> None:
    parts = {"rows": PartState()}
    version = Version(3, {"s": parts, "f.q0@0": parts, "f.q0@1": parts, "g.q0@0": parts})
    assert unneeded_state(version, {"f": table("f", 1)}) == (("f.q0@0", "rows"), ("g.q0@0", "rows"))
