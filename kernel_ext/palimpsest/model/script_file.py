"""Read a scenario file: answers as in ``model.script``, written as JSON for lessons.

A scenario is a list of answers; an answer is an object or a list of small objects, in order:

    [{"fails": 429, "retry_after": 2},
     [{"says": "Let me look."}, {"calls": "python", "input": {"code": "df.head()"}}],
     [{"says": "Three col"}, {"disconnects": true}]]
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from palimpsest.model.script import ModelAnswer, fails, out_of_quota, overflows, unauthorized
from palimpsest.transcript.errors import UserError


def _calls(answer: ModelAnswer, step: dict[str, Any]) -> ModelAnswer:
    raw = step.get("raw")
    text = raw if isinstance(raw, str) else json.dumps(step.get("input", {}), ensure_ascii=False)
    return answer.writes(str(step["calls"]), text, call_id=step.get("id"))


STEP_WRITERS: dict[str, Callable[[ModelAnswer, dict[str, Any]], ModelAnswer]] = {
    "says": lambda answer, step: answer.says(str(step["says"])),
    "thinks": lambda answer, step: answer.thinks(str(step["thinks"])),
    "calls": _calls,
    "pauses": lambda answer, step: answer.pauses(float(step["pauses"])),
    "drips": lambda answer, step: answer.drips(float(step["drips"])),
    "finishes": lambda answer, step: answer.finishes(str(step["finishes"])),
    "reports": lambda answer, step: answer.reports(**step["reports"]),
    "reports_nothing": lambda answer, _: answer.reports_nothing(),
    "stalls": lambda answer, _: answer.stalls(),
    "disconnects": lambda answer, _: answer.disconnects(),
    "ends_early": lambda answer, _: answer.ends_early(),
    "malformed": lambda answer, _: answer.malformed(),
    "errs": lambda answer, step: answer.errs(str(step["errs"])),
    "fails": lambda _, step: fails(
        int(step["fails"]),
        step.get("message"),
        retry_after=step.get("retry_after"),
        retry_after_ms=step.get("retry_after_ms"),
        code=step.get("code"),
    ),
    "overflows": lambda _, step: overflows(
        "anthropic" if step["overflows"] == "anthropic" else "openai"
    ),
    "unauthorized": lambda _, __: unauthorized(),
    "out_of_quota": lambda _, __: out_of_quota(),
}


def parse_answer(value: Any) -> ModelAnswer:
    """Build one answer from a step or a list of steps."""
    answer = ModelAnswer()
    for step in value if isinstance(value, list) else [value]:
        known_steps = [name for name in STEP_WRITERS if isinstance(step, dict) and name in step]
        if len(known_steps) != 1:
            raise UserError(
                f"A scenario step needs exactly one of {', '.join(STEP_WRITERS)}; this one is {step!r}."
            )
        answer = STEP_WRITERS[known_steps[0]](answer, step)
    return answer


def parse_scenario(value: Any) -> tuple[ModelAnswer, ...]:
    """Build the answers of a scenario from its JSON list."""
    if not isinstance(value, list):
        raise UserError("A scenario is a list of answers.")
    return tuple(parse_answer(item) for item in value)


def read_scenario(path: Path) -> tuple[ModelAnswer, ...]:
    """Read the answers from a JSON file."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"The scenario {str(path)!r} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise UserError(f"The scenario {str(path)!r} is no JSON: {error}.") from error
    return parse_scenario(value)
