"""Ask permission questions and the model's questions in the cell, when no page can ask them.

Border: runs on the main thread while a cell waits; reads an answer with ``input()``. The first
answer wins, wherever it is given, so an answer from a page closes the input prompt here. Where
nobody can type (Papermill, nbclient) a rejection is recorded.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any, Literal

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn.held_requests import (
    UNKNOWN,
    RunCoroutine,
    carry_out,
    held_question,
)
from palimpsest.frontends.cell_turn.model_questions import answer_of, interview_text
from palimpsest.frontends.cell_turn.paged_question import Answers, PagedQuestion
from palimpsest.frontends.cell_turn.permission_text import answers_text, question_text
from palimpsest.frontends.kernel.interrupts import Interrupts
from palimpsest.session.open_sessions.kernel_session import KernelSession
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.values import Ask, Reply

HEADLESS = (
    "Nobody can be asked here: this kernel has no place to type an answer. Do without this call, or tell the "
    "user to run the cell again with --yes."
)
AGAIN = "Please answer 1, 2 or 3 (or once, always, reject and a reason): "
GO_ON = "Please answer 1 (go on) or 3 (stop): "
KEEP = "Please answer 1 (keep it) or 3 (leave it): "

_SECOND_WORD = re.compile(r"^(go|keep|leave) (?:on|it)\b", re.IGNORECASE)
_WORDS: dict[str, Literal["once", "always", "reject"]] = {
    "1": "once",
    "once": "once",
    "yes": "once",
    "y": "once",
    "2": "always",
    "always": "always",
    "a": "always",
    "3": "reject",
    "4": "always",
    "project": "always",
    "go": "once",
    "keep": "once",
    "stop": "reject",
    "leave": "reject",
    "reject": "reject",
    "no": "reject",
    "n": "reject",
}


_PROMPTS = {"budget": (GO_ON, "stop"), "doom_loop": (GO_ON, "stop"), "moved": (KEEP, "leave it")}
"""The prompt after a line that is no answer, and what 3 does, of questions with answers of their own."""


class Questions:
    """Asks the open questions of a session in the cell that waits.

    Contract: ``check`` returns at once when there is nothing to ask here. It raises nothing;
    an interrupt while it reads stops the turn, which the interrupt's own listener does.
    """

    def __init__(
        self,
        interrupts: Interrupts,
        watched: Callable[[], bool],
        scrub: Callable[[str], str],
        read: Callable[[str], str] = terminal.read_line,
        before: Callable[[str | None], None] = lambda _call_id: None,
        run: RunCoroutine | None = None,
        tell: Callable[[str], None] = lambda _words: None,
    ) -> None:
        """``run`` runs a coroutine on the engine; ``tell`` shows a sentence beside the cell's output."""
        self.interrupted = self.reached = False
        self.everywhere = True
        self.task: asyncio.Task[Any] | None = None
        self._interrupts = interrupts
        self._watched = watched
        self._scrub = scrub
        self._read = read
        self._before = before
        self._run = run
        self._tell = tell
        self._open: str | None = None
        self._closed_elsewhere = False
        self._stopped = False
        self._open_hold = ""

    def check(self, session: KernelSession) -> None:
        """Ask the open questions, if a person can answer them here."""
        if self._stopped or self._watched():
            return
        for ask in session.snapshot(messages=False).asks:
            reply = None if self._over() else self._answer(ask, session)
            if reply is not None:
                session.reply(ask.id, reply)
        for asked in session.snapshot(messages=False).questions:
            if not self._over():
                self._interview(asked, session)
        for proposal in session.held:
            if not self._over() and self._run is not None:
                self._held(proposal, session, self._run)

    def held_changed(self, session: KernelSession) -> None:
        """Close the prompt of a held request that was let go elsewhere; from any thread."""
        opened = self._open
        if opened is not None and opened == self._open_hold and not _holds(opened, session):
            self.answered(opened)

    def _held(self, proposal: ProposedRequest, session: KernelSession, run: RunCoroutine) -> None:
        """Read what to do with a held request, once; after a change it is asked about again."""
        self._closed_elsewhere = self.interrupted = self.reached = False
        self._before(None)
        text = self._scrub(held_question(proposal))
        self._open_hold = proposal.id
        while True:
            try:
                line = self._line(proposal.id, text, session)
            except _NobodyError:
                words = session.step_mode.nobody(proposal.id)
                if words:
                    self._tell(words)
                return
            if line is None:
                return
            try:
                outcome = carry_out(line, proposal, session, run)
            except UserError as problem:
                text = self._scrub(f"{problem}\n> ")
                continue
            if outcome not in ("unknown", "items"):
                return
            text = (
                UNKNOWN
                if outcome == "unknown"
                else self._scrub(held_question(proposal, items=True))
            )

    def answered(self, identifier: str) -> None:
        """Close the prompt because the question was answered elsewhere; from any thread."""
        if self._open == identifier:
            self._closed_elsewhere = True
            self._interrupts.interrupt_main()

    def _over(self) -> bool:
        return self._stopped

    def _answer(self, ask: Ask, session: KernelSession) -> Reply | None:
        """Read an answer; None when it was given elsewhere or the person stopped the turn."""
        self._closed_elsewhere = self.interrupted = self.reached = False
        self._before(ask.call_id)
        question = permission_question(ask, self._scrub)
        while True:
            try:
                line = self._line(ask.id, question.prompt, session)
            except _NobodyError:
                return Reply(answer="reject", feedback=HEADLESS, by="headless")
            if line is None:
                return None
            reply = question.take(line)
            if reply is not None:
                return reply

    def _interview(self, asked: QuestionAsked, session: KernelSession) -> None:
        """Read the answers to the model's questions; sends none when they were given elsewhere."""
        self._closed_elsewhere = self.interrupted = self.reached = False
        self._before(asked.call_id)
        found: list[tuple[str, ...]] = []
        for number, question in enumerate(asked.questions, 1):
            text = interview_text(question, number, len(asked.questions), self._scrub)
            try:
                line = self._line(asked.question_id, text, session)
            except _NobodyError:
                session.nobody_answers(asked.question_id)
                return
            if line is None:
                return
            found.append(answer_of(line, question))
        session.answer(asked.question_id, found if any(found) else None)

    def _line(self, identifier: str, text: str, session: KernelSession) -> str | None:
        """Read a line; None when it is no longer needed, or the person stopped the turn."""
        before, self._interrupts.running = self._interrupts.running, self
        self._open = identifier
        try:
            if not _is_open(identifier, session):
                return None
            return self._read(text)
        except KeyboardInterrupt:
            self._stopped = not self._closed_elsewhere
            return None
        except Exception as problem:  # EOFError, StdinNotImplementedError, a closed stdin
            if type(problem).__name__ not in NO_STDIN and not isinstance(problem, OSError):
                raise
            raise _NobodyError from problem
        finally:
            self._open = None
            self._interrupts.running = before


class _NobodyError(Exception):
    """Nobody can type here."""


def _is_open(identifier: str, session: KernelSession) -> bool:
    picture = session.snapshot()
    asked = [ask.id for ask in picture.asks] + [one.question_id for one in picture.questions]
    return identifier in asked or _holds(identifier, session)


def _holds(identifier: str, session: KernelSession) -> bool:
    return any(one.id == identifier for one in session.held)


NO_STDIN = frozenset({"EOFError", "StdinNotImplementedError", "UnsupportedOperation"})
"""Exceptions of a front end where nobody can type."""


def permission_question(ask: Ask, scrub: Callable[[str], str]) -> PagedQuestion[Reply]:
    """Return a permission question as it is asked at a terminal."""
    again, no = _PROMPTS.get(ask.permission, (AGAIN, "reject"))
    answers = Answers(understand, lambda reply: reply.answer == "reject", again, no)
    text, end = question_text(ask, scrub), answers_text(ask, scrub)
    return PagedQuestion(text, end, answers, terminal.terminal_size())


def understand(line: str) -> Reply | None:
    """Read what a person typed, or return None when it is no answer."""
    word, _, rest = _SECOND_WORD.sub(r"\1", line.strip()).partition(" ")
    answer = _WORDS.get(word.lower().rstrip(".,:"))
    if answer is None:
        return None
    in_project = word.lower().rstrip(".,:") in ("4", "project")
    return Reply(
        answer=answer,
        feedback=rest.strip() or None,
        scope="project" if in_project else None,
    )
