from __future__ import annotations

import pytest
from numpy.random import default_rng

from drover.errors import ProblemError
from drover_lab.trees.links import Cut, LinkModel


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"latency": (0.2, 0.1)}, "latency is", id="latency"),
        pytest.param({"loss": 1.5}, "loss is 1.5", id="loss"),
        pytest.param({"doubled": -0.1}, "doubled is -0.1", id="doubled"),
    ],
)
def test_networks_that_cannot_be_are_refused(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ProblemError, match=words):
        LinkModel(**fields)  # type: ignore[arg-type]  # wrong on purpose


def test_a_message_is_lost_doubled_or_delayed_by_chance() -> None:
    rng = default_rng(0)
    assert list(LinkModel(loss=1.0).arrivals(0, 1, 5.0, rng)) == []
    found = list(LinkModel((1.0, 2.0), doubled=1.0).arrivals(0, 1, 5.0, rng))
    assert len(found) == 2
    assert all(6.0 <= at <= 7.0 for at in found)


def test_a_cut_loses_messages_in_both_directions_until_it_ends() -> None:
    links = LinkModel(cuts=(Cut(0, 1, 10.0, 20.0),))
    rng = default_rng(0)
    sent = {
        (sender, receiver, now): len(list(links.arrivals(sender, receiver, now, rng)))
        for sender, receiver in ((0, 1), (1, 0), (0, 2))
        for now in (9.0, 10.0, 20.0)
    }
    assert [key for key, count in sent.items() if not count] == [(0, 1, 10.0), (1, 0, 10.0)]
