"""Summarise the failed attempts of a request: how many, why, how long it waited and how it ended.

Each failed attempt is a part of its own. A reader sees one line for all attempts in a row, in every front end and
export. The page has the same rule in ``labextension/src/state/lines/retryRuns.ts``; both are tested on
``tests/fixtures/retry_runs.json``. Border: pure; reasons are plain text that a view still has to escape.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import Message
from palimpsest.transcript.parts import Part, RetryPart, SnapshotPart, StepFinishPart, StepStartPart
from palimpsest.transcript.strings.number_words import duration, ended_sentence

MAX_REASONS = 3
"""Maximum different reasons that a line shows; some servers put a new number into each message."""

RetryEnd = Literal["open", "answered", "failed", "stopped"]


@dataclass(frozen=True, slots=True)
class RetryRun:
    """Failed attempts in a row, each followed by a wait and another attempt."""

    reasons: tuple[str, ...]
    """The attempts' error messages without repetitions, in order."""
    failed_count: int
    """Number of failed attempts."""
    waited_seconds: float | None
    """Sum of all waits; None where the length of a wait is not known."""
    outcome: RetryEnd
    """``open``: the next attempt has not ended yet."""


@dataclass(frozen=True, slots=True)
class RetryLines:
    """The places where the failed attempts of one message are shown."""

    runs: dict[str, RetryRun] = field(default_factory=dict)
    """Runs by the id of their last part; an attempt neither here nor in ``merged_ids`` is a separate notice."""
    merged_ids: frozenset[str] = frozenset()
    """Ids of the attempts that the line of a later attempt, or of the error, includes."""
    error_attempts: int = 1
    """Number of attempts that failed with the error that ended the message."""


def has_no_wait(part: RetryPart) -> bool:
    """Return whether the next attempt began at once, as with another model, so that nothing waited."""
    return part.time.end == part.time.start


def retry_lines(parts: Sequence[Part], error: ErrorValue | None, *, is_over: bool) -> RetryLines:
    """Return where to show the failed attempts among parts; ``is_over`` is whether no further parts follow."""
    runs: dict[str, RetryRun] = {}
    merged_ids: set[str] = set()
    retry_parts: list[RetryPart] = []
    error_attempts = 1
    step_ends = [index for index, part in enumerate(parts) if isinstance(part, StepFinishPart)]

    def close_run(outcome: RetryEnd) -> None:
        if retry_parts:
            runs[retry_parts[-1].id] = _retry_run(retry_parts, outcome)
            merged_ids.update(part.id for part in retry_parts[:-1])
            retry_parts.clear()

    for index, part in enumerate(parts):
        if isinstance(part, RetryPart) and not has_no_wait(part):
            retry_parts.append(part)
        elif not _is_of_attempt(part):
            is_answered = error is None or any(step_end >= index for step_end in step_ends)
            close_run("answered" if is_answered else _retry_outcome(error))
    error_messages = {part.error.message for part in retry_parts}
    if error is not None and error_messages == {error.message}:
        error_attempts += len(retry_parts)
        merged_ids.update(part.id for part in retry_parts)
    else:
        close_run(_retry_outcome(error) if error is not None else "answered" if is_over else "open")
    return RetryLines(runs, frozenset(merged_ids), error_attempts)


def message_retries(message: Message) -> RetryLines:
    """Return where to show the failed attempts of a message."""
    info = message.info
    if info.role == "user":
        return RetryLines()
    return retry_lines(message.parts, info.error, is_over=info.time.completed is not None)


def retry_words(run: RetryRun) -> str:
    """Return a run in one line: its reasons, how often it failed and how it ended."""
    sentences = [ended_sentence(reason.strip()) for reason in run.reasons[:MAX_REASONS]]
    unlisted_count = len(run.reasons) - len(sentences)
    reasons_text = " Then: ".join(sentences)
    if unlisted_count > 0:
        more = "another reason" if unlisted_count == 1 else f"{unlisted_count} other reasons"
        reasons_text += f" And {more}."
    count_text = "Failed once" if run.failed_count == 1 else f"Failed {run.failed_count} times"
    wait = run.waited_seconds
    answered = "then answered" if wait is None else f"answered after {duration(wait)} of waiting"
    outcome_clauses = {
        "open": "; it is sent again.",
        "answered": f"; {answered}.",
        "stopped": ", then stopped.",
        "failed": ", then for good.",
    }
    return f"{reasons_text} {count_text}{outcome_clauses[run.outcome]}"


def _retry_run(parts: Sequence[RetryPart], outcome: RetryEnd) -> RetryRun:
    waits = [None if part.time.end is None else part.time.end - part.time.start for part in parts]
    known_waits = [wait for wait in waits if wait is not None]
    waited = sum(known_waits) / 1_000 if len(known_waits) == len(waits) else None
    reasons = tuple(dict.fromkeys(part.error.message for part in parts))
    return RetryRun(reasons, len(parts), waited, outcome)


def _retry_outcome(error: ErrorValue | None) -> RetryEnd:
    return "stopped" if error is not None and error.type == "aborted" else "failed"


def _is_of_attempt(part: Part) -> bool:
    """Return whether a part belongs to a failed attempt, or marks the beginning of a step."""
    if isinstance(part, StepStartPart | SnapshotPart):
        return True
    return "failed_attempt" in (getattr(part, "metadata", None) or {})
