"""Determine how a tool call ended, and why; every front end, export and announcement follows this one rule.

A tool that returned may still have failed: its code raised an error, or its command had an exit code other than 0.
A refused or stopped call did nothing, which is no failure. The page has the same rule in
``labextension/src/state/lines/callOutcomes.ts``; both are tested on ``tests/fixtures/call_outcomes.json``.
Border: pure; the reason is plain text that a view still has to escape.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, assert_never

from palimpsest.transcript.parts import (
    ToolCompleted,
    ToolFailed,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.values import Reply

REFUSED_BY = "refused_by"
"""Key in the metadata of a call's state: who refused it (``person``, ``headless``, ``rule``, ``engine`` or a name)."""
REFUSED_WHY = "refused_why"
"""Key in the metadata of a call's state: the user's comment, the rule, or why nobody could be asked."""
FAILURE_LINE = "failure_line"
"""Key in the metadata of a call's state: its reason, where the output does not end with it: a tool that shows sources sets
it, and a saved notebook, which keeps only a part of the output."""
LEFT_RUNNING = "left_running"
"""Key in the metadata of a call's state: the work that its code started and that still runs, a list of texts."""
RUNNING_AT_THE_END = "running_at_the_end"
"""Key in the metadata of a call's state: the work that its code started and that ran when the kernel ended, a list of texts."""
ABORTED = "Tool execution aborted"
"""The error of a stopped call; it adds nothing to the state."""
MAX_REASON_CHARS = 240
"""Maximum characters of a reason, which is shown in the call's row."""

Status = Literal["pending", "running", "completed", "error", "refused", "stopped"]

_ERROR_SECTION = re.compile(r"^\[error\]$", re.MULTILINE)
_NEXT_SECTION = re.compile(r"^\[(?:images|shown to the user|interrupted)\]$", re.MULTILINE)
_COMMAND_END = re.compile(
    r"^\[((?:exit code|stopped after|ended by signal|ended in an unknown way)[^\]\n,:]*)",
    re.MULTILINE,
)
_EXCEPTION_LINE = re.compile(
    r"(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception|Interrupt|Exit|Warning|Group)\b(?::|$)"
)
_LINE_PREFIX = re.compile(r"^[\s|+-]+")


@dataclass(frozen=True, slots=True)
class CallOutcome:
    """The outcome of a tool call."""

    status: Status
    reason: str = ""
    """One line: the last line of the error, or why a call was stopped; empty for a refusal, which ``refusal`` holds."""
    refusal: Reply | None = None
    """The answer that refused the call, with its author and comment."""


REFUSERS = frozenset({"person", "cancel", "headless", "rule", "engine"})
"""The authors of refusals that a call's row describes completely; the error repeats these for the model."""


def is_refusal_in_row(outcome: CallOutcome) -> bool:
    """Return whether the row of a refused call describes the refusal, so that its error adds nothing."""
    return outcome.refusal is not None and outcome.refusal.by in REFUSERS


def call_outcome(part: ToolPart, reply: Reply | None = None) -> CallOutcome:
    """Return how a call ended; ``reply`` is the answer to its question, where that is known."""
    match part.state:
        case ToolPending() | ToolRunning():
            return CallOutcome(part.state.status)
        case ToolCompleted(metadata=metadata, output=output):
            if metadata.get("failed") is not True:
                return CallOutcome("completed")
            line = _failure_line(output, is_command="exit_code" in metadata)
            return CallOutcome("error", _saved_line(metadata) or line)
        case ToolFailed(metadata=metadata, error=error):
            if metadata.get("interrupted"):
                return CallOutcome("stopped", "" if error == ABORTED else last_line(error))
            refusal = _refusal(part.state, reply)
            if refusal is not None:
                return CallOutcome("refused", refusal=refusal)
            return CallOutcome("error", _saved_line(metadata) or last_line(error))
        case _:
            assert_never(part.state)


def _refusal(state: ToolFailed, reply: Reply | None) -> Reply | None:
    refuser = state.metadata.get(REFUSED_BY)
    if isinstance(refuser, str) and refuser:
        reason = state.metadata.get(REFUSED_WHY)
        return Reply(
            answer="reject",
            by=refuser,
            feedback=reason if isinstance(reason, str) and reason else None,
        )
    return reply if reply is not None and reply.answer == "reject" else None


def _saved_line(metadata: Mapping[str, Any]) -> str:
    line = metadata.get(FAILURE_LINE)
    return line if isinstance(line, str) else ""


def last_line(text: str) -> str:
    """Return the most informative line of an error: the last that names an exception, else the last."""
    stripped_lines = (_LINE_PREFIX.sub("", line).strip() for line in text.splitlines())
    lines = [line for line in stripped_lines if line]
    exception_lines = [line for line in lines if _EXCEPTION_LINE.match(line)]
    return _excerpt(next(iter(exception_lines[-1:] or lines[-1:]), ""))


def _failure_line(output: str, *, is_command: bool) -> str:
    """Return why a tool that returned had failed: how its command ended, or what its code raised."""
    command_ends = list(_COMMAND_END.finditer(output)) if is_command else []
    if command_ends:
        printed_text = output[: command_ends[-1].start()].strip()
        error = "" if printed_text == "(no output)" else last_line(printed_text)
        return _excerpt(": ".join(filter(None, (command_ends[-1][1].strip(), error))))
    sections = list(_ERROR_SECTION.finditer(output))
    error_text = output[sections[-1].end() :] if sections else output
    return last_line(_NEXT_SECTION.split(error_text)[0])


def _excerpt(line: str) -> str:
    return line if len(line) <= MAX_REASON_CHARS else f"{line[: MAX_REASON_CHARS - 1]}…"
