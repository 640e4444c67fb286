"""A view for places without a kernel: one picture, a few tables, and sentences."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from itertools import accumulate

from palimpsest.context_policies.prompt_cache.ruler import Scale
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import ColumnSpec, Form, ReportTable, TableColumn, table_of
from palimpsest.render.reports.timeline_picture import TimelineMark, TimelinePicture, kind_words
from palimpsest.review.timeline_view.comparison_values import SessionComparison
from palimpsest.review.timeline_view.inspector_parts import InspectorPart
from palimpsest.review.timeline_view.view_values import TimelineView

MAX_ROWS = 10
"""Maximum rows of a table."""
MAX_CHOSEN_ROWS = 50
"""Maximum breaks that are listed where their table was chosen by its name."""
MAX_LABEL_CHARS = 60
HIDDEN_SENTENCE = "Hidden until it is revealed: {parts}."
FIRST_SESSION_SENTENCE = (
    "The picture, these sentences and the tables below that of both are of the first session."
)
"""Sentence of a page with two sessions where no script runs."""
UNSEEN, PLACEHOLDER = "unseen", "placeholder"


@dataclass(frozen=True, slots=True)
class ViewSummary:
    """A view as one picture, tables and sentences."""

    title: str
    picture: TimelinePicture | None
    """None where it is not among the chosen parts, or hidden."""
    tables: tuple[ReportTable, ...]
    sentences: tuple[str, ...]


def view_summary(
    view: TimelineView,
    views: Collection[InspectorPart] = (),
    hidden: Collection[InspectorPart] = (),
) -> ViewSummary:
    """Return the picture, tables and sentences of a session's view.

    With ``views`` it holds only what belongs to these parts, and never what belongs to a ``hidden`` part; a sentence names
    the hidden parts that it would show otherwise.
    """

    def is_shown(*parts: InspectorPart) -> bool:
        return any((not views or part in views) and part not in hidden for part in parts)

    hidden_parts = [part for part in hidden if not views or part in views]
    max_rows = MAX_CHOSEN_ROWS if "breaks" in views else MAX_ROWS
    tables = (
        *((_breaks_table(view, max_rows),) if is_shown("breaks") else ()),
        *((_largest_items_table(view),) if is_shown("grid", "window") else ()),
    )
    return ViewSummary(
        title=view.title or view.session,
        picture=view_picture(view, has_breaks="breaks" not in hidden)
        if is_shown("tracks")
        else None,
        tables=tuple(table for table in tables if table.rows),
        sentences=(
            *((HIDDEN_SENTENCE.format(parts=", ".join(hidden_parts)),) if hidden_parts else ()),
            *(view.totals if is_shown("totals") else ()),
            *filter(None, (view.limit_words if is_shown("tracks") else "",)),
            *view.gaps,
        ),
    )


def view_picture(view: TimelineView, *, has_breaks: bool = True) -> TimelinePicture:
    """Return the picture of a session's window, with or without its cache breaks."""
    layer_names, layers = window_layers(view)
    return TimelinePicture(
        title=view.title or view.session,
        sentence=_picture_sentence(view, layers, has_breaks=has_breaks),
        names=layer_names,
        tokens_by_kind=layers,
        limits=view.requests.window,
        marks=tuple(mark for mark in _timeline_marks(view) if has_breaks or mark.kind != "break"),
    )


def compared_summary(summary: ViewSummary, comparison: SessionComparison) -> ViewSummary:
    """Return the summary of the first of two sessions, with how both compare before its tables."""
    second_title = comparison.second.title or comparison.second.session
    return replace(
        summary,
        title=" and ".join(dict.fromkeys((summary.title, second_title))),
        tables=(comparison_table(comparison), *summary.tables),
        sentences=(FIRST_SESSION_SENTENCE, *summary.sentences),
    )


def comparison_table(comparison: SessionComparison) -> ReportTable:
    """Return the figures of two sessions as a table, with the sentence on where they part above it."""
    columns = (
        TableColumn("figure", "figure"),
        TableColumn("first", f"first: {comparison.first.title or comparison.first.session}"),
        TableColumn("second", f"second: {comparison.second.title or comparison.second.session}"),
        TableColumn("ratio", "second / first"),
    )
    rows = tuple((row.name, row.first, row.second, row.ratio) for row in comparison.figures)
    return ReportTable("Two sessions", columns, rows, comparison.notes, lead=(comparison.sentence,))


def window_layers(view: TimelineView) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """Return the shown kinds and their tokens at each request: unseen tokens first, placeholders last."""
    request_count = len(view.requests.id)
    token_changes = [[0.0] * (request_count + 1) for _ in (*view.kinds, PLACEHOLDER)]
    layer_and_tokens_by_item: dict[int, tuple[int, int]] = {}
    for item, (kind, tokens) in enumerate(zip(view.items.kind, view.items.tokens, strict=True)):
        layer_and_tokens_by_item[item] = kind, tokens
        token_changes[kind][min(view.items.entered[item], request_count)] += tokens
    summary_kind = view.kinds.index("summary")
    transitions = view.recorded.transitions
    for item, request, state, tokens in zip(
        transitions.item, transitions.request, transitions.state, transitions.tokens, strict=True
    ):
        first_request = min(max(request, view.items.entered[item]), request_count)
        kind, tokens_before = layer_and_tokens_by_item[item]
        token_changes[kind][first_request] -= tokens_before
        is_readable = state in ("whole", "truncated")
        layer = (
            view.items.kind[item] if is_readable else summary_kind if state == "summarised" else -1
        )
        layer_and_tokens_by_item[item] = layer, tokens
        token_changes[layer][first_request] += tokens
    tokens_by_kind = [tuple(accumulate(row[:request_count])) for row in token_changes]
    scales = [
        Scale(view.ruler.unseen, view.ruler.factor).fitted_to(total, sum(tokens))
        for total, *tokens in zip(view.recorded.total, *tokens_by_kind, strict=True)
    ]
    scaled_layers = [
        tuple(round(count * scale.factor) for count, scale in zip(row, scales, strict=True))
        for row in tokens_by_kind
    ]
    named_layers = [
        (UNSEEN, tuple(round(scale.unseen_tokens) for scale in scales)),
        *zip((*view.kinds, PLACEHOLDER), scaled_layers, strict=True),
    ]
    layers = [(name, row) for name, row in named_layers if any(count > 0 for count in row)]
    return (
        tuple(name for name, _ in layers),
        tuple(tuple(max(count, 0) for count in row) for _, row in layers),
    )


def _picture_sentence(
    view: TimelineView, layers: tuple[tuple[int, ...], ...], *, has_breaks: bool
) -> str:
    request_count = len(view.requests.id)
    if not request_count:
        return "The session has no request yet."
    tokens_by_request = [sum(request_tokens) for request_tokens in zip(*layers, strict=True)] or [0]
    peak_request = max(range(len(tokens_by_request)), key=tokens_by_request.__getitem__)
    window = max(view.requests.window, default=0)
    limit_text = f" of {window:,}" if window else ""
    breaks_text = f"; {counted_noun(len(view.breaks), 'cache break')}" if has_breaks else ""
    return (
        f"The context window over {counted_noun(request_count, 'request')}, by kind: {tokens_by_request[0]:,} tokens in the first, "
        f"{tokens_by_request[peak_request]:,}{limit_text} at most, in request {peak_request + 1:,}{breaks_text}."
    )


def _timeline_marks(view: TimelineView) -> tuple[TimelineMark, ...]:
    return (
        *(TimelineMark(cache_break.request, "break") for cache_break in view.breaks),
        *(TimelineMark(prune.request, "prune") for prune in view.pruned),
        *(
            TimelineMark(event.request, "compact")
            for event in view.events
            if event.kind == "compact"
        ),
    )


def _breaks_table(view: TimelineView, max_rows: int) -> ReportTable:
    rows = sorted(view.breaks, key=lambda row: -row.cost)[:max_rows]
    cost_form: Form = "usd" if view.price.unit == "USD" else "count"
    cost_title = "cost, USD" if cost_form == "usd" else "cost, units"
    columns: tuple[ColumnSpec, ...] = (
        (TableColumn("request", "request", "count", "fact"), lambda row: row.request + 1),
        (TableColumn("cause", "cause", "text"), lambda row: row.words or row.cause),
        TableColumn("loss", "written anew", "count", "fact"),
        TableColumn(
            "cost", cost_title, cost_form, "fact" if view.price.matches_recorded else "estimate"
        ),
        TableColumn("avoided_by", "avoided by", "text"),
    )
    left_out_count = len(view.breaks) - len(rows)
    notes = (f"{left_out_count:,} more are in the session.",) if left_out_count else ()
    return table_of("Cache breaks, the dearest first", columns, rows, notes)


def _largest_items_table(view: TimelineView) -> ReportTable:
    items = view.items
    item_indexes = sorted(range(len(items.id)), key=lambda index: -items.tokens[index])[:MAX_ROWS]
    tokens_column = TableColumn("tokens", "tokens", "count", "estimate")
    since_column = TableColumn("entered", "since request", "count", "fact")
    columns: tuple[ColumnSpec, ...] = (
        (TableColumn("item", "item", "count", "fact"), lambda index: index + 1),
        (
            TableColumn("kind", "kind", "text"),
            lambda index: kind_words(view.kinds[items.kind[index]]),
        ),
        (
            TableColumn("label", "what it is", "text"),
            lambda index: items.label[index][:MAX_LABEL_CHARS],
        ),
        (tokens_column, lambda index: round(items.tokens[index] * view.ruler.factor)),
        (since_column, lambda index: items.entered[index] + 1),
    )
    return table_of("The largest items", columns, item_indexes)
