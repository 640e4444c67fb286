"""Requests, items and decisions of a session as tables."""

from collections.abc import Callable, Iterable
from typing import Any

from palimpsest.render.reports.table import (
    ESTIMATED,
    Cell,
    Form,
    ReportTable,
    TableColumn,
    Told,
    table_of,
)
from palimpsest.review.comparison.links import link_to
from palimpsest.review.comparison.request_totals import session_costs
from palimpsest.review.replay.fit import added_up, recorded
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest, Transition

LISTED_COSTS = f"A cost with {ESTIMATED} was not recorded: it is the usage at the prices of the session's models."


def cost_column(unit: str) -> TableColumn:
    """Return the column of what requests cost, in the money of a profile."""
    form: Form = "usd" if unit == "USD" else "count"
    return TableColumn("cost", unit, form, "", "As recorded; with ~ the usage at a model's prices.")


def estimated_costs(estimates: Iterable[bool]) -> frozenset[tuple[int, str]]:
    """Return which rows have a cost that was not recorded, given whether each has."""
    return frozenset((row, "cost") for row, is_estimate in enumerate(estimates) if is_estimate)


def of_usage(name: str) -> Callable[[Any], Cell]:
    """Return what tells a number of the usage of a row's value; None where it has no usage."""
    return lambda one: None if one.usage is None else getattr(one.usage, name)


def requests_table(timeline: Timeline, ruler: Ruler, profile: PriceProfile) -> ReportTable:
    """Return one row a request: what was reported beside what the ruler says."""
    sizes = recorded(timeline, ruler).sizes
    costs = session_costs(timeline, ruler, profile)

    def remainder(one: TimelineRequest) -> int | None:
        return None if one.reported is None else round(one.reported - sizes[one.index].total)

    def cost(one: TimelineRequest) -> float | None:
        return None if (found := costs[one.index]) is None else found.value

    started = TableColumn("started", "started", "text", "fact", "Milliseconds since 1970.")
    columns: tuple[Told, ...] = (
        (TableColumn("request", "request", "count"), lambda one: one.index + 1),
        TableColumn("turn", "turn", "count"),
        TableColumn("model", "model"),
        TableColumn("effort", "effort"),
        TableColumn("status", "status"),
        (started, lambda one: None if one.started is None else str(one.started)),
        (TableColumn("input", "input", "count", "fact"), lambda one: one.reported),
        (TableColumn("uncached", "uncached", "count", "fact"), of_usage("input")),
        (TableColumn("cache_read", "read", "count", "fact"), of_usage("cache_read")),
        (TableColumn("cache_write", "written", "count", "fact"), of_usage("cache_write")),
        (TableColumn("output", "output", "count", "fact"), of_usage("output")),
        (TableColumn("reasoning", "reasoning", "count", "fact"), of_usage("reasoning")),
        (cost_column(profile.unit), cost),
        (
            TableColumn("estimated", "input", "count", "estimate"),
            lambda one: round(sizes[one.index].total),
        ),
        (TableColumn("remainder", "remainder", "count", "estimate"), remainder),
        TableColumn("items", "items", "count"),
    )
    links = [link_to(timeline.session, one.index) for one in timeline.requests]
    title = f"{len(timeline.requests)} requests of {timeline.title or timeline.session}"
    estimated = estimated_costs(one is not None and one.basis == "estimate" for one in costs)
    notes = (ruler.words, *((LISTED_COSTS,) if estimated else ()), *timeline.gaps)
    return table_of(title, columns, timeline.requests, notes, links, estimated)


def adding_up_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return one row a request with reported usage: the three parts that are its tokens exactly."""
    columns: tuple[Told, ...] = (
        (TableColumn("request", "request", "count"), lambda one: one.request + 1),
        TableColumn("reported", "reported", "count", "fact"),
        TableColumn("unseen", "unseen", "count", "estimate"),
        TableColumn("items", "items", "count", "estimate"),
        TableColumn("remainder", "remainder", "count", "estimate"),
    )
    found = tuple(added_up(timeline, ruler))
    links = [link_to(timeline.session, one.request) for one in found]
    title = f"How the tokens of {timeline.title or timeline.session} add up"
    return table_of(title, columns, found, (ruler.words, *timeline.gaps), links)


def items_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return one row an item: what it is, how large, since when it was there, and what became of it."""
    weights, last = timeline.weights(ruler.estimator), len(timeline.requests)
    ends = {one.index: timeline.at(one.index, last) for one in timeline.items}

    def at_end(tell: Callable[[Transition], Cell], whole: Cell) -> Callable[[TimelineItem], Cell]:
        return lambda one: whole if (found := ends[one.index]) is None else tell(found)

    columns: tuple[Told, ...] = (
        (TableColumn("item", "item", "count"), lambda one: one.index + 1),
        TableColumn("kind", "kind"),
        TableColumn("tool", "tool"),
        TableColumn("label", "label"),
        TableColumn("turn", "turn", "count"),
        (TableColumn("entered", "from request", "count"), lambda one: one.entered + 1),
        TableColumn("chars", "chars", "count", "fact"),
        (
            TableColumn("tokens", "tokens", "count", "estimate"),
            lambda one: round(weights[one.index] * ruler.factor),
        ),
        (TableColumn("state", "at the end"), at_end(lambda end: end.state, "whole")),
        (TableColumn("since", "since request", "count"), at_end(lambda end: end.request + 1, None)),
        (TableColumn("rule", "rule"), at_end(lambda end: end.rule, "")),
        TableColumn("id", "id"),
    )
    links = [link_to(timeline.session, last - 1, one.index) for one in timeline.items]
    title = f"{len(timeline.items)} items of {timeline.title or timeline.session}"
    return table_of(title, columns, timeline.items, (ruler.words,), links)


def decisions_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return one row a change of what requests showed of an item."""
    items, weights = timeline.items, timeline.weights(ruler.estimator)
    columns: tuple[Told, ...] = (
        (TableColumn("request", "from request", "count"), lambda one: one.request + 1),
        (TableColumn("item", "item", "count"), lambda one: one.item + 1),
        TableColumn("state", "state"),
        TableColumn("rule", "rule"),
        (TableColumn("tool", "tool"), lambda one: items[one.item].tool),
        (TableColumn("label", "label"), lambda one: items[one.item].label),
        (
            TableColumn("tokens_before", "tokens before", "count", "estimate"),
            lambda one: weights[one.item],
        ),
        (
            TableColumn("tokens_after", "after", "count", "estimate"),
            lambda one: weights[one.item] if one.state == "whole" else one.tokens,
        ),
    )
    changes = timeline.transitions
    links = [link_to(timeline.session, one.request, one.item) for one in changes]
    title = f"{len(changes)} changes of what was shown in {timeline.title or timeline.session}"
    return table_of(title, columns, changes, (), links)
