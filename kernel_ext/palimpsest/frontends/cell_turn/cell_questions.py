"""Ask permission questions and the model's questions in the cell, when no page can ask them.

Border: runs on the main thread while a cell waits; reads an answer with ``input()``. The first
answer wins, wherever it is given, so an answer from a page closes the input prompt here.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from palimpsest.frontends.cell_turn.kernel_parts import KernelParts
from palimpsest.frontends.cell_turn.typed_answers import TypedQuestions, typed_line
from palimpsest.frontends.kernel.interrupts import Interruptible
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.redaction.secret_removal import scrubber
from palimpsest.transcript.session_record.events import (
    PermissionReplied,
    QuestionRejected,
    QuestionReplied,
    Record,
)


class Questions(TypedQuestions, Interruptible):
    """Asks the open questions of a session in the cell that waits.

    Contract: ``check`` returns at once when there is nothing to ask here. It raises nothing;
    an interrupt while it reads stops the turn, which the interrupt's own listener does.
    """

    everywhere = True
    headless = (
        "Nobody can be asked here: this kernel has no place to type an answer. Do without this call, or tell the "
        "user to run the cell again with --yes."
    )

    def __init__(
        self,
        parts: KernelParts,
        tell: Callable[[str], None],
        before: Callable[[str], None] = lambda _call_id: None,
    ) -> None:
        """``tell`` shows a sentence beside the cell's output; ``before`` is called before a call's question."""
        super().__init__(scrubber(os.environ), parts.run)
        self._interrupts = parts.main_thread.interrupts
        self._pages = parts.pages
        self._tell = tell
        self._before = before
        self._open: str | None = None
        self._is_hold = False
        """Whether what is open is a held request, which no record says to be let go."""
        self._closed_elsewhere = False

    def check(self, session: KernelSession) -> None:
        """Ask the open questions, if a person can answer them here."""
        if not self.over and not self._pages.present(session.id):
            self.ask(session)

    @contextmanager
    def followed(self, session: KernelSession) -> Iterator[None]:
        """Close the prompt of what is answered elsewhere, until the end of the block."""

        def replied(records: Sequence[Record]) -> None:
            for record in records:
                if isinstance(record.event, PermissionReplied):
                    self._answered(record.event.ask_id)
                elif isinstance(record.event, QuestionReplied | QuestionRejected):
                    self._answered(record.event.question_id)

        unsubscribe = session.subscribe(replied)
        forget = session.on_problem(lambda: self._held_changed(session))
        try:
            yield
        finally:
            unsubscribe()
            forget()

    def begin(self, call_id: str | None) -> None:
        """Have the question stand below what was shown of its call."""
        self._closed_elsewhere = self.interrupted = self.reached = False
        if call_id is not None:
            self._before(call_id)

    def tell(self, words: str) -> None:
        """Show a sentence beside the cell's output."""
        self._tell(words)

    def line(self, identifier: str, text: str, session: KernelSession) -> str | None:
        """Read a line; None when it is no longer needed, or the person stopped the turn."""
        before, self._interrupts.running = self._interrupts.running, self
        self._open, self._is_hold = identifier, _holds(identifier, session)
        try:
            return typed_line(text) if _is_open(identifier, session) else None
        except KeyboardInterrupt:
            self.over = not self._closed_elsewhere
            return None
        finally:
            self._open = None
            self._interrupts.running = before

    def _held_changed(self, session: KernelSession) -> None:
        """Close the prompt of a held request that was let go elsewhere; from any thread."""
        opened = self._open
        if opened is not None and self._is_hold and not _holds(opened, session):
            self._answered(opened)

    def _answered(self, identifier: str) -> None:
        """Close the prompt because the question was answered elsewhere; from any thread."""
        if self._open == identifier:
            self._closed_elsewhere = True
            self._interrupts.interrupt_main()


def _is_open(identifier: str, session: KernelSession) -> bool:
    picture = session.snapshot()
    asked = [ask.id for ask in picture.asks] + [one.question_id for one in picture.questions]
    return identifier in asked or _holds(identifier, session)


def _holds(identifier: str, session: KernelSession) -> bool:
    return any(one.id == identifier for one in session.held)
