"""Two recorded sessions side by side, such as one task given to two agents: nothing is replayed.

All figures are facts, except that figures of sessions without reported usage or cost are marked as estimates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from palimpsest.render.reports.table import (
    Cell,
    Form,
    ReportTable,
    ShownAsTable,
    TableColumn,
    check_columns,
    mark_estimate,
    shown_cell,
)
from palimpsest.review.session_figures import SessionFigures, session_figures
from palimpsest.review.session_review import PriceLike, SessionReview
from palimpsest.review.tables.request_totals import request_sizes

SCHEMA_VERSION = 1
GROWTH_POINTS = 5
"""Number of points, from the first to the last request, at which the size of the context is shown."""
HEAD_CHARS = 32
"""Characters above which a title is cut in the head of its column."""
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
FIGURE_KEYS = (*(key for key, *_ in _ROWS), "context", "tools", "causes")
"""Keys of the figures, as in the plain values."""


@dataclass(frozen=True)
class RecordedComparison(ShownAsTable):
    """Two sessions side by side."""

    first: SessionFigures
    second: SessionFigures
    first_growth: tuple[int, ...]
    """Tokens of the context at evenly spaced points of the session."""
    second_growth: tuple[int, ...]

    @cached_property
    def table(self) -> ReportTable:
        """A row for each figure, a column for each session, and the second value as a multiple of the first."""
        return self.table_of_figures(FIGURE_KEYS)

    def table_of_figures(self, keys: Sequence[str]) -> ReportTable:
        """Return the table with the rows of these figures only, in its own order; raises UserError for an unknown key."""
        check_columns(keys, FIGURE_KEYS)
        columns = (
            TableColumn("figure", "figure"),
            TableColumn("first", _column_title(self.first)),
            TableColumn("second", _column_title(self.second)),
            TableColumn("ratio", "second / first", "share"),
        )
        rows = tuple(row for key, row in self._figure_rows() if key in keys)
        return ReportTable("Two recorded sessions", columns, rows, self._notes())

    def _figure_rows(self) -> Iterator[tuple[str, tuple[Cell, ...]]]:
        """Yield each row with the key of its figure."""
        for key, title, form in _ROWS:
            first_value, other = getattr(self.first, key), getattr(self.second, key)
            is_comparable = key not in _MONEY or self.first.unit == self.second.unit
            ratio = _ratio(first_value, other) if is_comparable else None
            unit = f", {self.first.unit}" if key in _MONEY and is_comparable else ""
            texts = (_figure_text(side, key, form) for side in (self.first, self.second))
            yield key, (title + unit, *texts, ratio)
        for point, pair in enumerate(zip(self.first_growth, self.second_growth, strict=True)):
            share = 100 * point // (GROWTH_POINTS - 1)
            words = f"context after {share} % of the requests"
            sides = zip(pair, (self.first, self.second), strict=True)
            sizes = (mark_estimate(f"{value:,}", side.basis == "estimate") for value, side in sides)
            yield "context", (words, *sizes, _ratio(*pair))
        for key, words, first, second in (
            ("tools", "calls of", self.first.tools, self.second.tools),
            ("causes", "breaks:", self.first.causes, self.second.causes),
        ):
            for name in dict.fromkeys([*first, *second]):
                first_value, other = first.get(name, 0), second.get(name, 0)
                ratio = _ratio(first_value, other)
                yield key, (f"{words} {name}", str(first_value), str(other), ratio)

    def _notes(self) -> tuple[str, ...]:
        both = (self.first, self.second)
        notes = [
            f"{compared.title or compared.session} reported no usage; its tokens and cost are estimates."
            for compared in both
            if compared.basis == "estimate"
        ]
        note_fields = ((side, words) for words in ("clock", "recorded_words") for side in both)
        notes_found = ((compared, getattr(compared, words)) for compared, words in note_fields)
        notes += [f"{side.title or side.session}: {words}" for side, words in notes_found if words]
        notes += [
            compared.price
            for compared in both
            if compared.estimates & _MONEY and compared.unit == "USD"
        ]
        if self.first.unit != self.second.unit:
            notes.append('Only one of them has a known price; give price="units" to compare costs.')
        return tuple(dict.fromkeys(notes))  # both may be one session

    def json(self) -> dict[str, Any]:
        """Return the figures of both sessions as plain values."""
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
    """Compare two recorded sessions at a price, as a comparison of policies takes it."""
    return RecordedComparison(
        session_figures(first, price),
        session_figures(second, price),
        _context(first),
        _context(second),
    )


def _context(review: SessionReview) -> tuple[int, ...]:
    sizes = [round(size) for size in request_sizes(review.timeline, review.ruler)]
    if not sizes:
        return (0,) * GROWTH_POINTS
    last = len(sizes) - 1
    return tuple(sizes[round(last * point / (GROWTH_POINTS - 1))] for point in range(GROWTH_POINTS))


def _column_title(figures: SessionFigures) -> str:
    name = figures.title or figures.session
    return name if len(name) <= HEAD_CHARS else f"{name[: HEAD_CHARS - 1]}…"


def _ratio(value: Any, other: Any) -> float | None:
    if isinstance(value, int | float) and isinstance(other, int | float) and value:
        return other / value
    return None


def _figure_text(figures: SessionFigures, key: str, form: Form) -> str:
    texts = shown_cell(getattr(figures, key), TableColumn(key, key, form))
    return mark_estimate(texts, key in figures.estimates)
