"""How long the calls of a step waited for a person, told apart from the time that they took.

Border: only adds up moments; who is asked, and how, is the session's work.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from palimpsest.tools.tool import Abort
from palimpsest.tools.workflow.question import Interview
from palimpsest.transcript.parts import WAITED
from palimpsest.transcript.values import Answers, Question

LEAST_MS = 500
"""What is answered sooner was answered by a rule."""


class UserWaitTime:
    """Adds up the waiting of one step; questions that are open side by side count once."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._calls: dict[str, int] = {}
        self._total = 0
        self._open = 0
        self._since = 0

    @contextmanager
    def waiting(self, call_id: str) -> Iterator[None]:
        """Count the time of the block as a person's."""
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
        """Return what the state of a call says of it; nothing where no person was waited for."""
        waited = self._calls.get(call_id, 0)
        return {WAITED: waited} if waited >= LEAST_MS else {}

    @property
    def total(self) -> int:
        """Milliseconds of the step in which a person was asked."""
        return self._total if self._total >= LEAST_MS else 0


class TimedInterview:
    """Asks as another interview does, and counts the time of the answer as the person's."""

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
