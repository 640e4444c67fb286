"""Ask the user the model's questions: journaled, and answered once, by the first answer.

Border: a question is no permission, so neither rules nor ``--yes`` answer it. If it is declined, the
model gets one sentence about that, so that it can continue without an answer.
"""

import asyncio
import threading
from collections.abc import Sequence
from functools import partial
from typing import Literal

from palimpsest.processor.session_log import SessionLog
from palimpsest.render.content.phrases import counted_noun
from palimpsest.tools.tool import Abort
from palimpsest.transcript.errors import Aborted, PermissionDenied, UserError
from palimpsest.transcript.session_record.events import (
    QuestionAsked,
    QuestionRejected,
    QuestionReplied,
    TodoUpdated,
)
from palimpsest.transcript.values import Answers, Question, Todo

DeclinedBy = Literal["person", "headless", "cancel"]

DECLINED_SENTENCE = (
    "The user chose not to answer. Go on with your best judgement, and say what you assumed."
)
HEADLESS_SENTENCE = "Nobody is here to answer. Go on with your best judgement, and say in your answer what you assumed."
MAX_ANSWER_CHARS = 20_000


class UserQuestions:
    """The open questions that the model asked in one session, journaled; the first answer counts and wakes the call."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log
        self._lock = threading.Lock()
        self._open_questions: dict[
            str, tuple[QuestionAsked, asyncio.Future[Answers | DeclinedBy]]
        ] = {}

    async def ask(
        self, questions: tuple[Question, ...], *, message_id: str, call_id: str, abort: Abort
    ) -> Answers:
        """Ask the user, and return the answers; raises PermissionDenied when declined, or Aborted."""
        question_event = QuestionAsked(
            question_id=self._log.ids.new("que"),
            questions=questions,
            message_id=message_id,
            call_id=call_id,
        )
        answer = await self._wait_for_answer(question_event, abort)
        match answer:
            case "cancel":
                raise Aborted(abort.reason or "Stopped.")
            case "headless":
                raise PermissionDenied(
                    HEADLESS_SENTENCE,
                    stops_turn=False,
                    denied_by="engine",
                    reason="nobody was there to answer",
                )
            case "person":
                raise PermissionDenied(DECLINED_SENTENCE, stops_turn=False, denied_by="person")
            case _:
                return answer

    def answer(self, question_id: str, answers: Sequence[Sequence[str]]) -> bool:
        """Answer from any thread; returns False when it is already answered or declined.

        Raises UserError when there are more answers than questions, or an answer is no list of texts.
        """
        with self._lock:
            open_question = self._open_questions.get(question_id)
            if open_question is None:
                return False
            valid_answers = _validated_answers(open_question[0], answers)
            del self._open_questions[question_id]
        self._log.append(QuestionReplied(question_id=question_id, answers=valid_answers), sync=True)
        self._resolve_future(open_question[1], valid_answers)
        return True

    def decline(self, question_id: str, declined_by: DeclinedBy = "person") -> bool:
        """Decline a question; returns False when it is already answered or declined."""
        with self._lock:
            open_question = self._open_questions.pop(question_id, None)
        if open_question is None:
            return False
        self._log.append(QuestionRejected(question_id=question_id, by=declined_by), sync=True)
        self._resolve_future(open_question[1], declined_by)
        return True

    async def _wait_for_answer(
        self, question_event: QuestionAsked, abort: Abort
    ) -> Answers | DeclinedBy:
        future: asyncio.Future[Answers | DeclinedBy] = asyncio.get_running_loop().create_future()
        question_id = question_event.question_id
        with self._lock:
            self._open_questions[question_id] = (question_event, future)
        self._log.append(question_event, sync=True)
        unregister = abort.on_abort(partial(self.decline, question_id, "cancel"))
        try:
            return await future
        finally:
            unregister()
            if not future.done():
                self.decline(question_id, "cancel")

    def _resolve_future(
        self, future: "asyncio.Future[Answers | DeclinedBy]", answer: Answers | DeclinedBy
    ) -> None:
        def wake() -> None:
            if not future.done():
                future.set_result(answer)

        future.get_loop().call_soon_threadsafe(wake)


def _validated_answers(
    question_event: QuestionAsked, user_answers: Sequence[Sequence[str]]
) -> Answers:
    """Return the answers, checked; a question without an answer gets an empty one."""
    if isinstance(user_answers, str) or len(user_answers) > len(question_event.questions):
        questions = counted_noun(len(question_event.questions), "question")
        raise UserError(
            f"{counted_noun(len(user_answers), 'answer')} came to {questions}; give one list of words for each, in order."
        )
    answers: list[tuple[str, ...]] = []
    for texts in user_answers:
        if isinstance(texts, str) or not all(isinstance(text, str) for text in texts):
            raise UserError("An answer is a list of words: the labels chosen, or one in own words.")
        answers.append(tuple(text.strip()[:MAX_ANSWER_CHARS] for text in texts if text.strip()))
    return (*answers, *((),) * (len(question_event.questions) - len(answers)))


class JournaledTodos:
    """The todo list of a session, journaled when its tool replaces it."""

    def __init__(self, log: SessionLog) -> None:
        self._log = log

    def replace(self, todos: tuple[Todo, ...]) -> None:
        """Replace the todo list; an equal one is not journaled again."""
        if todos != self._log.state.todos:
            self._log.append(TodoUpdated(todos=todos))
