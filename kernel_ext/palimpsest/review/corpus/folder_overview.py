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
"""Maximum terminal columns of a title and of a path, so that the table fits a terminal of 80 columns."""
MAX_REMEDIES = 3
"""Maximum remedies that a sentence names."""
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
        """Return whether the other recording has all requests of this one: the same ids and tokens, and times where known."""
        if self.figures == other.figures:
            return True
        own_requests = self.wastes.get("reported", {})
        other_requests = other.wastes.get("reported", {})
        if not own_requests or not own_requests.keys() <= other_requests.keys():
            return False
        return all(
            usage_text == other_requests[request_id][0]
            and (started_ms is None or other_requests[request_id][1] in (None, started_ms))
            for request_id, (usage_text, started_ms) in own_requests.items()
        )

    @property
    def waste(self) -> float:
        """The cost of all wastes of the session, in the unit of its figures."""
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
    """Each file whose session another file has whole or longer, with that other file, which alone has a row."""
    problems: tuple[str, ...]

    @classmethod
    def of(
        cls, sessions: Iterable[OverviewSession], by: OverviewOrder, problems: tuple[str, ...]
    ) -> "FolderOverview":
        """Return the overview of sessions; a session that is equal in two files, or longer in another, counts once."""
        sessions_by_id: dict[str, list[OverviewSession]] = {}
        distinct_sessions: list[OverviewSession] = []
        repeated: list[tuple[str, str]] = []
        for session in sorted(sessions, key=lambda session: -session.figures.requests):
            sessions_of_id = sessions_by_id.setdefault(session.figures.session, [])
            longer_session = next(
                (other for other in sessions_of_id if session.is_part_of(other)), None
            )
            if longer_session is not None:
                repeated.append((session.file, longer_session.file))
            else:
                sessions_of_id.append(session)
                distinct_sessions.append(session)
        repeated.sort()
        session_count_by_unit = Counter(session.figures.unit for session in distinct_sessions)
        unit = max(
            session_count_by_unit,
            key=lambda name: (session_count_by_unit[name], name),
            default="USD",
        )

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
        sessions_in_unit = [session for session in sessions if session.figures.unit == self.unit]
        figures = [session.figures for session in sessions]
        return FolderTotals(
            len(sessions),
            sum(figure.requests for figure in figures),
            sum(figure.input for figure in figures),
            sum(figure.output for figure in figures),
            sum(session.figures.cost or 0.0 for session in sessions_in_unit),
            sum(session.waste for session in sessions_in_unit),
            all("input" not in figure.estimates for figure in figures)
            and all("cost" not in session.figures.estimates for session in sessions_in_unit),
        )

    @cached_property
    def _sessions_in_unit(self) -> tuple[OverviewSession, ...]:
        return tuple(session for session in self.sessions if session.figures.unit == self.unit)

    @cached_property
    def table(self) -> ReportTable:
        """One row per session; for a subagent, column ``of`` has the number of the session that started it."""
        number_by_session: dict[tuple[str, str], int] = {}
        for number, session in enumerate(self.sessions, 1):
            number_by_session[session.file, session.figures.session] = number
            # Two files may hold different sessions with one id: a parent in the same file is preferred.
            number_by_session.setdefault(("", session.figures.session), number)
        rows: list[tuple[Cell, ...]] = []
        estimated_cells: set[tuple[int, str]] = set()
        for row_index, session in enumerate(self.sessions):
            figures = session.figures
            parent_number = None
            if figures.parent is not None:
                parent_in_any_file = number_by_session.get(("", figures.parent))
                parent_number = number_by_session.get(
                    (session.file, figures.parent), parent_in_any_file
                )
            title = _shortened_name(figures.title or figures.session)
            amount_cells = (
                self._amount_cell(session, cost) for cost in (figures.cost, session.waste)
            )
            size_cells = figures.requests, short_count(figures.input)
            rows.append(
                (
                    row_index + 1,
                    title,
                    _short_path(session.file),
                    parent_number,
                    *size_cells,
                    *amount_cells,
                )
            )
            estimated_cells |= {(row_index, key) for key in figures.estimates & {"cost", "input"}}
            if not session.is_waste_fact:
                estimated_cells.add((row_index, "waste"))
        cost_form: Form = "usd" if self.unit == "USD" else "count"
        about_waste = "The cost of all wastes; one result can be of two kinds."
        columns = (
            TableColumn("number", "#", "count"),
            TableColumn("title", "session"),
            TableColumn("file", "file"),
            TableColumn("of", "of", "count", about="The session that started this subagent."),
            TableColumn("requests", "requests", "count"),
            TableColumn("input", "input", "count"),
            TableColumn("cost", self.unit, cost_form),
            TableColumn("waste", "waste", cost_form, about=about_waste),
        )
        files = {session.file for session in self.sessions}
        title = f"{counted_noun(len(self.sessions), 'session')} in {counted_noun(len(files), 'file')}, by {self.by}"
        return ReportTable(
            title, columns, tuple(rows), self.sentences, estimates=frozenset(estimated_cells)
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
        cost_text = self._amount_text(totals.cost, is_fact=totals.is_fact)
        return (
            f"{label}: {counted_noun(totals.requests, 'request')}, {totals.input:,} tokens read, "
            f"{totals.output:,} written, {cost_text}."
        )

    def _cost_sentences(self, totals: FolderTotals) -> Iterable[str]:
        most_expensive = max(
            self._sessions_in_unit, key=lambda session: session.figures.cost or 0.0
        )
        cost = most_expensive.figures.cost or 0.0
        if totals.cost > 0 and len(self._sessions_in_unit) > 1:
            is_fact = "cost" not in most_expensive.figures.estimates
            yield (
                f"{self._session_name(most_expensive)} cost most: {self._amount_text(cost, is_fact=is_fact)}, "
                f"{cost / totals.cost * 100:.0f} % of all."
            )
        min_waste = totals.cost * MIN_WASTE_SHARE
        count_by_kind, cost_by_kind, cost_by_remedy = Counter[str](), Counter[str](), Counter[str]()
        estimated_kinds: set[str] = set()
        for session in self._sessions_in_unit:
            for kind, (count, kind_cost) in session.wastes.get("kinds", {}).items():
                count_by_kind[kind] += count
                cost_by_kind[kind] += kind_cost
                if not session.is_waste_fact:
                    estimated_kinds.add(kind)
            cost_by_remedy.update(session.wastes.get("remedies", {}))
        named_wastes = [
            (kind, amount) for kind, amount in cost_by_kind.most_common() if amount > min_waste
        ]
        if not named_wastes:
            yield "No waste of a hundredth of the cost was found."
            return
        most_wasteful = max(self._sessions_in_unit, key=lambda session: session.waste)
        waste_texts = ", ".join(
            f"{waste_text(kind, count_by_kind[kind])} ({self._amount_text(amount, is_fact=kind not in estimated_kinds)})"
            for kind, amount in named_wastes
        )
        yield f"Wasted: {waste_texts}."
        yield f"{self._session_name(most_wasteful)} wasted most: {self._amount_text(most_wasteful.waste, is_fact=most_wasteful.is_waste_fact)}."
        cost_without_remedy = sum(cost_by_kind.values()) - sum(cost_by_remedy.values())
        remedy_texts = [
            f"{remedy} (against {self._amount_text(amount)})"
            for remedy, amount in cost_by_remedy.most_common(MAX_REMEDIES)
            if amount > min_waste
        ]
        if remedy_texts:
            yield f"What would have helped: {'; '.join(remedy_texts)}."
        if cost_without_remedy > min_waste:
            yield f"Against {self._amount_text(cost_without_remedy)} of it nothing that would have helped is known."

    def _left_out_sentences(self) -> Iterable[str]:
        other_unit_count = len(self.sessions) - len(self._sessions_in_unit)
        if other_unit_count:
            verb_phrase = "has its" if other_unit_count == 1 else "have their"
            yield (
                f"{counted_noun(other_unit_count, 'session')} {verb_phrase} cost in another unit than {self.unit} "
                f"{'(u) ' if self.unit == 'USD' else ''}and {'is' if other_unit_count == 1 else 'are'} not in the sums of money; "
                "give one price by --price."
            )
        if self.repeated:
            file, other_file = self.repeated[0]
            counts_text = "counts once: " if len(self.repeated) == 1 else "count once, such as "
            yield f"{counted_noun(len(self.repeated), 'session')} came twice and {counts_text}that of {file}, as in {other_file}."
        if self.problems:
            yield f"{counted_noun(len(self.problems), 'problem')} of reading, named on standard error and in `problems`."

    def _amount_cell(self, session: OverviewSession, amount: float | None) -> Cell:
        """Return an amount for the table; one in another unit is a text with that unit."""
        if amount is None or session.figures.unit == self.unit:
            return amount
        return f"{amount:,.0f} u" if self.unit == "USD" else f"{usd_text(amount)} USD"

    def _session_name(self, session: OverviewSession) -> str:
        number = self.sessions.index(session) + 1
        return f"Number {number} ({session.file})"

    def _amount_text(self, amount: float, *, is_fact: bool = False) -> str:
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
            "repeated": [{"file": file, "as": other_file} for file, other_file in self.repeated],
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
