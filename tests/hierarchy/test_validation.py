"""Messages that no node of this tree would send are refused before they reach a machine."""

from __future__ import annotations

import pytest

from drover.hierarchy.codec import CodecError
from drover.hierarchy.messages import (
    Bundle,
    Clear,
    DemandRequest,
    Handover,
    HandoverReply,
    Message,
    OfferReply,
    OfferRequest,
    Take,
)
from drover.hierarchy.node_state import NodeConfig
from drover.hierarchy.queries import Queries
from drover.hierarchy.tree import balanced
from drover.hierarchy.validation import check_message

PLACE = NodeConfig(1, balanced(7), Queries(((), (0,)), ((3,), ())), (10.0, 1.0))
ROUND = (0, 1, 1)
BUNDLE = Bundle((0, 1), ((1.0, 0.0), (2.0, 0.5)))


@pytest.mark.parametrize(
    ("message", "words"),
    [
        pytest.param(Clear(0, 2, ROUND), "from node 0 to node 2, .* neighbour to 1", id="to another"),
        pytest.param(Clear(2, 1, ROUND), "from node 2 to node 1, .* neighbour to 1", id="not from a neighbour"),
        pytest.param(DemandRequest(0, 1, ROUND, (1.0,)), "2 numbers", id="a resource less"),
        pytest.param(DemandRequest(0, 1, ROUND, (1.0, -1.0)), "at least 0", id="less than nothing"),
        pytest.param(OfferRequest(0, 1, ROUND, (Bundle((), ()),)), "0 sizes for 0", id="nothing"),
        pytest.param(Take(0, 1, ROUND, (Bundle((0, 1), ((1.0, 1.0),)),)), "1 sizes for 2", id="a size less"),
        pytest.param(Handover(0, 1, ROUND, 1, (Bundle((2,), ((1.0, 1.0),)),)), "among the 2", id="no such operator"),
        pytest.param(OfferReply(0, 1, ROUND, (Bundle((1, 1), BUNDLE.sizes),)), "twice", id="an operator twice"),
        pytest.param(HandoverReply(0, 1, ROUND, 1, (-1,)), "among the 2", id="an operator below 0"),
    ],
)
def test_what_could_not_be_added_up_is_refused(message: Message, words: str) -> None:
    says = rf"^{type(message).__name__} .*{words}.*\. Run the same version of drover on all nodes\.$"
    with pytest.raises(CodecError, match=says):
        check_message(message, PLACE)


def test_what_neighbours_say_is_heard() -> None:
    """All messages between the machines of tests/hierarchy/world.py pass the check, too."""
    check_message(Handover(0, 1, ROUND, 1, (BUNDLE,)), PLACE)
    check_message(HandoverReply(3, 1, ROUND, 1, ()), PLACE)
    check_message(DemandRequest(3, 1, ROUND, (0.0, 0.5)), PLACE)
    check_message(Clear(3, 1, ROUND), PLACE)
