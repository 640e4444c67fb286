"""Measure how long the calls of a step waited for the user, apart from the time that they ran.

Border: only adds up durations; the session layer asks the user.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from palimpsest.tools.tool import Abort
from palimpsest.tools.workflow.question import Interview
from palimpsest.transcript.parts import WAITED
from palimpsest.transcript.values import Answers, Question

LEAST_MS = 500
"""A shorter wait does not count: a permission rule answered, not the user."""


class UserWaitTime:
    """Adds up the waiting of one step; questions that are open at the same time count once."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._calls: dict[str, int] = {}
        self._total = 0
        self._open = 0
        self._since = 0

    @contextmanager
    def waiting(self, call_id: str) -> Iterator[None]:
        """Count the time of the ``with`` block as waiting for the user."""
        began = self._clock()
        if self._open == 0:
            self._since = began
        self._open += 1
        try:
            yield
        finally:
            now = self._clock()
            self._calls[call_id] = self._calls.get(call_id, 0) + now - began
            self._open -= 1
            if self._open == 0:
                self._total += now - self._since

    def of(self, call_id: str) -> dict[str, int]:
        """Return the waiting time as metadata of a call's state; empty where it did not wait for the user."""
        waited = self._calls.get(call_id, 0)
        return {WAITED: waited} if waited >= LEAST_MS else {}

    @property
    def total(self) -> int:
        """Milliseconds of the step spent waiting for the user."""
        return self._total if self._total >= LEAST_MS else 0


class TimedInterview:
    """Wraps an interview, and counts the time until the answers as waiting for the user."""

    def __init__(self, interview: Interview, user_wait: UserWaitTime, call_id: str) -> None:
        self._interview = interview
        self._user_wait = user_wait
        self._call_id = call_id

    async def ask(
        self, questions: tuple[Question, ...], *, message_id: str, call_id: str, abort: Abort
    ) -> Answers:
        """Ask, and wait for the answers."""
        with self._user_wait.waiting(self._call_id):
            return await self._interview.ask(
                questions, message_id=message_id, call_id=call_id, abort=abort
            )
