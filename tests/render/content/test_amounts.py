"""Amounts of money are told by one rule, in the kernel and in the front end, and never as 0 where something was paid."""

import json
from pathlib import Path

import pytest

from palimpsest.render.content.phrases import usd_text
from palimpsest.render.reports.table import ReportTable, TableColumn

AMOUNTS = Path(__file__).parents[2] / "fixtures" / "amounts.json"
"""What ``labextension/tests/state/inspector/labels.test.ts`` holds the front end to."""


@pytest.mark.parametrize(("value", "text"), json.loads(AMOUNTS.read_text()))
def test_an_amount_has_enough_decimals_for_its_first_digit(value: float, text: str) -> None:
    assert usd_text(value) == text


def test_amounts_of_one_column_have_as_many_decimals_and_single_estimates_are_marked() -> None:
    columns = (TableColumn("what", "what"), TableColumn("cost", "USD", "usd"))
    rows = (("a", 12.5), ("b", 0.0004), ("c", None))
    table = ReportTable("Costs", columns, rows, estimates=frozenset({(1, "cost"), (2, "cost")}))

    assert table.text == ("Costs\n\nwhat      USD\na     12.5000\nb     ~0.0004\nc           -")
    assert r"| b | \~0.0004 |" in table.markdown
    assert ">~0.0004<" in table.html
    assert table.json()["estimates"] == [{"row": 1, "key": "cost"}, {"row": 2, "key": "cost"}]
    assert table.records()[1] == {"what": "b", "cost": 0.0004}
