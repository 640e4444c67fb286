"""Propose what may follow an operation's name: its flags, its keywords, and names that are known.

Border: proposes for one word and asks no server; the magic's completer and the panel choose among what is proposed.
"""

from collections.abc import Callable, Sequence

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_text.part_list import part_rows
from palimpsest.frontends.operations.grammar import flags, keywords
from palimpsest.frontends.operations.grammar import words as named
from palimpsest.frontends.operations.operation import Form, Operation
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.part_lookup import LAST, SUMMARY
from palimpsest.tools.permission_rules.modes import MODES
from palimpsest.transcript.session_record.events import StepRequested

Values = Callable[[str], Sequence[str]]
"""The values that a field may take, by its name."""


def arguments_after(
    form: Form, operation: type[Operation], words: Sequence[str], current: str, values: Values
) -> Sequence[str]:
    """Return what may stand in the place of the word that is being typed.

    Args:
        form: The form whose name was typed.
        operation: Its operation.
        words: The whole words behind the name.
        current: What is typed of the word.
        values: Tells the values that are known.
    """
    if words and words[-1] == "--model":
        return values("model")
    if current.startswith("-"):
        return flags(form, operation)
    if form.name == "policy":
        name, equals, _ = current.partition("=")
        return values(f"policy={name}" if equals else "policy")
    if form.name == "context":
        return _of_context(words, keywords(form, operation), values)
    if words:
        return ()
    if form.name == "mode":
        return (*MODES, "default")
    known = [value for one in named(form, operation) for value in values(one.completed_by)]
    return [*keywords(form, operation), *known]


def _of_context(words: Sequence[str], keywords: Sequence[str], values: Values) -> Sequence[str]:
    """Return what may follow ``context``: its keywords, then the numbers of requests, or parts."""
    if not words:
        return keywords
    if list(words) == ["why"]:
        return values("part")
    is_number = words[0] in keywords and len(words) <= (1 if words[0] == "at" else 2)
    return values("request") if is_number else ()


def known_values(
    services: FrontendServices, session: KernelSession | None, field: str
) -> Sequence[str]:
    """Return the values of a field that are known without any request, of the notebook's session too."""
    if field == "session":
        return [one.id for one in services.workspace.sessions()]
    if field == "part":
        if session is None:
            return ()
        found = part_rows(session.snapshot().messages, session.decisions())
        return [LAST, SUMMARY, *(name for name, _, _ in found)]
    if field == "request":
        return _requests(session) if session is not None else ()
    return services.known(field)


def _requests(session: KernelSession) -> list[str]:
    """Return the numbers of the session's requests, the newest first."""
    sent = session.records_after(0, frozenset({"step.requested"}))
    answers = {
        record.event.request.message_id
        for record in sent
        if isinstance(record.event, StepRequested) and record.event.request.purpose == "step"
    }
    return [str(number) for number in range(len(answers), 0, -1)]
