"""Count how long a person takes to answer what a model asks."""

from palimpsest.processor.user_wait_time import PersonTime
from palimpsest.tools.question import Interview
from palimpsest.tools.tool import Abort
from palimpsest.transcript.values import Answers, Question


class TimedInterview:
    """Asks as another interview does, and counts the time of the answer as the person's."""

    def __init__(self, interview: Interview, person: PersonTime, call_id: str) -> None:
        self._interview = interview
        self._person = person
        self._call_id = call_id

    async def ask(
        self, questions: tuple[Question, ...], *, message_id: str, call_id: str, abort: Abort
    ) -> Answers:
        """Ask, and wait for the answers."""
        with self._person.waiting(self._call_id):
            return await self._interview.ask(
                questions, message_id=message_id, call_id=call_id, abort=abort
            )
