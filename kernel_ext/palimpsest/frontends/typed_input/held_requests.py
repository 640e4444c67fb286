"""Carry out a typed line about a request that step mode holds: send it, stop, or change its content.

Border: runs operations of a session for a line that the caller has read.
"""

import threading
from collections.abc import Callable, Coroutine
from typing import Any, Literal, get_args

from palimpsest.frontends.typed_input.typed_values import parse_amounts, policy_words
from palimpsest.render.reports.held_request import held_request_text
from palimpsest.session.controls.context_edits import ContextEditAction
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import UserError

RunCoroutine = Callable[[Coroutine[Any, Any, Any]], Any]
"""Runs a coroutine on the engine and returns its result."""

CHOICES_TEXT = (
    "1 send   3 stop   items lists all   {another}off ends step mode; or change it first: {numbers}"
    "pin ID, unpin ID, exclude ID, restore ID, budget 2usd"
)
ANOTHER_CHOICE = "another asks for another summary   "
OLDER_CHOICE = "older uses the summary that was put aside   "
RETRY_HELD_REQUEST = (
    "Please answer 1 or send, 3 or stop, items, off, NAME=NUMBER, pin ID, or budget 2usd: "
)
MAX_PROPOSAL_SECONDS = 1.0
"""Time to wait for the changed proposal; an edit without effect causes none."""
EDIT_WORDS = frozenset(get_args(ContextEditAction)) - {"undo"}

Outcome = Literal["over", "changed", "unknown", "items"]
"""``over``: released or stopped; ``changed``: proposed again; ``items``: all its items are to be listed."""


def held_question(proposal: ProposedRequest, *, items: bool = False) -> str:
    """Return the text of a held request and of the possible answers."""
    numbers_text = "".join(f"{number.name}={number.value:g}, " for number in proposal.numbers)
    summary_choices = ANOTHER_CHOICE if proposal.new_summary is not None else ""
    summary_choices += OLDER_CHOICE if proposal.older_summary is not None else ""
    choices = CHOICES_TEXT.format(numbers=numbers_text, another=summary_choices)
    return f"{held_request_text(proposal, items=items)}\n{choices}\n> "


def carry_out_line(
    line: str, proposal: ProposedRequest, session: KernelSession, run_on_engine: RunCoroutine
) -> Outcome:
    """Carry out a typed line; raises UserError where it is not possible."""
    words = line.split()
    command = words[0].lower().rstrip(".,:") if words else ""
    match command:
        case "1" | "send" | "go" | "yes" | "y":
            session.step_mode.release(proposal.id)
        case "3" | "stop" | "no" | "n":
            session.cancel("Stopped.")
        case "off":
            session.step_mode.switch(is_on=False)
        case "another":
            session.step_mode.another_summary(proposal.id)
        case "older":
            session.step_mode.older_summary(proposal.id)
        case "items":
            return "items"
        case _:
            return _change_request(line.strip(), command, words, proposal, session, run_on_engine)
    return "over"


def _change_request(
    line: str,
    command: str,
    words: list[str],
    proposal: ProposedRequest,
    session: KernelSession,
    run_on_engine: RunCoroutine,
) -> Outcome:
    """Change the content of the request, and wait until it is proposed again."""
    changed_event = threading.Event()
    stop_listening = session.on_problem(changed_event.set)
    try:
        if command in EDIT_WORDS and len(words) == 2:
            edited_session = session.step_mode.session_of(proposal.id)
            edited_session.edit_context(command, words[1])  # type: ignore[arg-type]  # the literals are the edits
        elif command == "budget":
            _set_limit(" ".join(words[1:]), session)
        elif "=" in line:
            run_on_engine(session.step_mode.session_of(proposal.id).use_policy(*policy_words(line)))
        else:
            return "unknown"
        changed_event.wait(MAX_PROPOSAL_SECONDS)
    finally:
        stop_listening()
    return "changed"


def _set_limit(text: str, session: KernelSession) -> None:
    amounts = parse_amounts(text)
    if not amounts and text.lower() not in ("off", "none"):
        raise UserError(
            f"{text!r} is no amount. Write budget 2usd, budget 500k tokens, or budget off."
        )
    tokens = amounts.get("tokens")
    session.control.set_budget(usd=amounts.get("usd"), tokens=int(tokens) if tokens else None)
