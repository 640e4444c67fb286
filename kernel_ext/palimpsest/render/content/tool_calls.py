"""Format a tool call's input and output for a reader.

Border: pure. The record holds exactly the text that was sent to the model; this module omits text meant for the
model only, and formats code as code and a file change as a diff.
"""

import json
import re
from typing import Any, assert_never

from palimpsest.transcript.parts import (
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)

_LABEL_LINE = re.compile(
    r"^\[(stdout|stderr|result|images|shown to the user|error|left behind|interrupted)\]$",
    re.MULTILINE,
)
_NOTE_LABELS = ("images", "shown to the user")
_FIGURE_LINE = re.compile(r"^<Figure size [^>\n]*>$", re.MULTILINE)
_CODE_FIELDS = {"code": "python", "command": "bash"}


def input_text(part: ToolPart) -> tuple[str, str]:
    """Return the call's input formatted for a reader, and its language."""
    state = part.state
    if isinstance(state, ToolPending) and not state.input:
        return state.raw, "json"
    diff = getattr(state, "metadata", {}).get("diff")
    if isinstance(diff, str) and diff.strip():
        return diff, "diff"
    text = _readable_input(part)
    if text is not None:
        return text, "text"
    values = dict(state.input)
    for key, language in _CODE_FIELDS.items():
        if isinstance(values.get(key), str) and len(values) <= 2:
            return values[key], language
    if len(values) == 1:
        value = next(iter(values.values()))
        return (value, "text") if isinstance(value, str) else (_json_text(values), "json")
    return (_json_text(values), "json") if values else ("", "")


def _readable_input(part: ToolPart) -> str | None:
    """Return the input as text, for tools whose JSON is hard to read; None for any other."""
    arguments = part.state.input
    if part.tool == "task" and isinstance(arguments.get("prompt"), str):
        return str(arguments["prompt"])
    if part.tool == "todowrite" and isinstance(arguments.get("todos"), list):
        texts = [_label_text(todo, "content") for todo in arguments["todos"]]
    elif part.tool == "question" and isinstance(arguments.get("questions"), list):
        texts = list(map(_question_text, arguments["questions"]))
    else:
        return None
    # The output of a completed call repeats its input.
    return "" if isinstance(part.state, ToolCompleted) else "\n".join(texts)


def _question_text(question: Any) -> str:
    options = question.get("options") if isinstance(question, dict) else None
    lines = [_label_text(question, "question")]
    for option in options if isinstance(options, list) else ():
        description = option.get("description") if isinstance(option, dict) else ""
        end = f": {description}" if description else ""
        lines.append(f"  - {_label_text(option, 'label')}{end}")
    return "\n".join(lines)


def _label_text(value: Any, key: str) -> str:
    return str(value.get(key, "")) if isinstance(value, dict) else str(value)


def _json_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1, default=repr)


def output_text(part: ToolPart) -> str:
    """Return the call's output so far."""
    match part.state:
        case ToolCompleted():
            output = part.state.output
            if part.tool == "task":
                return _subagent_answer(output)
            return _without_labels(output) if part.tool == "python" else output
        case ToolFailed():
            printed = part.state.metadata.get("output")
            return f"{printed}\n{part.state.error}" if printed else part.state.error
        case ToolRunning():
            return str(part.state.metadata.get("output", ""))
        case ToolPending():
            return ""
        case _:
            assert_never(part.state)


def _subagent_answer(output: str) -> str:
    """Return a subagent's answer, without the text around it that is meant for the model."""
    match = re.search(r"^<result>\n(.*)\n</result>\Z", output, re.DOTALL | re.MULTILINE)
    return match[1] if match is not None else output


def sections(output: str) -> list[tuple[str, str]] | None:
    """Return the labelled sections of a python tool's output, without notes to the model; None without labels."""
    pieces = _LABEL_LINE.split(output)
    if pieces[0].strip() or len(pieces) < 3:
        return None
    labelled = zip(pieces[1::2], pieces[2::2], strict=True)
    bodies = [(name, _FIGURE_LINE.sub("", body).strip("\n")) for name, body in labelled]
    return [(name, body) for name, body in bodies if name not in _NOTE_LABELS and body.strip()]


def _without_labels(output: str) -> str:
    """Return a python tool's output without its text for the model only: labels, and notes about figures."""
    labelled = sections(output)
    return output if labelled is None else "\n\n".join(body for _, body in labelled)
