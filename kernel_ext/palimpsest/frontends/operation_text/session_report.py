"""What ``palimpsest inspect`` says of one session: totals, peak, breaks, costs, wastes, items by kind."""

from collections import defaultdict
from typing import Any

from palimpsest.render.reports.table import Cell, Form, ReportTable, TableColumn, marked, shown_cell
from palimpsest.review.comparison.session_figures import (
    RECORDED_COLUMNS,
    session_figures,
)
from palimpsest.review.comparison.session_review import SessionReview

_TOTALS: tuple[tuple[str, str, Form], ...] = (
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


class SessionReport:
    """One session's figures and tables, at the prices with which it was opened; raises UserError for an unknown one."""

    def __init__(self, review: SessionReview) -> None:
        self.figures = session_figures(review)
        self.breaks, self.wastes = review.breaks(), review.wastes()
        self.kinds, self.subagents = items_by_kind(review), review.subagents
        self.proof = review.proof()
        """How well a replay reproduces the session, on which every comparison with a policy rests."""
        self.gaps = review.timeline.gaps
        """What the recording lacks, a sentence each."""

    @property
    def tables(self) -> tuple[ReportTable, ...]:
        """All tables, in the order in which they are shown."""
        found = [self._totals(), self.kinds]
        if len(self.subagents):
            found.append(self.subagents.table)
        if len(self.breaks):
            found.append(self.breaks.table)
        if len(self.wastes):
            found.append(self.wastes.table)
        return tuple(found)

    def _totals(self) -> ReportTable:
        one = self.figures
        rows: list[tuple[Cell, ...]] = []
        for key, title, form in _TOTALS:
            is_money = key in ("cost", "break_cost")
            words = f"{title}, {one.unit}" if is_money else title
            column = TableColumn(key, title, "count" if is_money and one.unit == "units" else form)
            shown = shown_cell(getattr(one, key), column)
            rows.append((words, marked(shown, key in one.estimates)))
        if len(self.subagents):
            whole = self.subagents.together
            cost = shown_cell(whole.cost, TableColumn("cost", "cost", "usd"))
            cost = marked(cost, not whole.cost_is_fact)
            rows += [
                ("subagents", f"{len(self.subagents):,}"),
                ("requests with theirs", f"{whole.requests:,}"),
                ("input tokens with theirs", f"{whole.input:,}"),
                (f"cost with theirs, {self.subagents.unit}", cost),
            ]
        rows += [
            (
                f"{title}, as the recording tells it",
                shown_cell(value, TableColumn(key, title, form)),
            )
            for key, title, form in RECORDED_COLUMNS
            if (value := getattr(one, key)) is not None
        ]
        for name, number in one.tools.items():
            rows.append((f"calls of {name}", f"{number:,}"))
        notes = list(self.gaps)
        if not one.requests:
            notes.insert(
                0, "The session has no request, so nothing was sent and nothing cost anything."
            )
        elif one.basis == "estimate":
            notes.insert(0, "No usage was reported; tokens and cost are estimates.")
        if one.clock:
            notes.append(one.clock)
        if one.estimates & {"cost", "break_cost"}:
            notes.append(one.price)
        columns = (TableColumn("figure", "figure"), TableColumn("value", "value"))
        lead = self.proof.sentences if self.proof.rows else ()
        return ReportTable(one.title or one.session, columns, tuple(rows), tuple(notes), lead=lead)

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            **self.figures.json(),
            "proof": self.proof.json(),
            "items_by_kind": self.kinds.records(),
            "subagents": self.subagents.json(),
            "cache_breaks": self.breaks.table.priced_records(),
            "wastes": self.wastes.table.priced_records(),
            "gaps": list(self.gaps),
        }


def items_by_kind(review: SessionReview) -> ReportTable:
    """Return one row a kind of items: how many, how large, and how much of them the largest request showed."""
    timeline, ruler = review.timeline, review.ruler
    weights = timeline.weights(ruler.estimator)
    requests = timeline.requests
    peak = max(requests, key=lambda one: one.reported or one.items, default=None)
    number: dict[str, int] = defaultdict(int)
    chars: dict[str, int] = defaultdict(int)
    tokens: dict[str, float] = defaultdict(float)
    shown: dict[str, float] = defaultdict(float)
    for item, weight in zip(timeline.items, weights, strict=True):
        number[item.kind] += 1
        chars[item.kind] += item.chars
        tokens[item.kind] += weight * ruler.factor
        if peak is not None and item.index < peak.items:
            found = timeline.at(item.index, peak.index)
            seen = weight if found is None else (found.tokens or 0)
            shown[item.kind] += seen * ruler.factor
    total = sum(shown.values())
    rows = tuple(
        (
            kind,
            number[kind],
            chars[kind],
            round(tokens[kind]),
            round(shown[kind]),
            shown[kind] / total if total else None,
        )
        for kind in sorted(number, key=lambda one: (-tokens[one], one))
    )
    columns = (
        TableColumn("kind", "kind"),
        TableColumn("items", "items", "count", "fact"),
        TableColumn("chars", "chars", "count", "fact"),
        TableColumn("tokens", "tokens", "count", "estimate"),
        TableColumn("peak_tokens", "in the largest request", "count", "estimate"),
        TableColumn("peak_share", "share of its items", "share", "estimate"),
    )
    return ReportTable("Items by kind", columns, rows, (ruler.words,))
