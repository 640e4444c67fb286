"""A comparison of policies over many sessions: a table of policies, and a table of policies and sessions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from palimpsest.home_paths import home_path
from palimpsest.render.reports.table import Cell, ReportTable, ShownAsTable, TableColumn
from palimpsest.review.comparison.policy_comparison import COUNTERFACTUAL_NOTE, columns
from palimpsest.review.corpus.session_work import Rows
from palimpsest.store.disk import storage_errors, write_atomically
from palimpsest.transcript.errors import UserError

NEEDS_EXTRA = 'It needs an extra: pip install "jupyter-palimpsest[corpus]".'
_MONEY_COLUMNS = frozenset({"cost", "summaries", "refetching", "cost_uncached"})
_SUMMED_COLUMNS = _MONEY_COLUMNS | {"input", "over", "breaks", "break_tokens", "repeated", "fired"}
_SESSION_COLUMNS = (
    TableColumn("session", "session"),
    TableColumn("title", "title"),
    TableColumn("origin", "origin"),
    TableColumn("requests", "requests", "count", "fact"),
    TableColumn("unit", "unit"),
)


@dataclass(frozen=True)
class CorpusComparison(ShownAsTable):
    """Policies over all sessions of a corpus."""

    policies: tuple[Rows, ...]
    """For each policy, one row for each session."""
    problems: tuple[str, ...]

    @cached_property
    def table(self) -> ReportTable:
        """The table of policies: sums over all sessions, the largest peak, and weighted means of shares."""
        units = {str(row.get("unit")) for rows in self.policies for row in rows}
        unit = units.pop() if len(units) == 1 else None
        policy_columns = [column for column in columns(unit or "USD") if column.key != "distance"]
        is_priced = unit is not None
        sessions_column = TableColumn("sessions", "sessions", "count")
        table_columns = (policy_columns[0], sessions_column, *policy_columns[1:])
        rows = tuple(
            tuple(
                _total_cell(column.key, rows, prices_are_known=is_priced)
                for column in table_columns
            )
            for rows in self.policies
            if rows
        )
        session_count = max(map(len, self.policies), default=0)
        notes = [COUNTERFACTUAL_NOTE]
        if unit is None:
            notes.append(
                "Some sessions have prices in USD and some in units, so costs do not add up; give one price."
            )
        if self.problems:
            notes.append(f"{len(self.problems)} problems; `problems` names them.")
        title = f"{len(rows)} policies over {session_count} sessions"
        return ReportTable(title, table_columns, rows, tuple(notes))

    @cached_property
    def sessions(self) -> ReportTable:
        """The table with a row for each policy and session."""
        figure_columns = columns("USD")
        table_columns = (figure_columns[0], *_SESSION_COLUMNS, *figure_columns[1:])
        rows = tuple(
            tuple(_table_cell(row.get(column.key)) for column in table_columns)
            for rows in self.policies
            for row in rows
        )
        return ReportTable(f"{len(rows)} replays", table_columns, rows, (COUNTERFACTUAL_NOTE,))

    def json(self) -> dict[str, Any]:
        """Return both tables as plain values."""
        return {
            "schema": 1,
            "policies": self.table.records(),
            "sessions": self.sessions.records(),
            "problems": list(self.problems),
        }

    def to_dataframe(self) -> Any:
        """Return one row for each policy and session as a pandas DataFrame."""
        return data_frame(self.sessions)

    def to_parquet(self, path: str | Path) -> None:
        """Write one row for each policy and session to a Parquet file."""
        write_parquet(self.sessions, path)


def data_frame(table: ReportTable) -> Any:
    """Return a table as a pandas DataFrame; raises UserError where pandas is not installed."""
    try:
        return table.to_dataframe()
    except ImportError as error:
        raise UserError(NEEDS_EXTRA) from error


def write_parquet(table: ReportTable, path: str | Path) -> None:
    """Write a table to a Parquet file; raises UserError where pyarrow is not installed, or the disk refuses it."""
    try:
        content = data_frame(table).to_parquet(engine="pyarrow", index=False)
    except ImportError as error:
        raise UserError(NEEDS_EXTRA) from error
    target = home_path(path)
    with storage_errors(target):
        write_atomically(target, content)


def _total_cell(key: str, rows: Sequence[Mapping[str, Any]], *, prices_are_known: bool) -> Cell:
    """Return the value of one column over all sessions of a policy."""
    values: list[float] = [row[key] for row in rows if isinstance(row.get(key), int | float)]
    if key == "policy":
        return str(rows[0].get("policy"))
    if key == "sessions":
        return len(rows)
    if key == "verdict":
        acting_count = sum(bool(row.get("fired")) for row in rows)
        over_window_count = sum(bool(row.get("over")) for row in rows)
        fit_sentence = (
            f"Does not fit in {over_window_count} of {len(rows)} sessions. "
            if over_window_count
            else ""
        )
        return f"{fit_sentence}Acted in {acting_count} of {len(rows)} sessions."
    if key in _MONEY_COLUMNS and not prices_are_known:
        return None
    if key in _SUMMED_COLUMNS:
        return sum(values)
    if key == "peak":
        return max(values, default=None)
    return _weighted_mean(key, rows)


def _weighted_mean(key: str, rows: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the weighted mean of a share: the cached share by input, the rewrite factor by the peak, others by requests."""
    weight_key = {"cached": "input", "rewrite": "peak"}.get(key, "requests")
    pairs = [(row[key], row[weight_key]) for row in rows if isinstance(row.get(key), int | float)]
    total_weight = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / total_weight if total_weight else None


def _table_cell(value: Any) -> Cell:
    return value if value is None or isinstance(value, str | int | float) else str(value)
