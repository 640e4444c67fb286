"""Track a running compaction, wait for it, and choose which messages to keep when it timed out.

A compaction may be followed by a retry of the answer it interrupted; waiting callers wait for both
(docs/design/0013-compaction.md). Nothing here uses a clock or changes messages: the loop reports each
start and end, and reads the state.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

from palimpsest.transcript.context_values.neutral_messages import NeutralMessage
from palimpsest.transcript.context_values.policies import RecoveryPolicy
from palimpsest.transcript.errors import Aborted

T = TypeVar("T")

CLOSED_DURING_COMPACTION = "The session was closed during a compaction; open it again to go on."
CLOSED_BEFORE_WAIT = (
    "The session is closed, so there is no compaction to wait for; open it again to go on."
)


class CompactionState:
    """The state of compactions: whether one runs, how many answers are still to be retried, and who waits.

    Contract: used from one event loop. Any number of callers may wait at once; all continue together when no
    compaction runs and no answer is to be retried, and raise ``Aborted`` when the session is closed.
    """

    def __init__(self, counted_outcomes: Literal["ends", "results"] = "results") -> None:
        self.counted_outcomes = counted_outcomes
        """The compactions that are counted: all that ended without a retry, or all that produced a summary."""
        self.is_late = False
        """Whether the turn has reached its time limit."""
        self._is_closed = False
        self._idle_event = asyncio.Event()
        self._ended_event = asyncio.Event()
        self.in_flight = False
        """Whether a compaction runs."""
        self.pending_retries = 0
        """Number of answers that must be retried because a compaction interrupted them."""
        self.count = 0
        """Number of compactions that count under the policy."""

    @property
    def active(self) -> bool:
        """Whether a compaction runs, or an interrupted answer is still to be retried."""
        return self.in_flight or self.pending_retries > 0

    def note_start(self) -> None:
        """Note that a compaction began."""
        self.in_flight = True

    def note_end(self, *, will_retry: bool, has_summary: bool, aborted: bool = False) -> None:
        """Note that a compaction ended, with or without a summary, and with or without a retried answer."""
        self.in_flight = False
        self._ended_event.set()
        is_counted = (
            has_summary and not aborted if self.counted_outcomes == "results" else not will_retry
        )
        self.count += is_counted
        if will_retry:
            self.pending_retries += 1
        else:
            self._notify_if_idle()

    def note_answer(self) -> None:
        """Note that the model's answer has ended, retried or not."""
        self.pending_retries = max(0, self.pending_retries - 1)
        self._notify_if_idle()

    def close(self) -> None:
        """Raise ``Aborted`` in all callers that wait; closing twice does nothing more."""
        self._is_closed = True
        self._idle_event.set()
        self._ended_event.set()

    async def wait_until_idle(self) -> None:
        """Wait until nothing is active, including a compaction that begins meanwhile."""
        if self._is_closed:
            raise Aborted(CLOSED_BEFORE_WAIT)
        if not self.active:
            # One pass of the event loop, in which a report just made may start a compaction.
            await asyncio.sleep(0)
            if self._is_closed:
                raise Aborted(CLOSED_BEFORE_WAIT)
        if self.active:
            await self._wait_for(self._idle_event)

    async def wait_until_ended(self) -> None:
        """Wait until the running compaction has ended, but not for a retry after it."""
        if self._is_closed:
            raise Aborted(CLOSED_BEFORE_WAIT)
        if self.in_flight:
            await self._wait_for(self._ended_event)

    def note_turn_end(self) -> None:
        """Note that a turn has ended, after which none of its answers is retried."""
        self.pending_retries = min(self.pending_retries, 1)
        self.note_answer()

    async def wait_for_compaction(self, seconds: float) -> bool:
        """Wait in intervals of ``seconds`` while a compaction runs; False when a retry takes longer."""
        while True:
            try:
                async with asyncio.timeout(seconds):
                    await self.wait_until_idle()
            except TimeoutError:
                if not self.in_flight:
                    return False
            else:
                return True

    def copy_when_idle(self, copy: Callable[[], T]) -> T | None:
        """Return what ``copy`` returns, or None where a compaction was active before or after it."""
        was_active, value = self.active, copy()
        return None if was_active or self.active else value

    async def _wait_for(self, event: asyncio.Event) -> None:
        """Wait for an event that wakes all waiting callers; raises Aborted where the session is closed first."""
        event.clear()
        await event.wait()
        if self._is_closed and self.active:
            raise Aborted(CLOSED_DURING_COMPACTION)

    def _notify_if_idle(self) -> None:
        if not self.active:
            self._idle_event.set()


def compaction_timed_out(*, timed_out: bool, in_flight: bool, retrying: bool) -> bool:
    """Return whether a timeout came during a compaction or the retry after it."""
    return timed_out and (in_flight or retrying)


def action_at_time_limit(
    *, in_flight: bool, retrying: bool, extended: bool
) -> Literal["extend", "abort"]:
    """Return the action at a run's time limit: a compaction may finish, once."""
    return "extend" if (in_flight or retrying) and not extended else "abort"


@dataclass(frozen=True, slots=True)
class MessagesSnapshot(Generic[T]):
    """The messages to continue with, and where they come from."""

    messages: tuple[T, ...]
    session_id: str
    source: Literal["current", "pre-compaction"]


def is_answerable(message: NeutralMessage) -> bool:
    """Return whether a model can answer after this message: it is no answer itself, and not excluded."""
    return message.role != "assistant" and not (message.metadata or {}).get("excluded")


def choose_snapshot(
    current_snapshot: MessagesSnapshot[T],
    earlier_snapshot: MessagesSnapshot[T] | None,
    policy: RecoveryPolicy,
    *,
    timed_out: bool,
    answerable: Callable[[T], bool],
) -> MessagesSnapshot[T]:
    """Choose the messages to continue with: after a compaction that timed out, those from before it."""
    if not timed_out:
        return current_snapshot
    if policy.snapshot == "whole":
        return earlier_snapshot if earlier_snapshot is not None else current_snapshot
    shortened = (
        _up_to_answerable(earlier_snapshot, answerable) if earlier_snapshot is not None else None
    )
    if shortened is not None and shortened.messages:
        return shortened
    return _up_to_answerable(current_snapshot, answerable)


def _up_to_answerable(
    snapshot: MessagesSnapshot[T], answerable: Callable[[T], bool]
) -> MessagesSnapshot[T]:
    """Return a snapshot up to the last message that a model can answer."""
    messages = snapshot.messages
    end = next((end for end in range(len(messages), 0, -1) if answerable(messages[end - 1])), 0)
    return replace(snapshot, messages=messages[:end])
