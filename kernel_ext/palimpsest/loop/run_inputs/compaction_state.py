"""Know whether a compaction runs, wait for it, and choose what to go on with when it ran out of time.

A compaction may be followed by another try of the answer it interrupted; who waits, waits for
both (spec/context-stability.md 1.8). Nothing here reads a clock or touches messages: the loop tells
what happened, and asks.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, TypeVar

from palimpsest.transcript.context_values.neutral_messages import NeutralMessage
from palimpsest.transcript.context_values.policies import RecoveryPolicy
from palimpsest.transcript.errors import Aborted

T = TypeVar("T")

CLOSED = "The session was closed during a compaction; open it again to go on."
CLOSED_BEFORE = (
    "The session is closed, so there is no compaction to wait for; open it again to go on."
)


class CompactionState:
    """What runs, which answers are still to be tried again, and who waits.

    Contract: to be used from one event loop. Any number may wait at once; all go on together when
    no compaction runs and no answer is to be tried again, and raise ``Aborted`` when it is closed.
    """

    def __init__(self, counted: Literal["ends", "results"] = "results") -> None:
        self.counted = counted
        """Which compactions count: all that ended for good, or those that gave a summary."""
        self.late = False
        """The turn has reached its time limit."""
        self._closed = False
        self._waited: asyncio.Future[None] | None = None
        self._landed: asyncio.Future[None] | None = None
        self.in_flight = False
        """A compaction runs."""
        self.retries = 0
        """Answers that are to be tried again because a compaction interrupted them."""
        self.count = 0
        """Compactions that count, as the policy counts."""
        self.may_write_again = True
        """No summary failed in this turn, so one that lacks something may be asked for once more."""

    @property
    def active(self) -> bool:
        """A compaction runs, or what it interrupted is still to be tried again."""
        return self.in_flight or self.retries > 0

    def started(self) -> None:
        """Note that a compaction began."""
        self.in_flight = True

    def ended(self, *, retries: bool, summary: bool, aborted: bool = False) -> None:
        """Note that a compaction ended: with a summary or not, and whether an answer is tried again."""
        self.in_flight = False
        self._land()
        counts = summary and not aborted if self.counted == "results" else not retries
        self.count += counts
        self.may_write_again = summary
        if retries:
            self.retries += 1
        else:
            self._settle()

    def answered(self) -> None:
        """Note that the model's work came to an end, tried again or not."""
        self.retries = max(0, self.retries - 1)
        self._settle()

    def close(self) -> None:
        """Wake whoever waits with ``Aborted``; closing twice does nothing more."""
        if self._closed:
            return
        self._closed = True
        if self._waited is not None and not self._waited.done():
            self._waited.set_exception(Aborted(CLOSED))
        self._waited = None
        self._land(Aborted(CLOSED))

    async def wait(self) -> None:
        """Return when nothing is active; a compaction that begins meanwhile is waited for too."""
        if self._closed:
            raise Aborted(CLOSED_BEFORE)
        if not self.active:
            # One turn of the event loop, in which what was just said may start a compaction.
            await asyncio.sleep(0)
            if self._closed:
                raise Aborted(CLOSED_BEFORE)
        if self.active:
            await asyncio.shield(self._promise())

    async def landed(self) -> None:
        """Return when the compaction that runs has ended, whatever is tried again after it."""
        if self._closed:
            raise Aborted(CLOSED_BEFORE)
        if self.in_flight:
            if self._landed is None:
                self._landed = _promise()
            await asyncio.shield(self._landed)

    def turn_began(self) -> None:
        """Note that a turn begins, which has all of its time."""
        self.late = False
        self.may_write_again = True

    def turn_ended(self) -> None:
        """Note that a turn came to its end: nothing of it is tried again any more."""
        self.retries = min(self.retries, 1)
        self.answered()

    async def run_wait(self, seconds: float) -> bool:
        """Wait in windows of so long while a compaction runs; False when an answer never came."""
        while True:
            try:
                async with asyncio.timeout(seconds):
                    await self.wait()
            except TimeoutError:
                if not self.in_flight:
                    return False
            else:
                return True

    def copied(self, copy: Callable[[], T]) -> T | None:
        """Return a copy that no compaction was in the way of, or None."""
        was_active, made = self.active, copy()
        return None if was_active or self.active else made

    def _promise(self) -> asyncio.Future[None]:
        if self._waited is None:
            self._waited = _promise()
        return self._waited

    def _land(self, refusal: Aborted | None = None) -> None:
        if self._landed is not None and not self._landed.done():
            if refusal is None:
                self._landed.set_result(None)
            else:
                self._landed.set_exception(refusal)
        self._landed = None

    def _settle(self) -> None:
        if self.active or self._waited is None:
            return
        if not self._waited.done():
            self._waited.set_result(None)
        self._waited = None


def _promise() -> asyncio.Future[None]:
    promise: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    # Where nobody is left to wait, a refusal is nobody's problem.
    promise.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return promise


def compaction_timed_out(*, timed_out: bool, in_flight: bool, retries: bool) -> bool:
    """Say whether it was a compaction, or the try after it, that ran out of time."""
    return timed_out and (in_flight or retries)


def at_time_limit(*, in_flight: bool, retries: bool, extended: bool) -> Literal["extend", "abort"]:
    """Say what to do when a run reaches its limit: once, a compaction is let come to its end."""
    return "extend" if (in_flight or retries) and not extended else "abort"


@dataclass(frozen=True, slots=True)
class MessagesSnapshot(Generic[T]):
    """The messages to go on with, and where they are from."""

    messages: tuple[T, ...]
    session_id: str
    source: Literal["current", "pre-compaction"]


def is_answerable(message: NeutralMessage) -> bool:
    """Say whether a model can go on after this message: not its own words, nor what it never sees."""
    return message.role != "assistant" and not (message.metadata or {}).get("excluded")


def choose_snapshot(
    current: MessagesSnapshot[T],
    before: MessagesSnapshot[T] | None,
    policy: RecoveryPolicy,
    *,
    timed_out: bool,
    answerable: Callable[[T], bool],
) -> MessagesSnapshot[T]:
    """Choose what to go on with: after a compaction ran out of time, what was there before it."""
    if not timed_out:
        return current
    if policy.snapshot == "whole":
        return before if before is not None else current
    kept = _answerable(before.messages, answerable) if before is not None else ()
    if before is not None and kept:
        return MessagesSnapshot(kept, before.session_id, before.source)
    return MessagesSnapshot(
        _answerable(current.messages, answerable), current.session_id, current.source
    )


def _answerable(messages: Sequence[T], answerable: Callable[[T], bool]) -> tuple[T, ...]:
    """Return messages up to the last that a model can answer."""
    last = next((at for at in range(len(messages), 0, -1) if answerable(messages[at - 1])), 0)
    return tuple(messages[:last])
