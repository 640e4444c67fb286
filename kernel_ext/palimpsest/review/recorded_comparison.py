"""Two recorded sessions side by side, such as one task given to two agents: where they part, and their figures.

Nothing is replayed: all figures are facts, except that figures of sessions without reported usage or cost are marked as estimates.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from palimpsest.render.content.phrases import counted_noun
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
from palimpsest.render.safety.escaping import one_line
from palimpsest.review.comparison.session_actions import (
    Parting,
    SessionActions,
    SessionStep,
    first_prompt_digest,
    parting_of,
    session_actions,
)
from palimpsest.review.session_figures import SessionFigures, session_figures
from palimpsest.review.session_review import PriceLike, SessionReview
from palimpsest.review.tables.request_totals import request_sizes

SCHEMA_VERSION = 1
GROWTH_POINTS = 5
"""Number of points, from the first to the last request, at which the size of the context is shown."""
MAX_ACTION_CHARS = 48
"""Characters above which an action is cut in a cell; the sentence before the table has all of it."""
COPIED_STEPS_SENTENCE = "The {name} begins with {steps} of another session, whose requests, tokens and cost are counted there."
OTHER_PROMPT_SENTENCE = "Their first prompts differ."
MAX_COLUMN_TITLE_CHARS = 32
"""Characters above which a session's title is cut as the title of its column."""
_FIGURE_ROWS: tuple[tuple[str, str, Form], ...] = (
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
_ACTION_ROWS = (
    ("steps", "steps that acted"),
    ("shared_steps", "steps before they part"),
    ("next_action", "what it then did"),
    ("files_changed", "files changed by name"),
    ("files_read", "files only read by name"),
    ("end", "how it ended"),
)
FIGURE_KEYS = (
    *(key for key, *_ in _FIGURE_ROWS),
    *(key for key, _ in _ACTION_ROWS),
    *("context", "tools", "causes"),
)
"""Keys of the figures, as ``table_of_figures`` takes them."""


@dataclass(frozen=True)
class RecordedComparison(ShownAsTable):
    """Two sessions side by side."""

    first: SessionFigures
    second: SessionFigures
    first_growth: tuple[int, ...]
    """Tokens of the context at evenly spaced points of the session."""
    second_growth: tuple[int, ...]
    first_actions: SessionActions
    second_actions: SessionActions
    has_same_prompt: bool
    """Whether both sessions began with the same prompt."""
    with_texts: bool = True
    """Whether actions are shown with their subjects, such as a path; else only the tools are named."""

    @cached_property
    def parting(self) -> Parting:
        """Where the two part: the first step whose tool call, or whose answer, differs."""
        return parting_of(self.first_actions, self.second_actions)

    @property
    def sentence(self) -> str:
        """Where they part, in a sentence."""
        return self.parting.sentence(with_texts=self.with_texts)

    @cached_property
    def table(self) -> ReportTable:
        """A row for each figure, a column for each session, and the second value as a multiple of the first."""
        return self.table_of_figures(FIGURE_KEYS)

    def table_of_figures(self, keys: Sequence[str]) -> ReportTable:
        """Return the table with the rows of the figures with these keys, in the order of ``table``; raises UserError for an unknown key."""
        check_columns(keys, FIGURE_KEYS)
        first_title, second_title = self._column_titles()
        columns = (
            TableColumn("figure", "figure"),
            TableColumn("first", first_title),
            TableColumn("second", second_title),
            TableColumn("ratio", "second / first", "share"),
        )
        rows = tuple(row for key, row in self.figure_rows() if key in keys)
        lead = (self.sentence,) if "next_action" in keys else ()
        return ReportTable("Two recorded sessions", columns, rows, self.notes, lead=lead)

    @property
    def _sides(
        self,
    ) -> tuple[tuple[SessionFigures, tuple[int, ...], SessionActions, SessionStep | None], ...]:
        """Of each session its figures, growth, actions, and the step at which they part."""
        first_step, second_step = self.parting.first_step, self.parting.second_step
        return (
            (self.first, self.first_growth, self.first_actions, first_step),
            (self.second, self.second_growth, self.second_actions, second_step),
        )

    def action_values(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return of each session the values of its steps, files and end."""
        first, second = (
            {
                "steps": len(actions.steps),
                "shared_steps": self.parting.shared_steps,
                "next_action": None if step is None else step.phrase(with_texts=self.with_texts),
                "files_changed": actions.file_count("changed"),
                "files_read": actions.file_count("read"),
                "end": actions.end(with_texts=self.with_texts),
            }
            for _, _, actions, step in self._sides
        )
        return first, second

    def figure_rows(self) -> Iterator[tuple[str, tuple[Cell, ...]]]:
        """Yield each row with the key of its figure."""
        for key, title, form in _FIGURE_ROWS:
            first_value, second_value = getattr(self.first, key), getattr(self.second, key)
            is_comparable = key not in _MONEY_KEYS or self.first.unit == self.second.unit
            ratio = _ratio_to_first(first_value, second_value) if is_comparable else None
            unit = f", {self.first.unit}" if key in _MONEY_KEYS and is_comparable else ""
            texts = (_figure_text(side, key, form) for side in (self.first, self.second))
            yield key, (title + unit, *texts, ratio)
        values = self.action_values()
        for key, title in _ACTION_ROWS:
            cells = [_action_text(value[key]) for value in values]
            is_count = key not in ("shared_steps", "next_action", "end")
            ratio = _ratio_to_first(*(value[key] for value in values)) if is_count else None
            yield key, (title, *cells, ratio)
        for point, pair in enumerate(zip(self.first_growth, self.second_growth, strict=True)):
            share = 100 * point // (GROWTH_POINTS - 1)
            title_text = f"context after {share} % of the requests"
            sides = zip(pair, (self.first, self.second), strict=True)
            sizes = (mark_estimate(f"{value:,}", side.basis == "estimate") for value, side in sides)
            yield "context", (title_text, *sizes, _ratio_to_first(*pair))
        for key, title_text, first, second in (
            ("tools", "calls of", self.first.tools, self.second.tools),
            ("causes", "breaks:", self.first.causes, self.second.causes),
        ):
            for name in dict.fromkeys([*first, *second]):
                first_value, second_value = first.get(name, 0), second.get(name, 0)
                ratio = _ratio_to_first(first_value, second_value)
                yield key, (f"{title_text} {name}", str(first_value), str(second_value), ratio)

    def _column_titles(self) -> tuple[str, str]:
        """Return the titles of the two columns: ``first:`` and ``second:`` stand before them where both sessions have one title."""
        first_title, second_title = (
            side.title or side.session for side in (self.first, self.second)
        )
        if first_title == second_title:
            first_title, second_title = f"first: {first_title}", f"second: {second_title}"
        return _column_title(first_title), _column_title(second_title)

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """Sentences on what the figures are based on, each once."""
        both = (self.first, self.second)
        notes = [] if self.has_same_prompt else [OTHER_PROMPT_SENTENCE]
        notes += [
            COPIED_STEPS_SENTENCE.format(
                name=name, steps=counted_noun(actions.copied_steps, "step")
            )
            for name, actions in (("first", self.first_actions), ("second", self.second_actions))
            if actions.copied_steps
        ]
        notes += [
            f"{side.title or side.session} reported no usage; its tokens and cost are estimates."
            for side in both
            if side.basis == "estimate"
        ]
        notes += [
            f"{side.title or side.session}: {sentence}"
            for field in ("clock", "recorded_words")
            for side in both
            if (sentence := getattr(side, field))
        ]
        notes += [
            side.price for side in both if side.estimates & _MONEY_KEYS and side.unit == "USD"
        ]
        if self.first.unit != self.second.unit:
            notes.append('Only one of them has a known price; give price="units" to compare costs.')
        return tuple(dict.fromkeys(notes))

    def json(self) -> dict[str, Any]:
        """Return the figures of both sessions as plain values."""
        sides = zip(self._sides, self.action_values(), strict=True)
        return {
            "schema": SCHEMA_VERSION,
            "parting": self.sentence,
            "sessions": [
                {
                    **figures.json(),
                    "context": list(growth),
                    **values,
                    "next_request": None
                    if step is None or step.request is None
                    else step.request + 1,
                    "files": [{"path": path, "use": use} for path, use in actions.files.items()],
                }
                for (figures, growth, actions, step), values in sides
            ],
        }


_MONEY_KEYS = frozenset({"cost", "break_cost"})


def compare_recorded(
    first: SessionReview, second: SessionReview, price: PriceLike = None, *, with_texts: bool = True
) -> RecordedComparison:
    """Return two recorded sessions side by side; ``price`` is that of ``SessionReview.price``.

    Without texts the sessions have no titles, and of actions only the tools are named.
    """
    first_figures, second_figures = session_figures(first, price), session_figures(second, price)
    if not with_texts:
        first_figures = replace(first_figures, title="")
        second_figures = replace(second_figures, title="")
    return RecordedComparison(
        first_figures,
        second_figures,
        _sampled_sizes(first),
        _sampled_sizes(second),
        session_actions(first.timeline),
        session_actions(second.timeline),
        first_prompt_digest(first.timeline) == first_prompt_digest(second.timeline),
        with_texts,
    )


def _sampled_sizes(review: SessionReview) -> tuple[int, ...]:
    sizes = [round(size) for size in request_sizes(review.timeline, review.ruler)]
    if not sizes:
        return (0,) * GROWTH_POINTS
    last_index = len(sizes) - 1
    return tuple(
        sizes[round(last_index * point / (GROWTH_POINTS - 1))] for point in range(GROWTH_POINTS)
    )


def _column_title(name: str) -> str:
    return name if len(name) <= MAX_COLUMN_TITLE_CHARS else f"{name[: MAX_COLUMN_TITLE_CHARS - 1]}…"


def _action_text(value: str | int | None) -> str:
    """Return a number, or the beginning of a phrase, as a cell."""
    if isinstance(value, int):
        return f"{value:,}"
    return one_line(value or "nothing", MAX_ACTION_CHARS)


def _ratio_to_first(first_value: Any, second_value: Any) -> float | None:
    if (
        isinstance(first_value, int | float)
        and isinstance(second_value, int | float)
        and first_value
    ):
        return second_value / first_value
    return None


def _figure_text(figures: SessionFigures, key: str, form: Form) -> str:
    text = shown_cell(getattr(figures, key), TableColumn(key, key, form))
    return mark_estimate(text, key in figures.estimates)
