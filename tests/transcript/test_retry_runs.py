"""How a retried request is told is one rule, shared with the page (labextension/tests/state/lines/retryRuns.test.ts)."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from palimpsest.render.formats import html, markdown, text
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.parts import Part, RetryPart
from palimpsest.transcript.retry_runs import retry_lines, retry_words

CASES = json.loads(
    (Path(__file__).parent.parent / "fixtures" / "retry_runs.json").read_text("utf-8")
)
PARTS: TypeAdapter[tuple[Part, ...]] = TypeAdapter(tuple[Part, ...])
ERROR: TypeAdapter[ErrorValue | None] = TypeAdapter(ErrorValue | None)
pytestmark = pytest.mark.parametrize("case", CASES, ids=[run["name"] for run in CASES])


def message(case: dict[str, Any]) -> Message:
    info = {
        "id": "msg_1",
        "session_id": "ses_1",
        "role": "assistant",
        "parent_id": "msg_0",
        "agent": "build",
        "model": {"provider": "test", "name": "model"},
        "error": case["error"],
        "time": {"created": 1, **({"completed": 2} if case["over"] else {})},
        "path": {"cwd": "/", "root": "/"},
        "tokens": {},
        "cost": None,
    }
    made = AssistantMessage.model_validate(info)
    return Message(info=made, parts=PARTS.validate_python(case["parts"]))


def test_each_case_is_told_in_these_lines(case: dict[str, Any]) -> None:
    parts, error = PARTS.validate_python(case["parts"]), ERROR.validate_python(case["error"])
    lines = retry_lines(parts, error, is_over=case["over"])

    told = [
        retry_words(lines.runs[part.id]) if part.id in lines.runs else part.error.message
        for part in parts
        if isinstance(part, RetryPart) and part.id not in lines.merged_ids
    ]
    assert told == case["told"]
    assert lines.error_attempts == case["attempts"]


@pytest.mark.parametrize("form", [markdown, text, html], ids=["markdown", "text", "html"])
def test_every_render_says_it_once(case: dict[str, Any], form: Any) -> None:
    made = form.render_message(message(case)).replace("\N{NO-BREAK SPACE}", " ").replace("\\", "")

    assert made.count("↻") == len(case["told"])
    for words in case["told"]:
        assert words in made
    if case["attempts"] > 1:
        assert made.count(f"Tried {case['attempts']} times.") == 1
    else:
        assert "Tried" not in made
