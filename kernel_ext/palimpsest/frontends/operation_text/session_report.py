"""Report on one session for ``palimpsest inspect``: totals, cache breaks, wastes, items by kind."""

from collections import defaultdict
from typing import Any

from palimpsest.render.reports.table import (
    Cell,
    Form,
    ReportTable,
    TableColumn,
    mark_estimate,
    shown_cell,
)
from palimpsest.review.session_figures import RECORDED_COLUMNS, session_figures
from palimpsest.review.session_review import SessionReview

_TOTAL_ROWS: tuple[tuple[str, str, Form], ...] = (
    ("origin", "agent", "text"),
    ("model", "model", "text"),
    ("turns", "turns", "count"),
    ("requests", "requests", "count"),
    ("reported", "requests with usage", "count"),
    ("input", "input tokens", "count"),
    ("cached", "share read from the cache", "share"),
    ("output", "output tokens", "count"),
    ("peak", "largest request", "count"),
    ("cost", "cost", "usd"),
    ("breaks", "cache breaks", "count"),
    ("break_tokens", "tokens lost by breaks", "count"),
    ("break_cost", "cost of breaks", "usd"),
    ("compactions", "compactions", "count"),
    ("seconds", "time", "seconds"),
)

NO_REQUEST_NOTE = "The session has no request, so nothing was sent and nothing cost anything."


class SessionReport:
    """One session's figures and tables, at the prices with which it was opened; raises UserError for an unknown price."""

    def __init__(self, review: SessionReview) -> None:
        self.figures = session_figures(review)
        self.breaks, self.wastes = review.breaks(), review.wastes()
        self.cache_use = review.cache_use()
        self.kinds_table, self.subagents = items_by_kind(review), review.subagents
        self.proof_table = review.proof()
        """How exactly a replay reproduces the session; comparisons with policies depend on it."""
        self.gaps = review.timeline.gaps
        """Sentences on data that the recording lacks."""

    @property
    def tables(self) -> tuple[ReportTable, ...]:
        """All tables, in the order of the report."""
        report_tables = [self._totals_table(), self.kinds_table]
        if len(self.subagents):
            report_tables.append(self.subagents.table)
        if self.cache_use.rows:
            report_tables.append(self.cache_use.table)
        if len(self.breaks):
            report_tables.append(self.breaks.table)
        if len(self.wastes):
            report_tables.append(self.wastes.table)
        return tuple(report_tables)

    def _totals_table(self) -> ReportTable:
        figures = self.figures
        rows: list[tuple[Cell, ...]] = []
        for key, title, form in _TOTAL_ROWS:
            is_money = key in ("cost", "break_cost")
            label = f"{title}, {figures.unit}" if is_money else title
            cell_form = "count" if is_money and figures.unit == "units" else form
            cell = shown_cell(getattr(figures, key), TableColumn(key, title, cell_form))
            rows.append((label, mark_estimate(cell, key in figures.estimates)))
        if len(self.subagents):
            totals = self.subagents.all_totals
            cost = shown_cell(totals.cost, TableColumn("cost", "cost", "usd"))
            cost = mark_estimate(cost, not totals.cost_is_fact)
            rows += [
                ("subagents", f"{len(self.subagents):,}"),
                ("requests with theirs", f"{totals.requests:,}"),
                ("input tokens with theirs", f"{totals.input:,}"),
                (f"cost with theirs, {self.subagents.unit}", cost),
            ]
        for key, title, form in RECORDED_COLUMNS:
            if (value := getattr(figures, key)) is not None:
                cell = shown_cell(value, TableColumn(key, title, form))
                rows.append((f"{title}, as the recording tells it", cell))
        rows += [(f"calls of {name}", f"{number:,}") for name, number in figures.tools.items()]
        notes = list(self.gaps)
        if not figures.requests:
            notes.insert(0, NO_REQUEST_NOTE)
        elif figures.basis == "estimate":
            notes.insert(0, "No usage was reported; tokens and cost are estimates.")
        if figures.clock:
            notes.append(figures.clock)
        if figures.estimates & {"cost", "break_cost"}:
            notes.append(figures.price)
        columns = (TableColumn("figure", "figure"), TableColumn("value", "value"))
        lead_sentences = self.proof_table.sentences if self.proof_table.rows else ()
        title = figures.title or figures.session
        return ReportTable(title, columns, tuple(rows), tuple(notes), lead=lead_sentences)

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            **self.figures.json(),
            "proof": self.proof_table.json(),
            "items_by_kind": self.kinds_table.records(),
            "subagents": self.subagents.json(),
            "cache_use": self.cache_use.json(),
            "cache_breaks": self.breaks.table.priced_records(),
            "wastes": self.wastes.table.priced_records(),
            "gaps": list(self.gaps),
        }


def items_by_kind(review: SessionReview) -> ReportTable:
    """Return a table with a row for each kind of item: number, size, and tokens of it in the largest request."""
    timeline, ruler = review.timeline, review.ruler
    item_tokens = timeline.weights(ruler.estimator)
    requests = timeline.requests
    largest_request = max(
        requests, key=lambda request: request.reported or request.items, default=None
    )
    item_counts: dict[str, int] = defaultdict(int)
    kind_chars: dict[str, int] = defaultdict(int)
    kind_tokens: dict[str, float] = defaultdict(float)
    peak_tokens: dict[str, float] = defaultdict(float)
    for item, tokens_of_item in zip(timeline.items, item_tokens, strict=True):
        item_counts[item.kind] += 1
        kind_chars[item.kind] += item.chars
        kind_tokens[item.kind] += tokens_of_item * ruler.factor
        if largest_request is not None and item.index < largest_request.items:
            transition = timeline.transition_at(item.index, largest_request.index)
            sent_tokens = tokens_of_item if transition is None else (transition.tokens or 0)
            peak_tokens[item.kind] += sent_tokens * ruler.factor
    total_peak_tokens = sum(peak_tokens.values())
    rows = tuple(
        (
            kind,
            item_counts[kind],
            kind_chars[kind],
            round(kind_tokens[kind]),
            round(peak_tokens[kind]),
            peak_tokens[kind] / total_peak_tokens if total_peak_tokens else None,
        )
        for kind in sorted(item_counts, key=lambda name: (-kind_tokens[name], name))
    )
    columns = (
        TableColumn("kind", "kind"),
        TableColumn("items", "items", "count", "fact"),
        TableColumn("chars", "chars", "count", "fact"),
        TableColumn("tokens", "tokens", "count", "estimate"),
        TableColumn("peak_tokens", "in the largest request", "count", "estimate"),
        TableColumn("peak_share", "share of its items", "share", "estimate"),
    )
    return ReportTable("Items by kind", columns, rows, (ruler.sentence,))
