"""Requests, items and decisions of a session as tables."""

from collections.abc import Sequence

from palimpsest.render.reports.table import ESTIMATED, Form, ReportTable, TableColumn
from palimpsest.review.comparison.links import link_to
from palimpsest.review.comparison.request_totals import RequestCost, session_costs
from palimpsest.review.replay.fit import added_up, recorded
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.timeline import Timeline

LISTED_COSTS = f"A cost with {ESTIMATED} was not recorded: it is the usage at the prices of the session's models."


def cost_column(unit: str) -> TableColumn:
    """Return the column of what requests cost, in the money of a profile."""
    form: Form = "usd" if unit == "USD" else "count"
    return TableColumn("cost", unit, form, "", "As recorded; with ~ the usage at a model's prices.")


def estimated_costs(costs: Sequence[RequestCost | None]) -> frozenset[tuple[int, str]]:
    """Return which rows have a cost that was not recorded."""
    return frozenset(
        (row, "cost")
        for row, one in enumerate(costs)
        if one is not None and one.basis == "estimate"
    )


def requests_table(timeline: Timeline, ruler: Ruler, profile: PriceProfile) -> ReportTable:
    """Return one row a request: what was reported beside what the ruler says."""
    sizes = recorded(timeline, ruler).sizes
    costs = session_costs(timeline, ruler, profile)
    columns = (
        TableColumn("request", "request", "count"),
        TableColumn("turn", "turn", "count"),
        TableColumn("model", "model"),
        TableColumn("effort", "effort"),
        TableColumn("status", "status"),
        TableColumn("started", "started", "text", "fact", "Milliseconds since 1970."),
        TableColumn("input", "input", "count", "fact"),
        TableColumn("uncached", "uncached", "count", "fact"),
        TableColumn("cache_read", "read", "count", "fact"),
        TableColumn("cache_write", "written", "count", "fact"),
        TableColumn("output", "output", "count", "fact"),
        TableColumn("reasoning", "reasoning", "count", "fact"),
        cost_column(profile.unit),
        TableColumn("estimated", "input", "count", "estimate"),
        TableColumn("remainder", "remainder", "count", "estimate"),
        TableColumn("items", "items", "count"),
    )
    rows = []
    for request, size, cost in zip(timeline.requests, sizes, costs, strict=True):
        usage, reported = request.usage, request.reported
        rows.append(
            (
                request.index + 1,
                request.turn,
                request.model,
                request.effort,
                request.status,
                None if request.started is None else str(request.started),
                reported,
                None if usage is None else usage.input,
                None if usage is None else usage.cache_read,
                None if usage is None else usage.cache_write,
                None if usage is None else usage.output,
                None if usage is None else usage.reasoning,
                None if cost is None else cost.value,
                round(size.total),
                None if reported is None else round(reported - size.total),
                request.items,
            )
        )
    links = tuple(link_to(timeline.session, one.index) for one in timeline.requests)
    title = f"{len(rows)} requests of {timeline.title or timeline.session}"
    estimated = estimated_costs(costs)
    notes = (ruler.words, *((LISTED_COSTS,) if estimated else ()), *timeline.gaps)
    return ReportTable(title, columns, tuple(rows), notes, links, estimated)


def adding_up_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return one row a request with reported usage: the three parts that are its tokens exactly."""
    columns = (
        TableColumn("request", "request", "count"),
        TableColumn("reported", "reported", "count", "fact"),
        TableColumn("unseen", "unseen", "count", "estimate"),
        TableColumn("items", "items", "count", "estimate"),
        TableColumn("remainder", "remainder", "count", "estimate"),
    )
    rows = tuple(
        (one.request + 1, one.reported, one.unseen, one.items, one.remainder)
        for one in added_up(timeline, ruler)
    )
    links = tuple(link_to(timeline.session, int(row[0]) - 1) for row in rows)
    title = f"How the tokens of {timeline.title or timeline.session} add up"
    return ReportTable(title, columns, rows, (ruler.words, *timeline.gaps), links)


def items_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return one row an item: what it is, how large, since when it was there, and what became of it."""
    columns = (
        TableColumn("item", "item", "count"),
        TableColumn("kind", "kind"),
        TableColumn("tool", "tool"),
        TableColumn("label", "label"),
        TableColumn("turn", "turn", "count"),
        TableColumn("entered", "from request", "count"),
        TableColumn("chars", "chars", "count", "fact"),
        TableColumn("tokens", "tokens", "count", "estimate"),
        TableColumn("state", "at the end"),
        TableColumn("since", "since request", "count"),
        TableColumn("rule", "rule"),
        TableColumn("id", "id"),
    )
    weights = timeline.weights(ruler.estimator)
    last = len(timeline.requests)
    rows = []
    for item in timeline.items:
        found = timeline.at(item.index, last)
        rows.append(
            (
                item.index + 1,
                item.kind,
                item.tool,
                item.label,
                item.turn,
                item.entered + 1,
                item.chars,
                round(weights[item.index] * ruler.factor),
                "whole" if found is None else found.state,
                None if found is None else found.request + 1,
                "" if found is None else found.rule,
                item.id,
            )
        )
    links = tuple(link_to(timeline.session, last - 1, one.index) for one in timeline.items)
    title = f"{len(rows)} items of {timeline.title or timeline.session}"
    return ReportTable(title, columns, tuple(rows), (ruler.words,), links)


def decisions_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return one row a change of what requests showed of an item."""
    columns = (
        TableColumn("request", "from request", "count"),
        TableColumn("item", "item", "count"),
        TableColumn("state", "state"),
        TableColumn("rule", "rule"),
        TableColumn("tool", "tool"),
        TableColumn("label", "label"),
        TableColumn("tokens_before", "tokens before", "count", "estimate"),
        TableColumn("tokens_after", "after", "count", "estimate"),
    )
    weights = timeline.weights(ruler.estimator)
    rows = tuple(
        (
            one.request + 1,
            one.item + 1,
            one.state,
            one.rule,
            timeline.items[one.item].tool,
            timeline.items[one.item].label,
            weights[one.item],
            weights[one.item] if one.state == "whole" else one.tokens,
        )
        for one in timeline.transitions
    )
    links = tuple(link_to(timeline.session, one.request, one.item) for one in timeline.transitions)
    title = f"{len(rows)} changes of what was shown in {timeline.title or timeline.session}"
    return ReportTable(title, columns, rows, (), links)
