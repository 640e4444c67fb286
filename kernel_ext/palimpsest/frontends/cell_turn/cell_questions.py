"""Ask permission questions and the model's questions in the cell, where no page can ask them.

Border: runs on the main thread while a cell waits; reads answers with ``input()``. The first
answer counts, so an answer from a page closes the input prompt here.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.kernel.interrupts import Interruptible
from palimpsest.frontends.typed_input.typed_answers import TypedQuestions, typed_line
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import (
    PermissionReplied,
    QuestionRejected,
    QuestionReplied,
    Record,
)

MAX_SIGNAL_SECONDS = 0.1
"""Maximum time to wait for the signal that closes a prompt, when an answer was typed at the same moment."""


class Questions(TypedQuestions, Interruptible):
    """Asks a session's open questions in the cell that waits.

    Contract: ``check`` returns at once where it has no question to ask. It raises nothing;
    an interrupt while it reads stops the turn through the interrupt's listener.
    """

    headless = (
        "Nobody can be asked here: this kernel has no place to type an answer. Do without this call, or tell the "
        "user to run the cell again with --yes."
    )

    def __init__(
        self,
        parts: KernelParts,
        show_sentence: Callable[[str], None],
        before_question: Callable[[str], None] = lambda _call_id: None,
    ) -> None:
        """``show_sentence`` shows a sentence beside the cell's output; ``before_question`` is called before a call's question."""
        super().__init__(scrubber(os.environ), parts.run)
        self._interrupts = parts.main_thread.interrupts
        self._pages = parts.pages
        self._show_sentence = show_sentence
        self._before_question = before_question
        self._open_question: str | None = None
        self._is_held_request = False
        """Whether the open question is about a held request; no record reports its release."""
        self._closed_elsewhere = False
        self._closing_lock = threading.Lock()
        """Held while a prompt is closed, so that its end knows whether its signal was sent."""

    def check(self, session: KernelSession) -> None:
        """Ask the open questions, unless a page shows the session."""
        if not self.has_ended and not self._pages.may_answer(session.id):
            self.ask(session)

    @contextmanager
    def closing_answered_prompts(self, session: KernelSession) -> Iterator[None]:
        """Within the block, close the prompt of a question that is answered elsewhere."""

        def on_records(records: Sequence[Record]) -> None:
            for record in records:
                if isinstance(record.event, PermissionReplied):
                    self._close_prompt(record.event.ask_id)
                elif isinstance(record.event, QuestionReplied | QuestionRejected):
                    self._close_prompt(record.event.question_id)

        unsubscribe = session.subscribe(on_records)
        stop_listening = session.on_problem(lambda: self._close_if_released(session))
        try:
            yield
        finally:
            unsubscribe()
            stop_listening()

    def begin(self, call_id: str | None) -> None:
        """Prepare for a question, which is shown below the output of its call."""
        self._closed_elsewhere = self.has_reached_job = False
        if call_id is not None:
            self._before_question(call_id)

    def show_sentence(self, sentence: str) -> None:
        """Show a sentence beside the cell's output."""
        self._show_sentence(sentence)

    def read_line(self, identifier: str, text: str, session: KernelSession) -> str | None:
        """Read a line; None where the answer is no longer needed, or the user stopped the turn."""
        self.interrupted = False
        previous_piece, self._interrupts.running_piece = self._interrupts.running_piece, self
        self._open_question, self._is_held_request = identifier, _is_held(identifier, session)
        try:
            return self._read_interruptibly(text) if _is_open(identifier, session) else None
        except KeyboardInterrupt:
            self.interrupted = True
            return None
        finally:
            self._end_prompt()
            self._interrupts.running_piece = previous_piece

    def _end_prompt(self) -> None:
        """End the prompt; its signal, sent while an answer was typed, must not interrupt the next one."""
        with self._closing_lock:
            self._open_question = None
        end_seconds = time.monotonic() + MAX_SIGNAL_SECONDS
        while self._closed_elsewhere and not self.interrupted and time.monotonic() < end_seconds:
            time.sleep(0.001)
        self.has_ended = self.has_ended or (self.interrupted and not self._closed_elsewhere)

    def _read_interruptibly(self, text: str) -> str:
        if self.interrupted:  # before this function, in which alone KeyboardInterrupt is raised
            raise KeyboardInterrupt
        return typed_line(text)

    interruptible_code = _read_interruptibly.__code__

    def _close_if_released(self, session: KernelSession) -> None:
        """Close the prompt of a held request that was released elsewhere; from any thread."""
        question_id = self._open_question
        if question_id is not None and self._is_held_request and not _is_held(question_id, session):
            self._close_prompt(question_id)

    def _close_prompt(self, identifier: str) -> None:
        """Close the prompt because the question was answered elsewhere; from any thread."""
        with self._closing_lock:
            if self._open_question == identifier:
                self._closed_elsewhere = True
                self._interrupts.interrupt_main()


def _is_open(identifier: str, session: KernelSession) -> bool:
    snapshot = session.snapshot()
    open_ids = {ask.id for ask in snapshot.asks} | {q.question_id for q in snapshot.questions}
    return identifier in open_ids or _is_held(identifier, session)


def _is_held(identifier: str, session: KernelSession) -> bool:
    return any(request.id == identifier for request in session.held)
