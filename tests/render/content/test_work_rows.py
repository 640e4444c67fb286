"""Which items of a turn are folded into a row of work, and what that row says."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.render.sample_parts import assistant

from palimpsest.render.content.outline import (
    NoticeItem,
    OutlineCall,
    OutlineStep,
    ReasoningItem,
    TextItem,
    outline_message,
)
from palimpsest.render.content.phrases import duration
from palimpsest.render.content.work_rows import Row, WorkRow, fold_work, without_row
from palimpsest.transcript.messages import Message

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "work_rows.json").read_text(encoding="utf-8")
)
"""What ``labextension/tests/state/display/workRows.test.ts`` holds the page to."""
cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def told(row: Row) -> str:
    match row:
        case WorkRow():
            return f"▸ {row.text}"
        case OutlineCall():
            return f"{row.tool} {row.subject}"
        case ReasoningItem():
            known = row.seconds is not None
            return f"Thought for {duration(row.seconds)}" if known else "Thoughts"  # type: ignore[arg-type]
        case TextItem():
            return row.text
        case NoticeItem():
            return row.sentence
        case _:
            return type(row).__name__


def items_of(case: dict[str, Any]) -> Any:
    plain = assistant()
    message = Message.model_validate({"info": plain.info, "parts": case["parts"]})
    return outline_message(message)


@cases
def test_work_between_two_texts_is_one_row(case: dict[str, Any]) -> None:
    rows = [told(row) for _, row in fold_work(items_of(case), is_running=case["live"])]

    assert rows == case["rows"]


@cases
def test_nothing_is_lost_but_lone_steps_and_short_thoughts(case: dict[str, Any]) -> None:
    items = items_of(case)
    rows = fold_work(items, is_running=case["live"])
    found = [
        item for _, row in rows for item in (row.items if isinstance(row, WorkRow) else (row,))
    ]

    missing = without_row(items, rows)
    assert len(found) + len(missing) == len(items)
    assert all(
        isinstance(item, OutlineStep)
        or (isinstance(item, ReasoningItem) and (item.seconds or 9) < 3)
        for item in missing
    )
