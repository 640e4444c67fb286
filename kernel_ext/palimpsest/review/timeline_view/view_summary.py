"""What is kept of a view where nothing can be asked: one picture, a few tables, and sentences."""

from dataclasses import dataclass
from itertools import accumulate

from palimpsest.render.reports.table import Form, ReportTable, TableColumn, Told, table_of
from palimpsest.render.reports.timeline_picture import (
    TimelineMark,
    TimelinePicture,
    kind_words,
)
from palimpsest.review.replay.ruler import Scale
from palimpsest.review.timeline_view.view_values import TimelineView

MOST_ROWS = 10
LABEL_CHARS = 60
UNSEEN, PLACEHOLDER = "unseen", "placeholder"


@dataclass(frozen=True, slots=True)
class ViewSummary:
    """A view as one picture, tables and sentences."""

    title: str
    picture: TimelinePicture
    tables: tuple[ReportTable, ...]
    sentences: tuple[str, ...]


def view_summary(view: TimelineView) -> ViewSummary:
    """Return what is saved of a session's view."""
    names, layers = window_layers(view)
    return ViewSummary(
        title=view.title or view.session,
        picture=TimelinePicture(
            title=view.title or view.session,
            sentence=_sentence(view, layers),
            names=names,
            layers=layers,
            limits=view.requests.window,
            marks=_marks(view),
        ),
        tables=tuple(one for one in (_breaks(view), _largest(view)) if one.rows),
        sentences=(*view.totals, *filter(None, (view.limit_words,)), *view.gaps),
    )


def window_layers(view: TimelineView) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Return the kinds that the recorded requests show, and the tokens of each at each request.

    What is not seen is the lowest layer; what stands in the place of cleared items is the last one.
    """
    requests = len(view.requests.id)
    changes = [[0.0] * (requests + 1) for _ in (*view.kinds, PLACEHOLDER)]
    shown: dict[int, tuple[int, int]] = {}
    for item, (kind, tokens) in enumerate(zip(view.items.kind, view.items.tokens, strict=True)):
        shown[item] = kind, tokens
        changes[kind][min(view.items.entered[item], requests)] += tokens
    summary = view.kinds.index("summary")
    moves = view.recorded.transitions
    for item, request, state, tokens in zip(
        moves.item, moves.request, moves.state, moves.tokens, strict=True
    ):
        at = min(max(request, view.items.entered[item]), requests)
        kind, before = shown[item]
        changes[kind][at] -= before
        kept = state in ("whole", "truncated")
        layer = view.items.kind[item] if kept else summary if state == "summarised" else -1
        shown[item] = layer, tokens
        changes[layer][at] += tokens
    counted = [tuple(accumulate(row[:requests])) for row in changes]
    scales = [
        Scale(view.ruler.unseen, view.ruler.factor).at(total, sum(tokens))
        for total, *tokens in zip(view.recorded.total, *counted, strict=True)
    ]
    sums = [
        tuple(round(one * scale.factor) for one, scale in zip(row, scales, strict=True))
        for row in counted
    ]
    named = [
        (UNSEEN, tuple(round(one.unseen) for one in scales)),
        *zip((*view.kinds, PLACEHOLDER), sums, strict=True),
    ]
    found = [(name, row) for name, row in named if any(one > 0 for one in row)]
    return (
        tuple(name for name, _ in found),
        tuple(tuple(max(one, 0) for one in row) for _, row in found),
    )


def _sentence(view: TimelineView, layers: tuple[tuple[int, ...], ...]) -> str:
    requests = len(view.requests.id)
    if not requests:
        return "The session has no request yet."
    totals = [sum(column) for column in zip(*layers, strict=True)] or [0]
    peak = max(range(len(totals)), key=totals.__getitem__)
    window = max(view.requests.window, default=0)
    limit = f" of {window:,}" if window else ""
    return (
        f"The context window over {requests:,} requests, by kind: {totals[0]:,} tokens in the first, "
        f"{totals[peak]:,}{limit} at most, in request {peak + 1:,}; {len(view.breaks):,} cache breaks."
    )


def _marks(view: TimelineView) -> tuple[TimelineMark, ...]:
    return (
        *(TimelineMark(one.request, "break") for one in view.breaks),
        *(TimelineMark(one.request, "prune") for one in view.pruned),
        *(TimelineMark(one.request, "compact") for one in view.events if one.kind == "compact"),
    )


def _breaks(view: TimelineView) -> ReportTable:
    rows = sorted(view.breaks, key=lambda one: -one.cost)[:MOST_ROWS]
    unit: Form = "usd" if view.price.unit == "USD" else "count"
    columns: tuple[Told, ...] = (
        (TableColumn("request", "request", "count", "fact"), lambda one: one.request + 1),
        (TableColumn("cause", "cause", "text"), lambda one: one.words or one.cause),
        TableColumn("loss", "read anew", "count", "fact"),
        TableColumn(
            "cost",
            "cost, USD" if unit == "usd" else "cost, units",
            unit,
            "fact" if view.price.recorded else "estimate",
        ),
        TableColumn("avoided_by", "avoided by", "text"),
    )
    left_out = len(view.breaks) - len(rows)
    return table_of(
        "Cache breaks, the dearest first",
        columns,
        rows,
        (f"{left_out:,} more are in the session.",) if left_out else (),
    )


def _largest(view: TimelineView) -> ReportTable:
    items = view.items
    order = sorted(range(len(items.id)), key=lambda one: -items.tokens[one])[:MOST_ROWS]
    columns: tuple[Told, ...] = (
        (TableColumn("item", "item", "count", "fact"), lambda one: one + 1),
        (
            TableColumn("kind", "kind", "text"),
            lambda one: kind_words(view.kinds[items.kind[one]]),
        ),
        (TableColumn("label", "what it is", "text"), lambda one: items.label[one][:LABEL_CHARS]),
        (
            TableColumn("tokens", "tokens", "count", "estimate"),
            lambda one: round(items.tokens[one] * view.ruler.factor),
        ),
        (
            TableColumn("entered", "since request", "count", "fact"),
            lambda one: items.entered[one] + 1,
        ),
    )
    return table_of("The largest items", columns, order)
