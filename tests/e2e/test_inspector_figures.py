"""The figures that a browser shows of five sessions are those that Python's API gives, formatted by the same rules."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from tests.e2e.inspected_sessions import view_of
from tests.recordings.formats.sample_files import sample

import palimpsest
from palimpsest.context_policies.prompt_cache.ruler import amount_with_unit
from palimpsest.render.content.phrases import count, duration, usd_text
from palimpsest.review.timeline_view.view_queries import MAX_USED_NAMES, MAX_USES

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("front_end")]

POLICY = "sweagent.last_n"
SESSIONS = (
    "claude_code/compaction_session.jsonl",
    "marshmallow-1867.traj",
    "codex_rollout.jsonl",
    "openhands_v0.jsonl",
    "otel_genai.jsonl",
)
MIN_FIGURES = 200
HOME = re.compile(r"/(?:home|Users)/\w+")
"""What a report writes as ``~``."""
PAGE_ROWS = 50
MAX_BREAKS = 12
"""Breaks that are listed before the rest is unfolded."""
UNKNOWN = "\N{EN DASH}"
TAKEN = "lost as in the recording"
"""The row of cache breaks that every replay has where the recording had them; only where there are some."""


@dataclass
class ComparedFigures:
    """Holds figures of a page to Python's, and counts them."""

    session: str
    compared: int = 0

    def same(self, place: str, shown: str, expected: str) -> None:
        assert shown == HOME.sub("~", expected), f"{self.session}, {place}"
        self.compared += 1


@pytest.fixture
def offline_page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(offline=True, viewport={"width": 1440, "height": 900})
    yield context.new_page()
    context.close()


def test_five_sessions_show_the_figures_that_python_gives(
    offline_page: Page, tmp_path: Path
) -> None:
    compared = sum(compared_figures(offline_page, name, tmp_path) for name in SESSIONS)

    assert compared >= MIN_FIGURES


@pytest.mark.soak  # with each commit the five sessions above are compared; this adds one of hundreds of requests, in half a minute
def test_a_long_session_shows_the_figures_that_python_gives(
    offline_page: Page, tmp_path: Path
) -> None:
    assert compared_figures(offline_page, "pi_large_session.jsonl", tmp_path) >= MIN_FIGURES


def compared_figures(page: Page, name: str, folder: Path) -> int:
    """Open a report of a session, hold each figure to Python's, and return how many there are."""
    figures = ComparedFigures(name)
    with palimpsest.open_recording(sample(name, folder)) as recording:
        session = recording[0]
        report = session.report(folder / f"{Path(name).stem}.html", policies=[POLICY])
        last, item = len(session.requests.records()), _used_item(session)
        page.goto(f"{report.as_uri()}#{session.link(last, item)}")
        views = page.locator(".plm-Inspector")
        expect(views.locator(".plm-Track")).to_have_count(2)
        _first_screen(views, session, figures)
        _item_card(views, session, figures)
        _open(views, "Cost")
        _figures_table(views, session, figures)
        _breaks_table(views, session, figures)
        _open(views, "Requests")
        _requests_table(views, session, figures)
        _open(views, "Wastes")
        _wastes(views, session, figures)
    return figures.compared


def _open(views: Locator, name: str) -> None:
    views.get_by_role("tab", name=name, exact=True).click()


def _group(views: Locator, name: str) -> Locator:
    return views.locator("section").and_(views.get_by_role("group", name=name, exact=True))


def _rows(table: Locator) -> list[dict[str, str]]:
    """Return the cells of each row by the names of their columns, without those that are folded into a line of words."""
    cells: list[list[str]] = table.evaluate(
        "table => [...table.rows].filter(row => !row.matches('.plm-FoldedRow'))"
        ".map(row => [...row.cells].map(cell => cell.textContent.trim()))"
    )
    heads, *rows = cells
    return [dict(zip(heads, row, strict=True)) for row in rows]


def _basis(*, is_fact: bool) -> Any:
    return "fact" if is_fact else "estimate"


def _money(value: float, unit: str, *, is_fact: bool, like: str) -> str:
    """Return an amount with as many decimals as its column has, which is what ``like`` has."""
    if unit != "USD":
        return amount_with_unit(value, unit, _basis(is_fact=is_fact))
    digits = len(like.removesuffix(" USD").partition(".")[2])
    return f"{'' if is_fact else '~'}{usd_text(value, digits)} USD"


def _first_screen(views: Locator, session: Any, found: ComparedFigures) -> None:
    """Compare the size of the last request, its cost, and what came from the cache."""
    rows = session.requests.records()
    last, total = rows[-1], len(rows)
    counted = round(session.request(total).tokens)
    value = views.get_by_role("slider", name="Request, recorded").get_attribute("aria-valuetext")
    size = f"Request {total} of {total}: {count(counted)} tokens"
    found.same("the slider", (value or "")[: len(size)], size)
    unit = session.compare(["recorded"]).price.unit
    sentence = _group(views, "What the request cost").locator(".plm-CursorSentence-words")
    is_reported = last["input"] is not None
    tokens = count(last["input"]) if is_reported else f"~{count(counted)}"
    if last["cost"] is not None:
        is_fact = is_reported and total - 1 not in _listed_rows(session)
        amount = amount_with_unit(last["cost"], unit, _basis(is_fact=is_fact))
        found.same("the sentence", sentence.locator("strong").first.inner_text(), f"{tokens} tokens, {amount}.")  # fmt: skip
    breaks = len(session.breaks().table.records())
    if is_reported:
        head = views.locator(".plm-Track-figures").first.inner_text()
        shown = next(piece for piece in head.split(" · ") if "cache break" in piece)
        found.same("the head", shown, f"{breaks} cache break{'' if breaks == 1 else 's'}")


def _used_item(session: Any) -> int:
    """Return the first item, counted from 1, of which an answer used a name; else the last item."""
    used = [use.sources[0] for use in session.references.uses]
    return int(min(used, default=len(session.timeline.items) - 1)) + 1


def _item_card(views: Locator, session: Any, found: ComparedFigures) -> None:
    """Compare why the item is in the last request, and the names that answers used of it."""
    item, last = _used_item(session), len(session.requests.records())
    card = views.get_by_role("group", name="The chosen item")
    found.same("the card", card.locator(".plm-ItemCard-why").inner_text(), session.why(item, last))
    used = session.references.used_names(item - 1)
    later = {request: names for request, names in used.items() if request >= last - 1} or used
    names = card.locator(".plm-Inspector-links bdi.plm-Muted").all_inner_texts()
    expected = [", ".join(names[:MAX_USED_NAMES]) for names in later.values()][:MAX_USES]
    assert len(names) == len(expected)
    for shown, words in zip(names, expected, strict=True):
        found.same("the used names", shown, words)


FIGURES = {
    "tokens in": ("input", "tokens"),
    "largest request": ("peak", "tokens"),
    "read from cache": ("cached", "share"),
    "cache breaks": ("breaks", "tokens"),
    "written anew": ("break_tokens", "tokens"),
    "cost": ("cost", "money"),
    "cost of summaries": ("summaries", "estimate"),
    "cost of refetching": ("refetching", "estimate"),
    "repeated calls": ("repeated", "tokens"),
    "needed names that stay": ("retention", "share"),
    "cost without a cache": ("cost_uncached", "estimate"),
}
"""The rows of the table of figures: the column of a comparison, and what it counts."""


def _figures_table(views: Locator, session: Any, found: ComparedFigures) -> None:
    """Compare each figure of the recording, as reported and as estimated, and of the policy."""
    comparison = session.compare(["recorded", POLICY])
    records = {record["policy"]: record for record in comparison.table.records()}
    rows = _rows(_group(views, "Figures").get_by_role("table"))
    taken = [row for row in rows if row["figure"] == TAKEN]
    rows = [row for row in rows if row["figure"] != TAKEN]
    assert [row["figure"] for row in rows] == [*FIGURES]
    columns = {name.removesuffix(" ?"): name for name in rows[0] if name != "figure"}
    named = {
        "reported": records.get("reported (facts)"),
        "recorded, estimated": records["recorded"],
        f"{POLICY}, estimated": records[POLICY],
    }
    assert {*columns} == {name for name, record in named.items() if record is not None}
    lost = len(view_of(session).recorded.taken)
    assert [row[columns["recorded, estimated"]] for row in taken] == ([str(lost)] if lost else [])
    for name, column in columns.items():
        record = named[name]
        assert record is not None
        is_fact = name == "reported" and not _is_listed(session)
        for row in rows:
            key, counts = FIGURES[row["figure"]]
            expected = _figure(record[key], counts, comparison.price.unit, is_fact=is_fact)
            found.same(f"{row['figure']}, {name}", row[column], expected)


def _figure(value: float | None, counts: str, unit: str, *, is_fact: bool) -> str:
    if value is None:
        return UNKNOWN
    if counts == "share":
        return f"{value:.0%}"
    if counts == "tokens":
        return count(round(value))
    return amount_with_unit(value, unit, _basis(is_fact=is_fact and counts == "money"))


def _breaks_table(views: Locator, session: Any, found: ComparedFigures) -> None:
    """Compare the request, price, tokens and cause of each break that is listed, dearest first."""
    breaks = session.breaks()
    records = sorted(breaks.table.records(), key=lambda record: -record["cost"])
    section = _group(views, "Cache breaks")
    total = section.locator(".plm-Inspector-head .plm-Muted").inner_text()
    found.same("the number of breaks", total.partition(" · ")[0], str(len(records)))
    if not records:
        return
    rows = _rows(section.get_by_role("table"))
    assert len(rows) == min(len(records), MAX_BREAKS)
    for row, record in zip(rows, records, strict=False):
        place = f"the break at request {record['request']}"
        found.same(place, row["request"], str(record["request"]))
        unit, is_fact = breaks.price.unit, breaks.price.matches_recorded
        expected = _money(record["cost"], unit, is_fact=is_fact, like=row["price"])
        found.same(f"the price of {place}", row["price"], expected)
        found.same(f"the tokens of {place}", row["written anew"], count(record["loss"]))
        assert row["cause"] == f"{record['cause']}: {record['words']}"


def _requests_table(views: Locator, session: Any, found: ComparedFigures) -> None:
    """Compare each row of the page that the table opens at, and that the dearest request comes first when sorted."""
    records = session.requests.records()
    unit = session.compare(["recorded"]).price.unit
    losses = {row["request"]: row["loss"] for row in session.breaks().table.records()}
    listed = _listed_rows(session)
    table = views.get_by_role("table", name="Requests, recorded")
    rows = _rows(table)
    assert len(rows) == min(len(records), PAGE_ROWS)
    assert int(rows[-1]["request"]) == len(records)
    for row in rows:
        number = int(row["request"])
        record, place = records[number - 1], f"request {number}"
        cost = record["cost"]
        expected = UNKNOWN if cost is None else _money(cost, unit, is_fact=number - 1 not in listed, like=row["cost"])  # fmt: skip
        found.same(f"the cost of {place}", row["cost"], expected)
        counted = round(session.request(number).tokens)
        tokens = {
            "reported": record["input"],
            "read from cache": record["cache_read"],
            "counted": counted,
            "answer": _answer_tokens(record),
            **({"written anew": losses.get(number)} if losses else {}),
        }
        for name, value in tokens.items():
            text = UNKNOWN if value is None else count(value)
            found.same(f"{name} of {place}", row[name], text)
        if "time" in row:
            found.same(f"the time of {place}", row["time"], _time(session, number))
    table.get_by_role("button", name="cost").click()
    costs = [record["cost"] or 0 for record in records]
    first = _rows(table)[0]["request"]
    found.same("the dearest request", first, str(costs.index(max(costs)) + 1))


def _answer_tokens(record: Mapping[str, Any]) -> int | None:
    """Return the tokens of a request's answer with its reasoning, which the view shows as one."""
    if record["output"] is None:
        return None
    return int(record["output"] + (record["reasoning"] or 0))


def _time(session: Any, number: int) -> str:
    """Return how long a request took; a dash where it is not known."""
    request = session.timeline.requests[number - 1]
    if request.started is None or request.ended is None:
        return UNKNOWN
    return duration(max(request.ended - request.started, 0) / 1_000)


def _wastes(views: Locator, session: Any, found: ComparedFigures) -> None:
    """Compare what each kind of waste comes to, and what each of the dearest does."""
    wastes = session.wastes()
    listed = _group(views, "Largest wastes").get_by_role("listitem").all()
    assert len(listed) == len(wastes.kinds) + len(wastes.wastes)
    for entry, waste in zip(listed, (*wastes.kinds, *wastes.wastes), strict=True):
        expected = amount_with_unit(waste.cost, wastes.unit, _basis(is_fact=waste.cost_is_fact))
        words = getattr(waste, "words", "") or waste.sentence
        found.same(f"the waste “{words}”", entry.locator("strong").inner_text(), expected)
        assert HOME.sub("~", words) in entry.inner_text()


def _listed_rows(session: Any) -> set[int]:
    """Return the rows of the requests whose cost was not recorded."""
    return {row for row, key in session.requests.estimates if key == "cost"}


def _is_listed(session: Any) -> bool:
    return bool(_listed_rows(session))
