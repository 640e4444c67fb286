"""How a call ended is told by one rule, on the cases that the page's rule is tested on as well."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from palimpsest.transcript.call_outcomes import (
    ABORTED,
    MAX_REASON_CHARS,
    REFUSED_BY,
    REFUSED_WHY,
    call_outcome,
)
from palimpsest.transcript.parts import Span, ToolCompleted, ToolFailed, ToolPart
from palimpsest.transcript.values import Reply

CASES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "call_outcomes.json").read_text("utf-8")
)
SPAN = Span(start=0, end=1)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_tells_how_a_call_ended_that(case: dict[str, Any]) -> None:
    reply = Reply(**case["reply"]) if case["reply"] else None

    outcome = call_outcome(ToolPart.model_validate(case["part"]), reply)

    refusal = outcome.refusal
    told = (refusal.by, refusal.feedback or "") if refusal else ("", "")
    assert (outcome.status, outcome.reason, *told) == (
        case["status"],
        case["reason"],
        case["by"],
        case["why"],
    )


def _part(state: ToolCompleted | ToolFailed) -> ToolPart:
    return ToolPart(
        id="prt_1", session_id="ses_1", message_id="msg_1", call_id="c", tool="python", state=state
    )


@given(
    st.text(), st.sampled_from(["completed", "error"]), st.one_of(st.none(), st.integers(0, 255))
)
def test_a_call_that_failed_is_never_told_as_done_and_its_reason_is_one_short_line(
    output: str, status: str, exit_code: int | None
) -> None:
    metadata: dict[str, Any] = {"failed": True}
    if exit_code is not None:
        metadata |= {"exit_code": exit_code}
    state = (
        ToolFailed(input={}, error=output, time=SPAN)
        if status == "error"
        else ToolCompleted(input={}, output=output, metadata=metadata, time=SPAN)
    )

    outcome = call_outcome(_part(state))

    assert outcome.status == "error"
    assert len(outcome.reason.splitlines()) <= 1
    assert len(outcome.reason) <= MAX_REASON_CHARS
    assert bool(outcome.reason) or not re.search(r"[^\s|+-]", output)


@given(st.text(), st.sampled_from(["person", "headless", "rule", "engine", "a hook"]), st.text())
def test_whoever_refused_a_call_it_is_neither_failed_nor_done(
    error: str, by: str, why: str
) -> None:
    told = {REFUSED_BY: by, REFUSED_WHY: why}

    outcome = call_outcome(_part(ToolFailed(input={}, error=error, metadata=told, time=SPAN)))

    assert (outcome.status, outcome.reason) == ("refused", "")
    assert outcome.refusal == Reply(answer="reject", by=by, feedback=why or None)


def test_a_stopped_call_stays_stopped_also_where_a_person_had_refused_it() -> None:
    state = ToolFailed(
        input={}, error=ABORTED, metadata={"interrupted": True, REFUSED_BY: "person"}, time=SPAN
    )

    assert call_outcome(_part(state)).status == "stopped"
