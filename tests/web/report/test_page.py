from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace

import pytest

from drover.control.record import PeriodOutcome, PeriodRecord, RefusedMove
from drover.network.files.network_file import loads
from drover.placement.plan import Move, Plan, round_robin
from drover.web.charts import POINTS
from drover.web.report import RunFiles, build_report, render_page
from drover.web.report.page import SECTIONS
from tests.cli.golden import agrees
from tests.web.parsed import Node, parse
from tests.web.sample_run import proposal, record, records, run_files

HOSTILE = "</title></style><script>alert('x')</script><img src=//evil.example onerror=alert(1)>\"'\u202e\x1b"


def made(given: RunFiles) -> Node:
    return parse(render_page(build_report(given)))


@pytest.fixture(scope="module")
def root() -> Node:
    return made(run_files())


def test_the_page_of_a_small_run() -> None:
    """Run with DROVER_UPDATE=1 to write the golden file again, and look at it in a browser."""
    assert agrees("traffic.report.html", render_page(build_report(run_files())))


def test_a_page_has_a_language_a_title_and_headings_in_order(root: Node) -> None:
    assert next(root.all("html")).attributes["lang"] == "en"
    assert next(root.all("title")).text == "drover report: traffic"
    headings = [(node.tag, node.text) for node in root.all("h1", "h2", "h3")]
    assert headings == [("h1", "Report on traffic"), ("h2", "Summary"), *(("h2", title) for title in SECTIONS)]


def test_ids_are_unique_and_every_reference_finds_one(root: Node) -> None:
    ids = Counter(node.attributes["id"] for node in root.all() if "id" in node.attributes)
    assert [name for name, times in ids.items() if times > 1] == []
    wanted = [word for node in root.all() for word in node.attributes.get("aria-labelledby", "").split()]
    wanted += [node.attributes["href"].removeprefix("#") for node in root.all("a")]
    wanted += re.findall(r"url\(#([\w-]+)\)", render_page(build_report(run_files())))
    assert wanted
    assert [name for name in wanted if name not in ids] == []


def test_tables_have_captions_and_headers_and_as_many_cells_in_every_row(root: Node) -> None:
    tables = list(root.all("table"))
    assert len(tables) >= 8
    for table in tables:
        assert next(table.all("caption")).text
        head, *rows = table.all("tr")
        assert {cell.attributes["scope"] for cell in head.all("th", "td")} == {"col"}
        for row in rows:
            cells = list(row.all("th", "td"))
            assert len(cells) == len(list(head.all("th")))
            assert [cell.attributes.get("scope") for cell in cells] == ["row", *[None] * (len(cells) - 1)]


def test_pictures_have_a_title_and_a_description_in_words(root: Node) -> None:
    pictures = list(root.all("svg"))
    assert len(pictures) == 5
    for picture in pictures:
        assert picture.attributes["role"] == "img"
        title, description = [child for child in picture.children if isinstance(child, Node)][:2]
        assert (title.tag, description.tag) == ("title", "desc")
        assert title.text
        assert description.text
        assert picture.attributes["aria-labelledby"] == f"{title.attributes['id']} {description.attributes['id']}"


def test_scrolling_elements_can_be_reached_with_the_keyboard(root: Node) -> None:
    regions = [node for node in root.all("div") if node.attributes.get("class") == "scroll"]
    assert regions
    assert all(node.attributes["tabindex"] == "0" and node.attributes["aria-label"] for node in regions)


def test_every_figure_of_a_short_run_is_on_the_page(root: Node) -> None:
    body = root.text
    for each in records():
        for load in each.loads:
            assert f"{100 * load:.1f} %" in body
        for name in ("batch_seconds", "slowest_batch", "slowest_node"):
            assert f"{1000 * each.figures[name]:.3g} ms" in body
        assert f"{each.figures['replication']:.3g}" in body
        assert f"{each.figures['routed_bytes'] / each.figures['seconds'] / 1000:.3g} kB" in body


def test_units_are_there_with_node_load_state_and_last_decision(root: Node) -> None:
    units = next(table for table in root.all("table") if next(table.all("caption")).text.startswith("Units"))
    rows = {next(row.all("th")).text: [cell.text for cell in row.all("td")] for row in units.all("tr")}
    assert rows["counts"][:4] == ["2", "0.1", "20.0 %", "64 bytes"]  # 0.2 s in 2 s, on a node of capacity 0.5
    assert rows["counts"][4] == "period 10: stays, it has moved lately and rests for 7 more periods"
    assert rows["requests"] == ["0", "0.05", "5.0 %", "0 bytes", "-"]


def test_operators_in_the_drawing_say_node_and_load(root: Node) -> None:
    (drawing,) = (node for node in root.all("svg") if node.attributes["class"] == "network")
    boxes = {next(group.all("title")).text.split(":")[0]: group.text for group in drawing.all("g")}
    assert "node 2, load 10.0 %" in boxes["aggregate counts"]
    assert "node 0, load 5.0 %" in boxes["union requests"]
    assert "400 rows per second" in boxes["source east"]


def test_the_page_fetches_runs_and_sends_nothing(root: Node) -> None:
    text = render_page(build_report(run_files()))
    assert [
        tag for tag in ("script", "link", "img", "iframe", "object", "form", "base", "use") if list(root.all(tag))
    ] == []
    assert re.findall(r"(?:https?:)?//\w|@import|javascript:|src=|style=", text) == []
    assert [name for node in root.all() for name in node.attributes if name.startswith("on")] == []
    assert {node.attributes["href"][0] for node in root.all("a")} == {"#"}


def test_the_policy_allows_the_style_sheet_and_nothing_else(root: Node) -> None:
    (given,) = (
        node.attributes["content"]
        for node in root.all("meta")
        if node.attributes.get("http-equiv") == "Content-Security-Policy"
    )
    digest = base64.b64encode(hashlib.sha256(next(root.all("style")).text.encode()).digest()).decode()
    assert given == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def hostile() -> RunFiles:
    """A run in which everything that can be a text is hostile; a network checks its names, so it comes without one."""
    move = Move(HOSTILE, 0, 1, 5.0)
    bad = replace(proposal(), id=HOSTILE, moves=(move,), reason=HOSTILE)
    found = [
        replace(
            record(1), kind=PeriodOutcome.MOVED, reason=HOSTILE, proposal=bad, refusals=(RefusedMove(move, HOSTILE),)
        ),
        replace(record(2), kind=PeriodOutcome.REFUSED, reason=HOSTILE, proposal=bad, plan=2),
    ]
    given = run_files()
    settings = replace(given.settings, pins={HOSTILE: 1}) if given.settings is not None else None
    return replace(
        given,
        checkpoint=HOSTILE,
        name=HOSTILE,
        network=None,
        plan=Plan(2, 3, {HOSTILE: 1}),
        settings=settings,
        records=tuple(found),
        missing=(HOSTILE,),
    )


def test_hostile_texts_stay_texts() -> None:
    found = made(hostile())
    assert list(found.all("script", "img")) == []
    shown = HOSTILE.replace("\u202e", "\\u202e").replace("\x1b", "\\x1b")
    assert next(found.all("title")).text == f"drover report: {shown}"
    assert found.text.count(shown) >= 12
    assert [node.tag for node in found.all() if "alert" in "".join(node.attributes)] == []


def test_hostile_expressions_in_a_network_stay_texts() -> None:
    text = (
        "drover: 1\nname: evil\nsources: {s: {columns: {ts: timestamp, url: string}, time: ts}}\n"
        "operators: {f: {kind: filter, input: s, where: \"url <> '</text></svg><script>alert(1)</script>'\"}}\n"
        "outputs: [f]\n"
    )
    network = loads(text)
    found = made(RunFiles("x", "evil", network, round_robin(network, 2)))
    assert list(found.all("script")) == []
    assert "</svg><script>" in found.text


def test_an_empty_checkpoint_still_gives_every_section() -> None:
    found = made(RunFiles("x", missing=("the plan: none",)))
    assert [node.text for node in found.all("h2")] == ["Summary", *SECTIONS]
    assert next(found.all("h3")).text == "Missing or incomplete"
    assert "the plan: none" in found.text


def long_run(periods: int, nodes: int, units: int) -> RunFiles:
    """An hour in which much was decided: a change of plan every ten periods, and refusals in all others."""
    found: list[PeriodRecord] = []
    for period in range(1, periods + 1):
        load = tuple(0.2 + (period * (i + 3) % 97) / 200 for i in range(nodes))
        number = 1 + (period - 1) // 10
        base = replace(record(period), loads=load, plan=number, figures={**record(period).figures, "seconds": 1.0})
        moves = tuple(Move(f"operator_number_{(period * 7 + j) % units}", 0, 1, 1e6) for j in range(10))
        if period % 10 == 0:
            base = replace(base, kind=PeriodOutcome.MOVED, proposal=replace(proposal(), moves=moves))
        else:
            base = replace(
                base, refusals=tuple(RefusedMove(move, f"costs {period} s more than it wins back") for move in moves)
            )
        found.append(base)
    filters = "\n".join(f"  operator_number_{j}: {{kind: filter, input: s, where: 'a > {j}'}}" for j in range(units))
    names = ", ".join(f"operator_number_{j}" for j in range(units))
    network = loads(
        f"drover: 1\nname: wide\nsources: {{s: {{columns: {{ts: timestamp, a: int}}, time: ts}}}}\n"
        f"operators:\n{filters}\noutputs: [{names}]\n"
    )
    plan = replace(round_robin(network, nodes), number=1 + periods // 10)
    return replace(run_files(), network=network, plan=plan, records=tuple(found), settings=None)


@pytest.mark.parametrize(("nodes", "units"), [(4, 40), (40, 300)])
def test_an_hour_of_periods_stays_below_a_megabyte(nodes: int, units: int) -> None:
    text = render_page(build_report(long_run(3600, nodes, units)))
    assert len(text.encode()) < 1_000_000
    paths = [path.attributes["d"] for path in parse(text).all("path")]
    assert [path for path in paths if not re.fullmatch(r"M[-\d. lLHVCAz]+", path)] == []
    longest = max(
        len(path.attributes["d"].split("l"))
        for path in parse(text).all("path")
        if path.attributes["class"][:4] == "line"
    )
    assert 2 < longest <= POINTS


def test_omitted_parts_are_named() -> None:
    found = made(long_run(3600, 20, 700)).text
    assert "200 rows not shown: the least busy." in found
    assert "160 rows not shown: the oldest." in found
    assert "700 operators are too many to draw; see the table of units." in found
    assert "others, max" in found
