"""Ask a session's open questions where a person may type, and read the answers.

Border: decides what is asked and what a typed line means. Where lines are read, and what happens around a question, a cell
(``cell_questions.py``) and a script (``script_prompt.py``) say. Where nobody can type a rejection is recorded.
"""

import re
from collections.abc import Callable
from typing import Literal

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
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.values import Ask, Reply

AGAIN = "Please answer 1, 2 or 3 (or once, always, reject and a reason): "
GO_ON = "Please answer 1 (go on) or 3 (stop): "
KEEP = "Please answer 1 (keep it) or 3 (leave it): "

_SECOND_WORD = re.compile(r"^(go|keep|leave) (?:on|it)\b", re.IGNORECASE)
_ANSWERS: tuple[tuple[Literal["once", "always", "reject"], frozenset[str]], ...] = (
    ("once", frozenset({"1", "once", "yes", "y", "go", "keep"})),
    ("always", frozenset({"2", "always", "a", "4", "project"})),
    ("reject", frozenset({"3", "reject", "no", "n", "stop", "leave"})),
)
_PROMPTS = {"budget": (GO_ON, "stop"), "doom_loop": (GO_ON, "stop"), "moved": (KEEP, "leave it")}
"""The prompt after a line that is no answer, and what 3 does, of questions with answers of their own."""
NO_STDIN = frozenset({"EOFError", "StdinNotImplementedError", "UnsupportedOperation"})
"""Exceptions of a front end where nobody can type."""


class NobodyTypes(Exception):  # named after what is wrong
    """Nobody can type here."""


def typed_line(prompt: str) -> str:
    """Show a question, and return the line that a person types; raises NobodyTypes where nobody can."""
    try:
        return terminal.read_line(prompt)
    except Exception as problem:  # EOFError, StdinNotImplementedError, a closed stdin
        if type(problem).__name__ not in NO_STDIN and not isinstance(problem, OSError):
            raise
        raise NobodyTypes from problem


class TypedQuestions:
    """Asks the open questions of a session at one place.

    Contract: ``line`` reads one line for the question with an id; None where it is no longer needed. ``over`` tells that
    nothing more is asked.
    """

    headless = ""
    """What the model is told where nobody can type."""
    over = False

    def __init__(self, scrub: Callable[[str], str], run: RunCoroutine) -> None:
        """``run`` runs a coroutine on the engine."""
        self._scrub = scrub
        self._run = run

    def line(self, identifier: str, text: str, session: KernelSession) -> str | None:
        """Read a line; raises NobodyTypes."""
        raise NotImplementedError

    def begin(self, call_id: str | None) -> None:
        """Make ready for a question about a call."""

    def tell(self, words: str) -> None:
        """Show a sentence beside the questions."""
        terminal.write_error(self._scrub(words))

    def ask(self, session: KernelSession) -> None:
        """Ask the questions that are open now."""
        for ask in session.snapshot(messages=False).asks:
            if not self.over and (reply := self._reply(ask, session)) is not None:
                session.reply(ask.id, reply)
        for asked in session.snapshot(messages=False).questions:
            if not self.over:
                self._interview(asked, session)
        for proposal in session.held:
            if not self.over:
                self._hold(proposal, session)

    def _reply(self, ask: Ask, session: KernelSession) -> Reply | None:
        """Read an answer; None when it was given elsewhere or the person stopped the turn."""
        self.begin(ask.call_id)
        question = permission_question(ask, self._scrub)
        try:
            while (line := self.line(ask.id, question.prompt, session)) is not None:
                if (reply := question.take(line)) is not None:
                    return reply
        except NobodyTypes:
            return Reply(answer="reject", feedback=self.headless, by="headless")
        return None

    def _interview(self, asked: QuestionAsked, session: KernelSession) -> None:
        """Read the answers to the model's questions; sends none when they were given elsewhere."""
        self.begin(asked.call_id)
        found: list[tuple[str, ...]] = []
        for number, question in enumerate(asked.questions, 1):
            text = interview_text(question, number, len(asked.questions), self._scrub)
            try:
                line = self.line(asked.question_id, text, session)
            except NobodyTypes:
                session.nobody_answers(asked.question_id)
                return
            if line is None:
                return
            found.append(answer_of(line, question))
        session.answer(asked.question_id, found if any(found) else None)

    def _hold(self, proposal: ProposedRequest, session: KernelSession) -> None:
        """Read what to do with a request that step mode holds; after a change it is asked about again."""
        self.begin(None)
        text = self._scrub(held_question(proposal))
        try:
            while (line := self.line(proposal.id, text, session)) is not None:
                try:
                    outcome = carry_out(line, proposal, session, self._run)
                except UserError as problem:
                    text = self._scrub(f"{problem}\n> ")
                    continue
                if outcome not in ("unknown", "items"):
                    return
                items = self._scrub(held_question(proposal, items=True))
                text = UNKNOWN if outcome == "unknown" else items
        except NobodyTypes:
            if words := session.step_mode.nobody(proposal.id):
                self.tell(words)


def permission_question(ask: Ask, scrub: Callable[[str], str]) -> PagedQuestion[Reply]:
    """Return a permission question as it is asked at a terminal."""
    again, no = _PROMPTS.get(ask.permission, (AGAIN, "reject"))
    answers = Answers(understand, lambda reply: reply.answer == "reject", again, no)
    text, end = question_text(ask, scrub), answers_text(ask, scrub)
    return PagedQuestion(text, end, answers, terminal.terminal_size())


def understand(line: str) -> Reply | None:
    """Read what a person typed, or return None when it is no answer."""
    word, _, rest = _SECOND_WORD.sub(r"\1", line.strip()).partition(" ")
    word = word.lower().rstrip(".,:")
    answer = next((one for one, words in _ANSWERS if word in words), None)
    if answer is None:
        return None
    scope = "project" if word in ("4", "project") else None
    return Reply(answer=answer, feedback=rest.strip() or None, scope=scope)
