"""Why a turn ended: one value, journaled with the turn's last answer.

Border: pure. The loop and the runner choose the value; cell, panel, replay, exports and review read it.
What an older version wrote has none, and it is derived from how its last answer ended.
"""

from typing import Literal, get_args

from palimpsest.transcript.errors import (
    AbortedError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
    OutputLengthError,
)
from palimpsest.transcript.messages import AssistantMessage

StoppedBy = Literal[
    "finished",
    "length",
    "content_filter",
    "rejected",
    "cancelled",
    "steps",
    "budget",
    "circle",
    "window",
    "compaction",
    "interrupted",
    "withdrawn",
    "error",
]
"""``finished`` is the provider's own end of an answer and nothing else."""

STOP_REASONS: tuple[StoppedBy, ...] = get_args(StoppedBy)

KERNEL_ENDED = ("Interrupted: the kernel ended before the answer did.", "The kernel ends.")
"""What an answer's error says where nobody stopped it."""

_BY_FINISH: dict[str, StoppedBy] = {
    "stop": "finished",
    "length": "length",
    "content-filter": "content_filter",
    "error": "error",
    "unknown": "error",
}


def stop_reason_of(info: AssistantMessage) -> StoppedBy | None:
    """Return why the turn ended whose last answer this is; None where it goes on, or nobody knows."""
    for known in STOP_REASONS:
        if info.stopped_by == known:
            return known
    if info.error is not None:
        return stop_reason_of_error(info.error)
    return _BY_FINISH.get(info.finish or "")


def stop_reason_of_error(error: ErrorValue) -> StoppedBy:
    """Return why a turn ended that ended with this error."""
    match error:
        case AbortedError():
            return "interrupted" if error.message in KERNEL_ENDED else "cancelled"
        case OutputLengthError():
            return "length"
        case ContentFilterError():
            return "content_filter"
        case ContextOverflowError():
            return "window"
        case _:
            return "error"
