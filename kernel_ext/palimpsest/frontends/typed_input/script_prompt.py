"""Wait for an answer in a script, and ask the user at its terminal meanwhile.

Border: runs on the thread that called ``Session.prompt``. Where nobody can type (a scheduler, a pipe) every
question is rejected, with a record, so that a script does not wait forever. A script that answers by
itself sends prompts with ``start()``, after which it can call ``reply()``.
"""

import os
from collections.abc import Sequence
from concurrent.futures import Future, wait

from palimpsest.frontends.typed_input.held_requests import RunCoroutine
from palimpsest.frontends.typed_input.typed_answers import NobodyTypes, TypedQuestions, typed_line
from palimpsest.session.interfaces.prompt_answer import Answer
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.open_sessions.unattended_refusal import has_terminal
from palimpsest.transcript.redaction.secret_removal import scrubber

TICK_SECONDS = 0.1
MAX_STOP_SECONDS = 2.0


class _ScriptQuestions(TypedQuestions):
    """Asks the open questions of a session at the script's terminal."""

    headless = (
        "Nobody can be asked here: this script has no terminal. Do without this call, or tell the user to run it "
        "with yes=True."
    )

    def read_line(self, identifier: str, text: str, session: KernelSession) -> str:  # noqa: ARG002
        """Read a line; a question at a terminal stays open until it is answered there."""
        if not has_terminal():
            raise NobodyTypes
        return typed_line(text)


def await_answer(
    session: KernelSession,
    future: "Future[Answer]",
    first_sentences: Sequence[str] = (),
    *,
    run: RunCoroutine,
) -> Answer:
    """Return the answer; a keyboard interrupt stops the turn. ``first_sentences`` are printed to stderr first.

    ``run`` runs a coroutine on the engine.
    """
    questions = _ScriptQuestions(scrubber(os.environ), run)
    for sentence in (*first_sentences, session.take_opening_notice()):
        if sentence:
            questions.show_sentence(sentence)
    shown_problem = ""
    try:
        while not wait([future], TICK_SECONDS).done:
            problem = session.snapshot(messages=False).problem
            if problem not in ("", shown_problem):
                questions.show_sentence(problem)
            shown_problem = problem
            questions.ask(session)
        return future.result()
    except KeyboardInterrupt:
        session.cancel("Stopped.")
        # Wait: otherwise the script ends before its journal has recorded the stop.
        wait([future], MAX_STOP_SECONDS)
        raise
