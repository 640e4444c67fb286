"""Ask a session's open questions at a place with typed input, and parse the answers.

Border: writes the questions and parses the lines. A cell (``cell_questions.py``) and a script (``script_prompt.py``)
read the lines. Where nobody can type, a rejection is recorded.
"""

import re
from collections.abc import Callable
from typing import Literal

from palimpsest.frontends import terminal
from palimpsest.frontends.typed_input.held_requests import (
    RETRY_HELD_REQUEST,
    RunCoroutine,
    carry_out_line,
    held_question,
)
from palimpsest.frontends.typed_input.paged_question import AnswerRules, PagedQuestion
from palimpsest.frontends.typed_input.permission_text import answers_text, question_text
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.values import Ask, Question, Reply
from palimpsest.transcript.visible_text import visible_line, visible_text

RETRY_PERMISSION = "Please answer 1, 2 or 3 (or once, always, reject and a reason): "
RETRY_CONTINUE = "Please answer 1 (go on) or 3 (stop): "
RETRY_KEEP = "Please answer 1 (keep it) or 3 (leave it): "

_NUMBERS = re.compile(r"\s*\d{1,2}(?:[\s,;]+\d{1,2})*\s*")
_TWO_WORD_ANSWER = re.compile(r"^(go|keep|leave) (?:on|it)\b", re.IGNORECASE)
_ANSWER_WORDS: tuple[tuple[Literal["once", "always", "reject"], frozenset[str]], ...] = (
    ("once", frozenset({"1", "once", "yes", "y", "go", "keep"})),
    ("always", frozenset({"2", "always", "a", "4", "project"})),
    ("reject", frozenset({"3", "reject", "no", "n", "stop", "leave"})),
)
_OWN_ANSWERS = {
    "budget": (RETRY_CONTINUE, "stop"),
    "doom_loop": (RETRY_CONTINUE, "stop"),
    "moved": (RETRY_KEEP, "leave it"),
}
"""For permissions with their own answers: the prompt after a line that is no answer, and the meaning of 3."""
NO_INPUT_ERRORS = frozenset({"EOFError", "StdinNotImplementedError", "UnsupportedOperation"})
"""Names of exceptions that front ends without input raise."""


class NobodyTypes(Exception):  # no suffix Error: callers expect it
    """Nobody can type here."""


def typed_line(prompt: str) -> str:
    """Show a question, and return the line that the user types; raises NobodyTypes where input is impossible."""
    try:
        return terminal.read_line(prompt)
    except Exception as error:  # EOFError, StdinNotImplementedError, a closed stdin
        if type(error).__name__ not in NO_INPUT_ERRORS and not isinstance(error, OSError):
            raise
        raise NobodyTypes from error


class TypedQuestions:
    """Asks a session's open questions at one place.

    Contract: ``read_line`` reads a line for the question with an id, and returns None where it is no longer needed. After ``has_ended``
    was set, no question is asked.
    """

    headless = ""
    """The answer that the model receives where input is impossible."""
    has_ended = False

    def __init__(self, scrub: Callable[[str], str], run: RunCoroutine) -> None:
        """``run`` runs a coroutine on the engine."""
        self._scrub = scrub
        self._run = run

    def read_line(self, identifier: str, text: str, session: KernelSession) -> str | None:
        """Read a line; raises NobodyTypes."""
        raise NotImplementedError

    def begin(self, call_id: str | None) -> None:
        """Prepare for a question about a call."""

    def show_sentence(self, sentence: str) -> None:
        """Show a sentence beside the questions."""
        terminal.write_error(self._scrub(sentence))

    def ask(self, session: KernelSession) -> None:
        """Ask all open questions."""
        for ask in session.snapshot(messages=False).asks:
            if not self.has_ended and (reply := self._reply(ask, session)) is not None:
                session.reply(ask.id, reply)
        for question in session.snapshot(messages=False).questions:
            if not self.has_ended:
                self._ask_questions(question, session)
        for proposal in session.held:
            if not self.has_ended:
                self._ask_about_request(proposal, session)

    def _reply(self, ask: Ask, session: KernelSession) -> Reply | None:
        """Ask for permission; returns None where it was answered elsewhere or the user stopped the turn."""
        self.begin(ask.call_id)
        question = permission_question(ask, self._scrub)
        try:
            while (typed_text := self.read_line(ask.id, question.prompt, session)) is not None:
                if (reply := question.answer_in(typed_text)) is not None:
                    return reply
        except NobodyTypes:
            return Reply(answer="reject", feedback=self.headless, by="headless")
        return None

    def _ask_questions(self, event: QuestionAsked, session: KernelSession) -> None:
        """Ask the model's questions, and send the answers unless they were given elsewhere."""
        self.begin(event.call_id)
        answers: list[tuple[str, ...]] = []
        for number, question in enumerate(event.questions, 1):
            text = interview_text(question, number, len(event.questions), self._scrub)
            try:
                typed_text = self.read_line(event.question_id, text, session)
            except NobodyTypes:
                session.nobody_answers(event.question_id)
                return
            if typed_text is None:
                return
            answers.append(answer_of(typed_text, question))
        session.answer(event.question_id, answers if any(answers) else None)

    def _ask_about_request(self, proposal: ProposedRequest, session: KernelSession) -> None:
        """Ask what to do with a held request; a changed request is asked about again later."""
        self.begin(None)
        text = self._scrub(held_question(proposal))
        try:
            while (typed_text := self.read_line(proposal.id, text, session)) is not None:
                try:
                    outcome = carry_out_line(typed_text, proposal, session, self._run)
                except UserError as error:
                    text = self._scrub(f"{error}\n> ")
                    continue
                if outcome not in ("unknown", "items"):
                    return
                items_text = self._scrub(held_question(proposal, items=True))
                text = RETRY_HELD_REQUEST if outcome == "unknown" else items_text
        except NobodyTypes:
            if sentence := session.step_mode.release_unattended(proposal.id):
                self.show_sentence(sentence)


def permission_question(ask: Ask, scrub: Callable[[str], str]) -> PagedQuestion[Reply]:
    """Return a permission question for a terminal."""
    retry_prompt, refusal = _OWN_ANSWERS.get(ask.permission, (RETRY_PERMISSION, "reject"))
    answer_rules = AnswerRules(
        parse_reply, lambda reply: reply.answer == "reject", retry_prompt, refusal
    )
    text, closing_lines = question_text(ask, scrub), answers_text(ask, scrub)
    return PagedQuestion(text, closing_lines, answer_rules, terminal.terminal_size())


def parse_reply(typed_text: str) -> Reply | None:
    """Parse a typed answer to a permission question; returns None where it is none."""
    answer_word, _, feedback_text = _TWO_WORD_ANSWER.sub(r"\1", typed_text.strip()).partition(" ")
    answer_word = answer_word.lower().rstrip(".,:")
    answer = next((reply for reply, words in _ANSWER_WORDS if answer_word in words), None)
    if answer is None:
        return None
    scope = "project" if answer_word in ("4", "project") else None
    return Reply(answer=answer, feedback=feedback_text.strip() or None, scope=scope)


def interview_text(
    question: Question, number: int, question_count: int, scrub: Callable[[str], str] = str
) -> str:
    """Return a question as text, with numbered options and a hint on how to answer."""
    position = f" ({number} of {question_count})" if question_count > 1 else ""
    first, *rest = visible_text(question.question).split("\n")
    lines = [f"The agent asks{position}: {first}", *(f"  {line}".rstrip() for line in rest)]
    for option_number, option in enumerate(question.options, 1):
        description = f": {visible_line(option.description)}" if option.description else ""
        lines.append(f"  {option_number}  {visible_line(option.label)}{description}")
    if not question.options:
        hint = "Your answer"
    elif question.multiple:
        hint = "Numbers, as in 1, 2, or your own words"
    else:
        hint = "A number, or your own words"
    lines.append(f"{hint}; an empty line skips it.")
    return scrub("\n".join(lines)) + "\n> "


def answer_of(line: str, question: Question) -> tuple[str, ...]:
    """Return the typed answer: the labels of the chosen options, or free text; empty for no answer."""
    answer = line.strip()
    labels = [option.label for option in question.options]
    if labels and _NUMBERS.fullmatch(line):
        numbers = [int(number) for number in re.findall(r"\d+", line)]
        are_options = all(1 <= number <= len(labels) for number in numbers)
        if are_options and (question.multiple or len(numbers) == 1):
            return tuple(dict.fromkeys(labels[number - 1] for number in sorted(numbers)))
    for label in labels:
        if label.lower() == answer.lower():
            return (label,)
    return (answer,) if answer else ()
