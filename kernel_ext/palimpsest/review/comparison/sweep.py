"""Compare several values of one number of a policy, to show the effect of a threshold."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn
from palimpsest.review.comparison.policy_comparison import PolicyComparison


@dataclass(frozen=True)
class PolicySweep(ShownAsTable):
    """A comparison whose rows are values of one number."""

    policy: str
    number: str
    values: tuple[Any, ...]
    comparison: PolicyComparison

    @cached_property
    def table(self) -> ReportTable:
        """The sweep as a table: the number first, then the columns of a comparison."""
        table = self.comparison.table
        sweep_rows = table.rows[-len(self.values) :]
        rows_before = len(table.rows) - len(sweep_rows)
        title = f"{self.policy}: {len(self.values)} values of {self.number}"
        is_numeric = all(isinstance(number, int | float) for number in self.values)
        number_column = TableColumn(self.number, self.number, "count" if is_numeric else "text")
        return replace(
            table,
            title=title,
            columns=(number_column, *table.columns[1:]),
            rows=tuple(
                (value if isinstance(value, int | float | str) else str(value), *row[1:])
                for value, row in zip(self.values, sweep_rows, strict=True)
            ),
            links=table.links[-len(sweep_rows) :],
            doubtful=frozenset(index - rows_before for index in table.doubtful),
        )

    @property
    def cheapest(self) -> Any:
        """The value with the lowest cost including refetching and summaries, of those whose requests all fit; or None."""
        figures = self.comparison.figures
        costs = [(row.cost_with_refetching, index) for index, row in enumerate(figures) if row.fits]
        return self.values[min(costs)[1]] if costs else None

    def json(self) -> dict[str, Any]:
        """Return the sweep as plain values."""
        return self.comparison.json() | self.table.json()
