"""The figures of one recorded session: size, share of the cache, cost and tools.

The figures are facts where the session reported its usage; else size and cost are estimates by the ruler, and ``basis`` is
``estimate``. A cost of 0 for tokens that were read counts as unknown, not as free.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from palimpsest.context_policies.prompt_cache.recorded_clock import clock_sentence
from palimpsest.render.reports.table import Cell, Form, ReportTable, TableColumn
from palimpsest.review.session_review import PriceLike, SessionReview
from palimpsest.review.tables.links import link_to
from palimpsest.review.tables.recording_sentences import totals_sentence
from palimpsest.review.tables.request_totals import request_sizes, request_totals
from palimpsest.transcript.timeline import Timeline


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """One row of a table of sessions."""

    session: str
    title: str
    origin: str
    """The agent that recorded the session."""
    parent: str | None
    model: str
    """The model that answered most requests."""
    turns: int
    requests: int
    reported: int
    """Number of requests with reported usage."""
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
    """Whether the cost was recorded, or computed from the tokens at listed prices."""
    unit: Literal["USD", "units"]
    price: str
    """A sentence on the prices, not a price."""
    price_basis: Literal["fact", "estimate"]
    """Whether the recorded costs match these prices; else the cost of breaks is an estimate."""
    breaks: int
    """Number of requests that lost the cache."""
    break_tokens: int
    """Tokens that these requests had written anew."""
    break_cost: float
    causes: Mapping[str, int]
    """Number of breaks of each cause."""
    tools: Mapping[str, int]
    """Number of calls of each tool."""
    compactions: int
    seconds: float | None
    """Seconds from the first request to the end of the last; None where the recording's times are not usable."""
    clock: str
    """A sentence on where the recording's clock went back; empty where it did not."""
    recorded_cost: float | None = None
    """US dollars that the recording states for the whole session; a fact, independent of ``cost``."""
    recorded_input: int | None = None
    recorded_cached: int | None = None
    """Tokens of ``recorded_input`` that were read from the provider's cache."""
    recorded_output: int | None = None
    recorded_requests: int | None = None
    recorded_words: str = ""
    """The sentence with these totals; empty where the recording has none."""

    @property
    def estimates(self) -> frozenset[str]:
        """The figures that are estimates: money without recorded costs, and tokens where no usage was reported."""
        figure_names: set[str] = set()
        if self.basis == "estimate":
            figure_names |= {"input", "output", "peak", "growth"}
        if self.cost_basis == "estimate" and self.requests:
            figure_names.add("cost")
        if self.price_basis == "estimate" and self.breaks:
            figure_names.add("break_cost")
        return frozenset(figure_names)

    def json(self) -> dict[str, Any]:
        """Return the figures as plain values."""
        return asdict(self)


def session_figures(review: SessionReview, price: PriceLike = None) -> SessionFigures:
    """Return a session's figures; ``price`` is that of ``SessionReview.price``."""
    timeline = review.timeline
    profile = review.price(price)
    cache_breaks = review.breaks(profile)
    tools = Counter(item.tool for item in timeline.items if item.kind == "call")
    reported_requests = [request for request in timeline.requests if request.reported is not None]
    totals = request_totals(timeline, lambda: review.ruler, profile)
    usages = [request.usage for request in reported_requests if request.usage is not None]
    cache_read_tokens = sum(usage.cache_read for usage in usages)
    models = Counter(request.model for request in timeline.requests if request.model)
    recorded_totals = timeline.recorded_totals
    sizes = request_sizes(timeline, lambda: review.ruler)
    growths = sorted(after - before for before, after in pairwise(sizes))
    return SessionFigures(
        session=timeline.session,
        title=timeline.title,
        origin=timeline.origin,
        parent=timeline.parent,
        model=models.most_common(1)[0][0] if models else "",
        turns=max((request.turn for request in timeline.requests), default=0),
        requests=totals.requests,
        reported=len(reported_requests),
        items=len(timeline.items),
        basis="fact" if totals.is_fact else "estimate",
        input=totals.input,
        uncached=sum(usage.input for usage in usages) if totals.is_fact else None,
        cache_read=cache_read_tokens if totals.is_fact else None,
        cache_write=sum(usage.cache_write for usage in usages) if totals.is_fact else None,
        output=totals.output,
        peak=totals.peak,
        growth=float(growths[len(growths) // 2]) if growths else 0.0,
        cached=(cache_read_tokens / totals.input if totals.input else 0.0)
        if totals.is_fact
        else None,
        cost=totals.cost,
        cost_basis="fact" if totals.cost_is_fact else "estimate",
        unit=profile.unit,
        price=profile.sentence,
        price_basis="fact" if profile.matches_recorded else "estimate",
        breaks=len(cache_breaks),
        break_tokens=sum(cache_break.loss for cache_break in cache_breaks),
        break_cost=cache_breaks.cost,
        causes=cache_breaks.causes,
        tools=dict(tools.most_common()),
        compactions=sum(event.kind == "compact" for event in timeline.events),
        seconds=_duration_seconds(timeline),
        clock=clock_sentence(timeline),
        **{f"recorded_{name}": value for name, value in recorded_totals._asdict().items()},
        recorded_words=totals_sentence(recorded_totals),
    )


def _duration_seconds(timeline: Timeline) -> float | None:
    """Return the seconds between the first request and the end of the last; None where the recording does not state them."""
    if clock_sentence(timeline):
        return None
    start_times = [request.started for request in timeline.requests if request.started is not None]
    end_times = [request.ended or request.started for request in timeline.requests]
    last_end = max((moment for moment in end_times if moment is not None), default=0)
    return (
        (last_end - min(start_times)) / 1000
        if start_times and last_end > min(start_times)
        else None
    )


def start_seconds(timeline: Timeline) -> tuple[float | None, ...]:
    """Return the seconds from the first request to the beginning of each; empty where the recording's times are not usable."""
    start_times = [request.started for request in timeline.requests]
    known_times = [moment for moment in start_times if moment is not None]
    if clock_sentence(timeline) or not known_times or max(known_times) == min(known_times):
        return ()
    first_start = min(known_times)
    return tuple(
        None if moment is None else (moment - first_start) / 1000 for moment in start_times
    )


RECORDED_COLUMNS: tuple[tuple[str, str, Form], ...] = (
    ("recorded_cost", "cost of the whole, USD", "usd"),
    ("recorded_input", "input tokens of the whole", "count"),
    ("recorded_cached", "input tokens of the whole from the cache", "count"),
    ("recorded_output", "output tokens of the whole", "count"),
    ("recorded_requests", "requests of the whole", "count"),
)
"""Columns for a recording's own totals of all requests, beside the sums over single requests."""
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
    """Return a table with a row for each session."""
    rows = tuple(
        tuple(_table_cell(getattr(figure, key)) for key, _, _ in _COLUMNS) for figure in figures
    )
    columns = tuple(
        TableColumn(key, column_title, form, "" if form == "text" else "fact")
        for key, column_title, form in _COLUMNS
    )
    links = tuple(link_to(figure.session) for figure in figures)
    estimates = ((row, key) for row, figure in enumerate(figures) for key in figure.estimates)
    return ReportTable(title, columns, rows, notes, links, frozenset(estimates))


def _table_cell(value: Any) -> Cell:
    if isinstance(value, Mapping):
        return ", ".join(f"{number} {name}" for name, number in value.items())
    cell: Cell = value
    return cell
