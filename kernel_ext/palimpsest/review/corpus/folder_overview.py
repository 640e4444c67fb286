"""All sessions of a folder in one table: file, parent, cost and waste of each, with totals and remedies."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from palimpsest.context_policies.prompt_cache.ruler import amount_with_unit
from palimpsest.render.content.phrases import counted_noun, short_count, usd_text
from palimpsest.render.reports.table import Cell, Form, ReportTable, ShownAsTable, TableColumn
from palimpsest.review.session_figures import SessionFigures
from palimpsest.review.tables.figures import waste_text
from palimpsest.transcript.strings.terminal_columns import columns_of

OverviewOrder = Literal["cost", "waste", "input", "requests", "breaks", "file"]
MAX_NAME_COLUMNS = 16
"""Columns of a title and of a path in the table, so that it fits a terminal of 80 columns."""
MAX_REMEDIES = 3
MIN_WASTE_SHARE = 0.01
"""Share of the whole cost below which no waste is named."""


@dataclass(frozen=True)
class OverviewSession:
    """One session of a folder."""

    file: str
    """The path of its recording below the folder."""
    figures: SessionFigures
    wastes: Mapping[str, Any]
    """The values of ``session_wastes``."""

    def is_part_of(self, other: "OverviewSession") -> bool:
        """Return whether another recording of the session has its requests too: the same ids, tokens, and times if known."""
        if self.figures == other.figures:
            return True
        own_requests = self.wastes.get("reported", {})
        other_requests = other.wastes.get("reported", {})
        if not own_requests or not own_requests.keys() <= other_requests.keys():
            return False
        return all(
            tokens == other_requests[name][0]
            and (time is None or other_requests[name][1] in (None, time))
            for name, (tokens, time) in own_requests.items()
        )

    @property
    def waste(self) -> float:
        """The cost of all its wastes."""
        return float(sum(cost for _, cost in self.wastes.get("kinds", {}).values()))

    @property
    def is_waste_fact(self) -> bool:
        """Whether the cost of all its wastes was recorded."""
        return bool(self.wastes.get("is_fact", True))


@dataclass(frozen=True)
class FolderTotals:
    """Sums over sessions."""

    sessions: int
    requests: int
    input: int
    output: int
    cost: float
    """In the unit of most sessions; sessions with another unit are not counted."""
    waste: float
    is_fact: bool
    """Whether tokens and costs were all recorded."""


@dataclass(frozen=True)
class FolderOverview(ShownAsTable):
    """The sessions of a folder in order, with totals and sentences."""

    sessions: tuple[OverviewSession, ...]
    by: OverviewOrder
    unit: str
    """The unit in which most sessions have their cost; only these sessions count in sums of money."""
    repeated: tuple[tuple[str, str], ...]
    """Each file whose session another file has whole or longer, and that file; only the other file has a row."""
    problems: tuple[str, ...]

    @classmethod
    def of(
        cls, sessions: Iterable[OverviewSession], by: OverviewOrder, problems: tuple[str, ...]
    ) -> "FolderOverview":
        """Return the overview of sessions; a session that is equal in two files, or longer in another, counts once."""
        longest: dict[str, list[OverviewSession]] = {}
        distinct_sessions: list[OverviewSession] = []
        repeated: list[tuple[str, str]] = []
        for session in sorted(sessions, key=lambda session: -session.figures.requests):
            same_id = longest.setdefault(session.figures.session, [])
            whole = next((other for other in same_id if session.is_part_of(other)), None)
            if whole is not None:
                repeated.append((session.file, whole.file))
            else:
                same_id.append(session)
                distinct_sessions.append(session)
        repeated.sort()
        units = Counter(session.figures.unit for session in distinct_sessions)
        unit = max(units, key=lambda name: (units[name], name), default="USD")

        def sort_key(session: OverviewSession) -> tuple[bool, float, str, bool]:
            figures = session.figures
            amount = {"file": 0.0, "waste": session.waste}.get(by)
            if amount is None:
                amount = getattr(figures, by) or 0.0
            is_other_money = by in ("cost", "waste") and figures.unit != unit
            return is_other_money, -amount, session.file, figures.parent is not None

        rows = tuple(sorted(distinct_sessions, key=sort_key))
        return cls(rows, by, unit, tuple(repeated), problems)

    def totals(self, *, with_subagents: bool = True) -> FolderTotals:
        """Return the sums over all sessions, or without subagents; costs only of sessions in the folder's unit."""
        sessions = [
            session for session in self.sessions if with_subagents or session.figures.parent is None
        ]
        in_unit = [session for session in sessions if session.figures.unit == self.unit]
        figures = [session.figures for session in sessions]
        return FolderTotals(
            len(sessions),
            sum(figure.requests for figure in figures),
            sum(figure.input for figure in figures),
            sum(figure.output for figure in figures),
            sum(session.figures.cost or 0.0 for session in in_unit),
            sum(session.waste for session in in_unit),
            all("input" not in figure.estimates for figure in figures)
            and all("cost" not in session.figures.estimates for session in in_unit),
        )

    @cached_property
    def _in_unit(self) -> tuple[OverviewSession, ...]:
        return tuple(session for session in self.sessions if session.figures.unit == self.unit)

    @cached_property
    def table(self) -> ReportTable:
        """One row per session; for a subagent, column ``of`` has the number of the session that started it."""
        numbers: dict[tuple[str, str], int] = {}
        for number, session in enumerate(self.sessions, 1):
            numbers[session.file, session.figures.session] = number
            # Two files may hold different sessions with one id: a parent in the same file is preferred.
            numbers.setdefault(("", session.figures.session), number)
        rows: list[tuple[Cell, ...]] = []
        estimates: set[tuple[int, str]] = set()
        for row, session in enumerate(self.sessions):
            figures = session.figures
            parent = None
            if figures.parent is not None:
                in_any_file = numbers.get(("", figures.parent))
                parent = numbers.get((session.file, figures.parent), in_any_file)
            title = _shortened_name(figures.title or figures.session)
            amounts = (self._amount(session, cost) for cost in (figures.cost, session.waste))
            sizes = figures.requests, short_count(figures.input)
            rows.append((row + 1, title, _short_path(session.file), parent, *sizes, *amounts))
            estimates |= {(row, key) for key in figures.estimates & {"cost", "input"}}
            if not session.is_waste_fact:
                estimates.add((row, "waste"))
        money: Form = "usd" if self.unit == "USD" else "count"
        about_waste = "The cost of all wastes; one result can be of two kinds."
        columns = (
            TableColumn("number", "#", "count"),
            TableColumn("title", "session"),
            TableColumn("file", "file"),
            TableColumn("of", "of", "count", about="The session that started this subagent."),
            TableColumn("requests", "requests", "count"),
            TableColumn("input", "input", "count"),
            TableColumn("cost", self.unit, money),
            TableColumn("waste", "waste", money, about=about_waste),
        )
        files = {session.file for session in self.sessions}
        title = f"{counted_noun(len(self.sessions), 'session')} in {counted_noun(len(files), 'file')}, by {self.by}"
        return ReportTable(
            title, columns, tuple(rows), self.sentences, estimates=frozenset(estimates)
        )

    @cached_property
    def sentences(self) -> tuple[str, ...]:
        """The totals, the most expensive session, wastes with their remedies, and what the table leaves out."""
        if not self.sessions:
            return tuple(self._left_out_sentences())
        without_subagents, all_sessions = self.totals(with_subagents=False), self.totals()
        sentences, label = [], "Together"
        if subagents := all_sessions.sessions - without_subagents.sessions:
            sentences = [self._totals_sentence("Without subagents", without_subagents)]
            label = f"With {counted_noun(subagents, 'subagent')}"
        sentences.append(self._totals_sentence(label, all_sessions))
        return (*sentences, *self._cost_sentences(all_sessions), *self._left_out_sentences())

    def _totals_sentence(self, label: str, totals: FolderTotals) -> str:
        money = self._money(totals.cost, is_fact=totals.is_fact)
        return (
            f"{label}: {counted_noun(totals.requests, 'request')}, {totals.input:,} tokens read, "
            f"{totals.output:,} written, {money}."
        )

    def _cost_sentences(self, totals: FolderTotals) -> Iterable[str]:
        dearest = max(self._in_unit, key=lambda session: session.figures.cost or 0.0)
        cost = dearest.figures.cost or 0.0
        if totals.cost > 0 and len(self._in_unit) > 1:
            is_fact = "cost" not in dearest.figures.estimates
            yield (
                f"{self._name(dearest)} cost most: {self._money(cost, is_fact=is_fact)}, "
                f"{cost / totals.cost * 100:.0f} % of all."
            )
        min_waste = totals.cost * MIN_WASTE_SHARE
        counts, costs, remedies = Counter[str](), Counter[str](), Counter[str]()
        estimated: set[str] = set()
        for session in self._in_unit:
            for kind, (count, kind_cost) in session.wastes.get("kinds", {}).items():
                counts[kind] += count
                costs[kind] += kind_cost
                if not session.is_waste_fact:
                    estimated.add(kind)
            remedies.update(session.wastes.get("remedies", {}))
        wasted = [(kind, amount) for kind, amount in costs.most_common() if amount > min_waste]
        if not wasted:
            yield "No waste of a hundredth of the cost was found."
            return
        most_wasteful = max(self._in_unit, key=lambda session: session.waste)
        waste_texts = ", ".join(
            f"{waste_text(kind, counts[kind])} ({self._money(amount, is_fact=kind not in estimated)})"
            for kind, amount in wasted
        )
        yield f"Wasted: {waste_texts}."
        yield f"{self._name(most_wasteful)} wasted most: {self._money(most_wasteful.waste, is_fact=most_wasteful.is_waste_fact)}."
        cost_without_remedy = sum(costs.values()) - sum(remedies.values())
        remedy_texts = [
            f"{remedy} (against {self._money(amount)})"
            for remedy, amount in remedies.most_common(MAX_REMEDIES)
            if amount > min_waste
        ]
        if remedy_texts:
            yield f"What would have helped: {'; '.join(remedy_texts)}."
        if cost_without_remedy > min_waste:
            yield f"Against {self._money(cost_without_remedy)} of it nothing that would have helped is known."

    def _left_out_sentences(self) -> Iterable[str]:
        other_units = len(self.sessions) - len(self._in_unit)
        if other_units:
            have = "has its" if other_units == 1 else "have their"
            yield (
                f"{counted_noun(other_units, 'session')} {have} cost in another unit than {self.unit} "
                f"{'(u) ' if self.unit == 'USD' else ''}and {'is' if other_units == 1 else 'are'} not in the sums of money; "
                "give one price by --price."
            )
        if self.repeated:
            file, first = self.repeated[0]
            counts = "counts once: " if len(self.repeated) == 1 else "count once, such as "
            yield f"{counted_noun(len(self.repeated), 'session')} came twice and {counts}that of {file}, as in {first}."
        if self.problems:
            yield f"{counted_noun(len(self.problems), 'problem')} of reading, named on standard error and in `problems`."

    def _amount(self, session: OverviewSession, amount: float | None) -> Cell:
        """Return an amount for the table; one in another unit is a text with that unit."""
        if amount is None or session.figures.unit == self.unit:
            return amount
        return f"{amount:,.0f} u" if self.unit == "USD" else f"{usd_text(amount)} USD"

    def _name(self, session: OverviewSession) -> str:
        number = self.sessions.index(session) + 1
        return f"Number {number} ({session.file})"

    def _money(self, amount: float, *, is_fact: bool = False) -> str:
        return amount_with_unit(amount, self.unit, "fact" if is_fact else "estimate")

    def json(self) -> dict[str, Any]:
        """Return rows, totals and sentences as plain values."""
        return {
            "by": self.by,
            "sessions": [
                {
                    **session.figures.json(),
                    "file": session.file,
                    "waste": session.waste,
                    "waste_basis": "fact" if session.is_waste_fact else "estimate",
                }
                for session in self.sessions
            ],
            "unit": self.unit,
            "without_subagents": vars(self.totals(with_subagents=False)),
            "together": vars(self.totals()),
            "repeated": [{"file": file, "as": first} for file, first in self.repeated],
            "sentences": list(self.sentences),
        }


def _shortened_name(text: str) -> str:
    line = " ".join(text[: 4 * MAX_NAME_COLUMNS].split())
    if columns_of(line) <= MAX_NAME_COLUMNS:
        return line
    while columns_of(line) >= MAX_NAME_COLUMNS:
        line = line[:-1]
    return f"{line}…"


def _short_path(path: str) -> str:
    """Return the end of a path, in the column's width: its last part identifies the file."""
    if columns_of(path) <= MAX_NAME_COLUMNS:
        return path
    while columns_of(path) >= MAX_NAME_COLUMNS:
        path = path[1:]
    return f"…{path}"
