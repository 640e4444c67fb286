"""Requests, items and decisions of a session as tables."""

from collections.abc import Callable, Iterable
from typing import Any

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler
from palimpsest.render.reports.table import (
    ESTIMATED,
    Cell,
    ColumnSpec,
    Form,
    ReportTable,
    TableColumn,
    table_of,
)
from palimpsest.review.tables.links import link_to
from palimpsest.review.tables.request_totals import session_costs
from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest, Transition

LISTED_COSTS_NOTE = f"A cost with {ESTIMATED} was not recorded: it is the usage at the prices of the session's models."


def cost_column(unit: str) -> TableColumn:
    """Return the column of request costs, in the money of a profile."""
    cost_form: Form = "usd" if unit == "USD" else "count"
    return TableColumn(
        "cost", unit, cost_form, "", "As recorded; with ~ the usage at a model's prices."
    )


def estimated_cost_cells(estimates: Iterable[bool]) -> frozenset[tuple[int, str]]:
    """Return the row and column of each cost that is an estimate; ``estimates`` has a truth value for each row."""
    return frozenset((row, "cost") for row, is_estimate in enumerate(estimates) if is_estimate)


def usage_cell(usage_field: str) -> Callable[[Any], Cell]:
    """Return a function from a row to a number of its usage; None where the row has no usage."""
    return lambda request: None if request.usage is None else getattr(request.usage, usage_field)


def requests_table(timeline: Timeline, ruler: Ruler, profile: PriceProfile) -> ReportTable:
    """Return a table with a row for each request: the reported tokens beside the ruler's estimate."""
    from palimpsest.context_policies.calibration.fit import recorded_simulation

    sizes = recorded_simulation(timeline, ruler).sizes
    costs = session_costs(timeline, ruler, profile)

    def remainder(request: TimelineRequest) -> int | None:
        total = sizes[request.index].total
        return None if request.reported is None else round(request.reported - total)

    def cost(request: TimelineRequest) -> float | None:
        return None if (known_cost := costs[request.index]) is None else known_cost.value

    started_column = TableColumn("started", "started", "text", "fact", "Milliseconds since 1970.")
    columns: tuple[ColumnSpec, ...] = (
        (TableColumn("request", "request", "count"), lambda request: request.index + 1),
        TableColumn("turn", "turn", "count"),
        TableColumn("model", "model"),
        TableColumn("effort", "effort"),
        TableColumn("status", "status"),
        started_column,
        (TableColumn("input", "input", "count", "fact"), lambda request: request.reported),
        (TableColumn("uncached", "uncached", "count", "fact"), usage_cell("input")),
        (TableColumn("cache_read", "read", "count", "fact"), usage_cell("cache_read")),
        (TableColumn("cache_write", "written", "count", "fact"), usage_cell("cache_write")),
        (TableColumn("output", "output", "count", "fact"), usage_cell("output")),
        (TableColumn("reasoning", "reasoning", "count", "fact"), usage_cell("reasoning")),
        (cost_column(profile.unit), cost),
        (
            TableColumn("estimated", "input", "count", "estimate"),
            lambda request: round(sizes[request.index].total),
        ),
        (TableColumn("remainder", "remainder", "count", "estimate"), remainder),
        TableColumn("items", "items", "count"),
    )
    links = [link_to(timeline.session, request.index) for request in timeline.requests]
    title = f"{len(timeline.requests)} requests of {timeline.title or timeline.session}"
    estimated_cells = estimated_cost_cells(
        request_cost is not None and request_cost.basis == "estimate" for request_cost in costs
    )
    notes = (ruler.sentence, *((LISTED_COSTS_NOTE,) if estimated_cells else ()), *timeline.gaps)
    return table_of(title, columns, timeline.requests, notes, links, estimated_cells)


def adding_up_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return a table with a row for each request with reported usage: the three parts of its tokens."""
    columns: tuple[ColumnSpec, ...] = (
        (TableColumn("request", "request", "count"), lambda row: row.request + 1),
        TableColumn("reported", "reported", "count", "fact"),
        TableColumn("unseen", "unseen", "count", "estimate"),
        TableColumn("items", "items", "count", "estimate"),
        TableColumn("remainder", "remainder", "count", "estimate"),
    )
    from palimpsest.context_policies.calibration.fit import token_parts

    rows = token_parts(timeline, ruler)
    links = [link_to(timeline.session, row.request) for row in rows]
    title = f"How the tokens of {timeline.title or timeline.session} add up"
    return table_of(title, columns, rows, (ruler.sentence, *timeline.gaps), links)


def items_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return a table with a row for each item: kind, size, first request, and last state."""
    weights, request_count = timeline.weights(ruler.estimator), len(timeline.requests)
    last_change_by_item = {
        item.index: timeline.transition_at(item.index, request_count) for item in timeline.items
    }

    def final_value(
        cell_of: Callable[[Transition], Cell], whole_value: Cell
    ) -> Callable[[TimelineItem], Cell]:
        return lambda item: (
            whole_value if (change := last_change_by_item[item.index]) is None else cell_of(change)
        )

    tokens_column = TableColumn("tokens", "tokens", "count", "estimate")
    since_column = TableColumn("since", "since request", "count")
    columns: tuple[ColumnSpec, ...] = (
        (TableColumn("item", "item", "count"), lambda item: item.index + 1),
        TableColumn("kind", "kind"),
        TableColumn("tool", "tool"),
        TableColumn("label", "label"),
        TableColumn("turn", "turn", "count"),
        (TableColumn("entered", "from request", "count"), lambda item: item.entered + 1),
        TableColumn("chars", "chars", "count", "fact"),
        (tokens_column, lambda item: round(weights[item.index] * ruler.factor)),
        (TableColumn("state", "at the end"), final_value(lambda change: change.state, "whole")),
        (since_column, final_value(lambda change: change.request + 1, None)),
        (TableColumn("rule", "rule"), final_value(lambda change: change.rule, "")),
        TableColumn("id", "id"),
    )
    links = [link_to(timeline.session, request_count - 1, item.index) for item in timeline.items]
    title = f"{len(timeline.items)} items of {timeline.title or timeline.session}"
    return table_of(title, columns, timeline.items, (ruler.sentence,), links)


def decisions_table(timeline: Timeline, ruler: Ruler) -> ReportTable:
    """Return a table with a row for each change of an item's state."""
    items, weights = timeline.items, timeline.weights(ruler.estimator)
    before_column = TableColumn("tokens_before", "tokens before", "count", "estimate")
    after_column = TableColumn("tokens_after", "after", "count", "estimate")
    columns: tuple[ColumnSpec, ...] = (
        (TableColumn("request", "from request", "count"), lambda change: change.request + 1),
        (TableColumn("item", "item", "count"), lambda change: change.item + 1),
        TableColumn("state", "state"),
        TableColumn("rule", "rule"),
        (TableColumn("tool", "tool"), lambda change: items[change.item].tool),
        (TableColumn("label", "label"), lambda change: items[change.item].label),
        (before_column, lambda change: weights[change.item]),
        (
            after_column,
            lambda change: weights[change.item] if change.state == "whole" else change.tokens,
        ),
    )
    changes = timeline.transitions
    links = [link_to(timeline.session, change.request, change.item) for change in changes]
    title = f"{len(changes)} changes of what was shown in {timeline.title or timeline.session}"
    return table_of(title, columns, changes, (), links)
