"""Complete the arguments of an operation: its flags, its keywords, and known names.

Border: completes one word without a request; the magic's completer and the panel filter the completions.
"""

from collections.abc import Callable, Sequence

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.operation_base.grammar import flags, keywords, word_arguments
from palimpsest.frontends.operation_base.operation import Form, Operation
from palimpsest.frontends.operation_text.part_list import part_rows
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.session.records.part_lookup import LAST, SUMMARY
from palimpsest.session.records.request_numbers import REQUEST_EVENTS, numbered_requests
from palimpsest.tools.permission_rules.modes import MODES

CompletionValues = Callable[[str], Sequence[str]]
"""Returns the values of a kind that complete a word, such as ``session`` or ``model``."""


def argument_completions(
    form: Form,
    operation: type[Operation],
    words: Sequence[str],
    word_start: str,
    values_of: CompletionValues,
) -> Sequence[str]:
    """Return completions for ``word_start``, the typed part of a word after the form's name and the complete ``words``."""
    if words and words[-1] == "--model":
        return values_of("model")
    if word_start.startswith("-"):
        return flags(form, operation)
    if form.name == "policy":
        name, equals, _ = word_start.partition("=")
        return values_of(f"policy={name}" if equals else "policy")
    if form.name == "context":
        return _context_completions(words, keywords(form, operation), values_of)
    if words:
        return ()
    if form.name == "mode":
        return (*MODES, "default")
    arguments = word_arguments(form, operation)
    names = [value for argument in arguments for value in values_of(argument.completed_by)]
    return [*keywords(form, operation), *names]


def _context_completions(
    words: Sequence[str], keywords: Sequence[str], values_of: CompletionValues
) -> Sequence[str]:
    """Return completions after ``context``: keywords first, then numbers of requests or ids of parts."""
    if not words:
        return keywords
    if list(words) == ["why"]:
        return values_of("part")
    takes_request = words[0] in keywords and len(words) <= (1 if words[0] == "at" else 2)
    return values_of("request") if takes_request else ()


def known_values(
    services: FrontendServices, session: KernelSession | None, kind: str
) -> Sequence[str]:
    """Return the values of a kind that are known without a request, including those of the notebook's session."""
    if kind == "session":
        return [summary.id for summary in services.workspace.sessions()]
    if kind == "part":
        if session is None:
            return ()
        return [LAST, SUMMARY, *(part_id for part_id, _, _ in part_rows(session))]
    if kind == "request":
        return _request_numbers(session) if session is not None else ()
    return services.completion_values(kind)


def _request_numbers(session: KernelSession) -> list[str]:
    """Return the numbers of the session's requests, the newest first."""
    answers = numbered_requests(session.records_after(0, REQUEST_EVENTS))
    return [str(number) for number in range(len(answers), 0, -1)]
