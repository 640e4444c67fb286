"""The figures of one recorded session: how large, how much cached, at what price, and with which tools.

Facts where the session reported its usage; where it reported none, size and cost are estimates by the ruler,
and ``basis`` says so. A cost of 0 for tokens that were read is taken for unknown, not for free.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from palimpsest.render.reports.table import Basis, Cell, Form, ReportTable, TableColumn
from palimpsest.review.comparison.links import link_to
from palimpsest.review.comparison.recorded_words import recorded_words
from palimpsest.review.comparison.request_totals import request_sizes, request_totals
from palimpsest.review.comparison.session_review import PriceLike, SessionReview
from palimpsest.review.replay.recorded_clock import clock_sentence
from palimpsest.transcript.timeline import Timeline


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """One row of a table of sessions."""

    session: str
    title: str
    origin: str
    """The agent that recorded it."""
    parent: str | None
    model: str
    """The one that answered most requests."""
    turns: int
    requests: int
    reported: int
    """Requests with reported usage."""
    items: int
    basis: Literal["fact", "estimate"]
    """Whether tokens and cost were reported or are estimated."""
    input: int
    """Tokens of all requests together, cached ones included."""
    uncached: int | None
    cache_read: int | None
    cache_write: int | None
    output: int
    peak: int
    """Tokens of the largest request."""
    growth: float
    """Tokens by which the median request is larger than the one before."""
    cached: float | None
    """Share of the input that was read from the cache."""
    cost: float | None
    cost_basis: Literal["fact", "estimate"]
    """Whether the cost was recorded, or is what the tokens cost at the prices of a list."""
    unit: Literal["USD", "units"]
    price: str
    """Which prices these are, in a sentence."""
    price_basis: Literal["fact", "estimate"]
    """Whether the recorded costs are at these prices; else what breaks cost is an estimate."""
    breaks: int
    """Requests that lost the cache."""
    break_tokens: int
    break_cost: float
    causes: Mapping[str, int]
    """How many breaks each cause has."""
    tools: Mapping[str, int]
    """How often each tool was called."""
    compactions: int
    seconds: float | None
    """From the first request to the end of the last one; None where the clock of the recording does not tell it."""
    clock: str
    """That the clock of the recording went back, in a sentence; empty where it did not."""
    recorded_cost: float | None = None
    """US dollars that the recording tells of the session as a whole, where it does: a fact beside ``cost``."""
    recorded_input: int | None = None
    recorded_cached: int | None = None
    """Of these, read from the provider's cache."""
    recorded_output: int | None = None
    recorded_requests: int | None = None
    recorded_words: str = ""
    """That in a sentence; empty where the recording tells nothing of the whole."""

    @property
    def estimates(self) -> frozenset[str]:
        """The figures of money, and those of tokens where no usage was reported, that are estimates."""
        found = {"input", "output", "peak", "growth"} if self.basis == "estimate" else set[str]()
        if self.cost_basis == "estimate" and self.requests:
            found.add("cost")
        if self.price_basis == "estimate" and self.breaks:
            found.add("break_cost")
        return frozenset(found)

    def json(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return asdict(self)


def session_figures(review: SessionReview, price: PriceLike = None) -> SessionFigures:
    """Return a session's figures; ``price`` as for ``SessionReview.price``."""
    timeline = review.timeline
    profile = review.price(price)
    broken = review.breaks(profile)
    known = [one for one in timeline.requests if one.reported is not None]
    totals = request_totals(timeline, review.ruler, profile)
    usages = [one.usage for one in known if one.usage is not None]
    read = sum(one.cache_read for one in usages)
    models = Counter(one.model for one in timeline.requests if one.model)
    told = timeline.recorded_totals
    sizes = request_sizes(timeline, review.ruler)
    grown = sorted(now - before for before, now in pairwise(sizes))
    return SessionFigures(
        session=timeline.session,
        title=timeline.title,
        origin=timeline.origin,
        parent=timeline.parent,
        model=models.most_common(1)[0][0] if models else "",
        turns=max((one.turn for one in timeline.requests), default=0),
        requests=totals.requests,
        reported=len(known),
        items=len(timeline.items),
        basis="fact" if totals.is_fact else "estimate",
        input=totals.input,
        uncached=sum(one.input for one in usages) if totals.is_fact else None,
        cache_read=read if totals.is_fact else None,
        cache_write=sum(one.cache_write for one in usages) if totals.is_fact else None,
        output=totals.output,
        peak=totals.peak,
        growth=float(grown[len(grown) // 2]) if grown else 0.0,
        cached=(read / totals.input if totals.input else 0.0) if totals.is_fact else None,
        cost=totals.cost,
        cost_basis="fact" if totals.cost_is_fact else "estimate",
        unit=profile.unit,
        price=profile.sentence,
        price_basis="fact" if profile.recorded else "estimate",
        breaks=len(broken),
        break_tokens=sum(one.loss for one in broken),
        break_cost=broken.cost,
        causes=broken.causes,
        tools=dict(Counter(one.tool for one in timeline.items if one.kind == "call").most_common()),
        compactions=sum(one.kind == "compact" for one in timeline.events),
        seconds=_seconds(timeline),
        clock=clock_sentence(timeline),
        **{f"recorded_{name}": value for name, value in told._asdict().items()},
        recorded_words=recorded_words(told),
    )


def _seconds(timeline: Timeline) -> float | None:
    """Return the time between the first request and the end of the last; None where the recording does not tell it."""
    if clock_sentence(timeline):
        return None
    started = [one.started for one in timeline.requests if one.started is not None]
    ended = [one.ended or one.started for one in timeline.requests]
    last = max((one for one in ended if one is not None), default=0)
    return (last - min(started)) / 1000 if started and last > min(started) else None


RECORDED_COLUMNS: tuple[tuple[str, str, Form], ...] = (
    ("recorded_cost", "cost of the whole, USD", "usd"),
    ("recorded_input", "input tokens of the whole", "count"),
    ("recorded_cached", "input tokens of the whole from the cache", "count"),
    ("recorded_output", "output tokens of the whole", "count"),
    ("recorded_requests", "requests of the whole", "count"),
)
"""Facts that a recording tells about all requests together, beside the sums over single ones."""
_COLUMNS: tuple[tuple[str, str, Form], ...] = (
    ("session", "session", "text"),
    ("title", "title", "text"),
    ("origin", "origin", "text"),
    ("model", "model", "text"),
    ("turns", "turns", "count"),
    ("requests", "requests", "count"),
    ("input", "input", "count"),
    ("peak", "peak", "count"),
    ("output", "output", "count"),
    ("cached", "cached", "share"),
    ("growth", "growth", "count"),
    ("cost", "cost", "usd"),
    ("unit", "unit", "text"),
    ("basis", "known as", "text"),
    ("breaks", "breaks", "count"),
    ("break_tokens", "lost", "count"),
    ("break_cost", "cost of breaks", "usd"),
    ("causes", "causes", "text"),
    ("tools", "tools", "text"),
    ("compactions", "compactions", "count"),
    ("seconds", "time", "seconds"),
    *RECORDED_COLUMNS,
)


def figures_table(
    title: str, figures: list[SessionFigures], notes: tuple[str, ...] = ()
) -> ReportTable:
    """Return one row a session."""
    basis: Basis = "fact"
    rows = tuple(tuple(_cell(getattr(one, key)) for key, _, _ in _COLUMNS) for one in figures)
    columns = tuple(
        TableColumn(key, shown, form, "" if form == "text" else basis)
        for key, shown, form in _COLUMNS
    )
    links = tuple(link_to(one.session) for one in figures)
    estimates = frozenset((row, key) for row, one in enumerate(figures) for key in one.estimates)
    return ReportTable(title, columns, rows, notes, links, estimates)


def _cell(value: Any) -> Cell:
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {name}" for name, number in value.items())
    cell: Cell = value
    return cell
