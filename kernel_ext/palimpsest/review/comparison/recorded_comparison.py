"""Two recorded sessions side by side, such as one task given to two agents: nothing is replayed.

Facts, but where no usage or no cost was recorded: those figures are marked as estimates.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.render.reports.table import (
    Cell,
    Form,
    ReportTable,
    ShownAsTable,
    TableColumn,
    marked,
    shown_cell,
)
from palimpsest.review.comparison.request_totals import request_sizes
from palimpsest.review.comparison.session_figures import SessionFigures, session_figures
from palimpsest.review.comparison.session_review import PriceLike, SessionReview

SCHEMA_VERSION = 1
GROWTH_POINTS = 5
"""Requests at whose share of the session the context is told: the first, three between, and the last."""
HEAD_CHARS = 32
"""A longer title is cut in the head of its column."""
_ROWS: tuple[tuple[str, str, Form], ...] = (
    ("origin", "agent", "text"),
    ("model", "model", "text"),
    ("turns", "turns", "count"),
    ("requests", "requests", "count"),
    ("input", "input tokens", "count"),
    ("output", "output tokens", "count"),
    ("peak", "largest request", "count"),
    ("growth", "median growth a request", "count"),
    ("cached", "share read from the cache", "share"),
    ("cost", "cost", "usd"),
    ("breaks", "cache breaks", "count"),
    ("break_tokens", "tokens lost by breaks", "count"),
    ("break_cost", "cost of breaks", "usd"),
    ("compactions", "compactions", "count"),
    ("seconds", "time", "seconds"),
)


@dataclass(frozen=True)
class RecordedComparison(ShownAsTable):
    """Two sessions side by side."""

    first: SessionFigures
    second: SessionFigures
    first_growth: tuple[int, ...]
    """Tokens of the context at even distances through the session."""
    second_growth: tuple[int, ...]

    @cached_property
    def table(self) -> ReportTable:
        """One row a figure, one column a session, and the second as a multiple of the first."""
        rows: list[tuple[Cell, ...]] = []
        for key, title, form in _ROWS:
            one, other = getattr(self.first, key), getattr(self.second, key)
            is_comparable = key not in _MONEY or self.first.unit == self.second.unit
            ratio = _ratio(one, other) if is_comparable else None
            unit = f", {self.first.unit}" if key in _MONEY and is_comparable else ""
            shown = (_shown(side, key, form) for side in (self.first, self.second))
            rows.append((title + unit, *shown, ratio))
        for place, pair in enumerate(zip(self.first_growth, self.second_growth, strict=True)):
            share = 100 * place // (GROWTH_POINTS - 1)
            words = f"context after {share} % of the requests"
            sides = zip(pair, (self.first, self.second), strict=True)
            sizes = (marked(f"{one:,}", side.basis == "estimate") for one, side in sides)
            rows.append((words, *sizes, _ratio(*pair)))
        for words, first, second in (
            ("calls of", self.first.tools, self.second.tools),
            ("breaks:", self.first.causes, self.second.causes),
        ):
            for name in dict.fromkeys([*first, *second]):
                one, other = first.get(name, 0), second.get(name, 0)
                rows.append((f"{words} {name}", str(one), str(other), _ratio(one, other)))
        columns = (
            TableColumn("figure", "figure"),
            TableColumn("first", _head(self.first)),
            TableColumn("second", _head(self.second)),
            TableColumn("ratio", "second / first", "share"),
        )
        return ReportTable("Two recorded sessions", columns, tuple(rows), self._notes())

    def _notes(self) -> tuple[str, ...]:
        both = (self.first, self.second)
        notes = [
            f"{one.title or one.session} reported no usage; its tokens and cost are estimates."
            for one in both
            if one.basis == "estimate"
        ]
        told = ((one, words) for words in ("clock", "recorded_words") for one in both)
        said = ((one, getattr(one, words)) for one, words in told)
        notes += [f"{one.title or one.session}: {words}" for one, words in said if words]
        notes += dict.fromkeys(
            one.price for one in both if one.estimates & _MONEY and one.unit == "USD"
        )
        if self.first.unit != self.second.unit:
            notes.append('Only one of them has a known price; give price="units" to compare costs.')
        return tuple(notes)

    def json(self) -> dict[str, Any]:
        """Return the figures of both as plain values."""
        return {
            "schema": SCHEMA_VERSION,
            "sessions": [
                {**self.first.json(), "context": list(self.first_growth)},
                {**self.second.json(), "context": list(self.second_growth)},
            ],
        }


_MONEY = frozenset({"cost", "break_cost"})


def compare_recorded(
    first: SessionReview, second: SessionReview, price: PriceLike = None
) -> RecordedComparison:
    """Return two recorded sessions side by side; ``price`` as for a comparison of policies."""
    return RecordedComparison(
        session_figures(first, price),
        session_figures(second, price),
        _context(first),
        _context(second),
    )


def _context(review: SessionReview) -> tuple[int, ...]:
    sizes = [round(one) for one in request_sizes(review.timeline, review.ruler)]
    if not sizes:
        return (0,) * GROWTH_POINTS
    last = len(sizes) - 1
    return tuple(sizes[round(last * one / (GROWTH_POINTS - 1))] for one in range(GROWTH_POINTS))


def _head(one: SessionFigures) -> str:
    name = one.title or one.session
    return name if len(name) <= HEAD_CHARS else f"{name[: HEAD_CHARS - 1]}…"


def _ratio(one: Any, other: Any) -> float | None:
    if isinstance(one, int | float) and isinstance(other, int | float) and one:
        return other / one
    return None


def _shown(figures: SessionFigures, key: str, form: Form) -> str:
    shown = shown_cell(getattr(figures, key), TableColumn(key, key, form))
    return marked(shown, key in figures.estimates)
