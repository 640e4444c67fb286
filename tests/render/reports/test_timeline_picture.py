"""The saved picture of a timeline is small, says in words what it shows, and holds no markup of a session."""

import base64
import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from tests.render.sample_parts import SOME_PAYLOADS
from tests.sample_size import thinned

from palimpsest.render.content.phrases import count
from palimpsest.render.reports.saved_inspector import MAX_SAVED_CHARS, saved_inspector
from palimpsest.render.reports.table import ReportTable, TableColumn
from palimpsest.render.reports.timeline_picture import (
    TimelineMark,
    TimelinePicture,
    timeline_svg,
)

SVG = "{http://www.w3.org/2000/svg}"


def picture(requests: int, title: str = "Penguins", sentence: str = "It grows.") -> TimelinePicture:
    """Return a window that grows, of three kinds."""
    return TimelinePicture(
        title=title,
        sentence=sentence,
        names=("user", "output", "no such kind"),
        tokens_by_kind=tuple(tuple(range(start, start + requests)) for start in (10, 200, 0)),
        limits=(1_000,) * requests,
        marks=tuple(
            TimelineMark(request, kind)
            for request in range(0, requests, 2)
            for kind in ("break", "prune", "compact")
        ),
    )


def test_the_layers_stand_on_each_other_below_the_limit() -> None:
    svg = ElementTree.fromstring(timeline_svg(picture(4)))

    assert svg.find(f"{SVG}title").text == "Penguins"  # type: ignore[union-attr]
    assert svg.find(f"{SVG}desc").text == "It grows."  # type: ignore[union-attr]
    paths = svg.findall(f"{SVG}path")
    tops = [int(path.get("d", "").split("V")[1].split("H")[0]) for path in paths[:3]]
    assert tops == sorted(tops), "the highest layer is drawn first, and the lower ones over it"
    words = "".join(svg.itertext())
    for name in ("you", "output", "no such kind", "cache break", "pruned", "compacted", "limit"):
        assert name in words


@pytest.mark.parametrize("requests", [0, 1, 161, 100_000])
def test_it_has_the_same_size_however_long_the_session_is(requests: int) -> None:
    made = timeline_svg(picture(requests))

    ElementTree.fromstring(made)
    assert len(made) < 20_000


def test_what_a_cell_saves_is_bounded_and_leaves_out_tables_that_do_not_fit() -> None:
    column = TableColumn("word", "word")
    tables = [ReportTable(f"Table {n}", (column,), (("x" * 30_000,),)) for n in range(4)]

    made = saved_inspector(
        "A session", picture(50_000), tables, ["One." * 500] * 40, css_class="plm-inspect-1"
    )

    assert len(made) <= MAX_SAVED_CHARS
    assert "Table 0" in made
    assert "Table 3" not in made
    assert made.endswith("</div></div>")


@pytest.mark.parametrize("payload", thinned(SOME_PAYLOADS, 3, 2))
def test_a_payload_is_a_word_wherever_it_stands(payload: str) -> None:
    column = TableColumn("word", payload)
    table = ReportTable(payload, (column,), ((payload,),), (payload,))
    drawn = picture(3, payload, payload)

    made = saved_inspector(drawn.title, drawn, [table], [payload], css_class="plm-inspect-1")

    tags = set(re.findall(r"<(\w+)", made))
    assert tags <= {
        "div", "p", "b", "img", "ul", "li", "table", "caption", "thead", "tr", "th", "tbody", "td",
    }  # fmt: skip
    packed = re.search(r'src="data:image/svg\+xml;base64,([^"]+)', made)
    assert packed is not None
    svg = base64.b64decode(packed[1]).decode()
    assert set(re.findall(r"<(\w+)", svg)) == {"svg", "title", "desc", "path", "text", "rect"}
    assert not re.search(r"<[^>]*\son\w+=", svg)


def test_the_height_is_the_limit_of_the_largest_request() -> None:
    drawn = picture(4)
    both = timeline_svg(replace(drawn, limits=(5_000, 0, 0, 300)))

    assert f"full height: {count(300)} tokens" in both
    assert both.count("stroke-dasharray") == 1
