"""Wait for an answer in a script, and ask the person at its terminal meanwhile.

Border: the thread that called ``Session.prompt``. Where nobody can type (a scheduler, a pipe) every
question is rejected, with a record, so that a script never waits for ever. A script that answers by
itself sends with ``start()``, which leaves the thread free for ``reply()``.
"""

import os
from collections.abc import Sequence
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING

from palimpsest.frontends import terminal
from palimpsest.frontends.cell_turn.model_questions import answer_of, interview_text
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import has_terminal
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.redaction.secret_removal import secret_values
from palimpsest.transcript.session_record.events import QuestionAsked
from palimpsest.transcript.values import Ask, Reply

if TYPE_CHECKING:
    from palimpsest.frontends.cell_turn.held_requests import RunCoroutine

TICK_SECONDS = 0.1
STOP_SECONDS = 2.0
HEADLESS = (
    "Nobody can be asked here: this script has no terminal. Do without this call, or tell the user to run it "
    "with yes=True."
)


def attended(
    session: KernelSession,
    future: "Future[Answer]",
    said: Sequence[str] = (),
    *,
    run: "RunCoroutine",
) -> Answer:
    """Return the answer; a keyboard interrupt stops the turn. ``said`` is printed to stderr first.

    ``run`` runs a coroutine on the engine.
    """
    for words in (*said, session.take_withheld()):
        if words:
            terminal.write_error(_clean(words))
    told = ""
    try:
        while not wait([future], TICK_SECONDS).done:
            picture = session.snapshot(messages=False)
            if picture.problem not in ("", told):
                terminal.write_error(_clean(picture.problem))
            told = picture.problem
            for ask in picture.asks:
                session.reply(ask.id, _replied(ask))
            for asked in picture.questions:
                _interview(session, asked)
            for proposal in session.held:
                _hold(session, proposal, run)
        return future.result()
    except KeyboardInterrupt:
        session.cancel("Stopped.")
        wait(
            [future], STOP_SECONDS
        )  # otherwise the script ends before its journal records the stop
        raise


def _replied(ask: Ask) -> Reply:
    # With the first question: the questions of a cell know IPython's stop button, which a script has not.
    from palimpsest.frontends.cell_turn.cell_questions import permission_question

    question = permission_question(ask, _clean)
    while (line := _line(question.prompt)) is not None:
        reply = question.take(line)
        if reply is not None:
            return reply
    return Reply(answer="reject", feedback=HEADLESS, by="headless")


def _interview(session: KernelSession, asked: QuestionAsked) -> None:
    found: list[tuple[str, ...]] = []
    for number, question in enumerate(asked.questions, 1):
        line = _line(interview_text(question, number, len(asked.questions), _clean))
        if line is None:
            session.nobody_answers(asked.question_id)
            return
        found.append(answer_of(line, question))
    session.answer(asked.question_id, found if any(found) else None)


def _hold(session: KernelSession, proposal: ProposedRequest, run: "RunCoroutine") -> None:
    """Read what to do with a request that step mode holds; without a terminal it is let go."""
    from palimpsest.frontends.cell_turn.held_requests import UNKNOWN, carry_out, held_question

    text = _clean(held_question(proposal))
    while (line := _line(text)) is not None:
        try:
            outcome = carry_out(line, proposal, session, run)
        except UserError as problem:
            text = _clean(f"{problem}\n> ")
            continue
        if outcome not in ("unknown", "items"):
            return
        text = UNKNOWN if outcome == "unknown" else _clean(held_question(proposal, items=True))
    words = session.step_mode.nobody(proposal.id)
    if words:
        terminal.write_error(_clean(words))


def _line(text: str) -> str | None:
    """Read a line at the terminal; None where nobody can type."""
    if not has_terminal():
        return None
    try:
        return terminal.read_line(text)
    except (EOFError, OSError):
        return None


def _clean(text: str) -> str:
    return scrub(text, secret_values(os.environ))
