"""Create the record of a fork, and find the place up to which it shares its parent's log.

Border: writes nothing but the fork itself. A fork shares its parent's log by reference, so its messages
keep their ids, and fields with message ids (``parent_id``, ``tail_start_id``) need no mapping.
"""

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from palimpsest.context.request_kinds.turn_summary_request import (
    BODY,
    LAST_TURN,
    session_summary_of_turns,
)
from palimpsest.session.records.part_lookup import find_part
from palimpsest.session.runs.title_writer import fork_title
from palimpsest.store.interface import Store
from palimpsest.store.session_state.message_list import MessageSlot
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import OWN_POLICY
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    SessionCreated,
    SessionUpdated,
    StepRequested,
)
from palimpsest.transcript.session_record.sessions import SessionInfo, SessionTime
from palimpsest.transcript.values import Usage


def forked_session(
    store: Store,
    parent_id: str,
    new_id: Callable[[], str],
    now_ms: int,
    *,
    message: str | None = None,
    request: int | str | None = None,
    notebook: str | None = None,
) -> SessionInfo:
    """Create a fork with the messages of another session before a message, or all of them; returns its record.

    ``message`` is the id of a message or part, its beginning or its end; ``request`` is a request's id or its place
    among those that fill messages, from 1: the decisions made for it are not in the fork. ``now_ms`` is in
    milliseconds since 1970. Raises NotFound, and UserError where both are named.
    """
    seq: int | None = None
    if request is not None and message is not None:
        raise UserError("Fork at a message or at a request: name one of them, not both.")
    if request is not None:
        message, seq = _before_request(store, parent_id, request)
    live_state = store.open_live(parent_id) if message is not None else None
    parent = live_state.session if live_state is not None else _newest_record(store, parent_id)
    state = live_state
    if live_state is not None and live_state.is_partial:
        # The fork's revert and its summary texts depend on all messages before it.
        needs_all = message is None or parent is None or bool(parent.revert or parent.summary)
        state = store.open_messages(parent_id, "" if needs_all else (message or "").strip())
    if parent is None:
        raise NotFound(f"Session {parent_id!r} has no readable beginning.")
    slot = _message_slot(state, message) if state is not None and message is not None else None
    update = {
        "id": new_id(),
        "title": _unused_title(store, parent.title),
        "time": SessionTime(created=now_ms, updated=now_ms),
        "notebook": notebook if notebook is not None else parent.notebook,
        "parent_id": None,
        "limits": (),
        "metadata": _metadata_without_depth(parent),
        "cost": None,
        "tokens": Usage(),
        "unpriced": None,
        "below": None,
        "share": None,
        "summary": _summary_in_fork(parent, state, slot),
        "revert": _revert_in_fork(parent, state, slot),
    }
    session = parent.model_copy(update=update)
    if slot is not None and seq is None:
        seq = slot.first_seq - 1
    return store.fork(parent_id, session, seq=seq)


def _message_slot(state: State, name: str) -> MessageSlot:
    """Return the slot of a named message; all messages are read only where ``name`` is no whole id."""
    message = state.message(name.strip()) or find_part(state.messages(), name).message
    return next(slot for slot in state.message_slots() if slot.id == message.id)


def _unused_title(store: Store, title: str) -> str:
    """Return the title of a fork, numbered so that no other session of the project has it."""
    titles = {summary.title for summary in store.list() if not summary.deleted}
    title = fork_title(title)
    while title in titles:
        title = fork_title(title)
    return title


def _newest_record(store: Store, session_id: str) -> SessionInfo | None:
    for record in store.stream(session_id):
        if isinstance(record.event, SessionCreated | SessionUpdated):
            return record.event.session
    return None


def _summary_in_fork(
    parent: SessionInfo, state: State | None, slot: MessageSlot | None
) -> dict[str, Any] | None:
    """Return the summary texts for the messages of the fork, without counts of changed files, which start at zero."""
    texts = {name: (parent.summary or {}).get(name) for name in (BODY, LAST_TURN)}
    if not all(texts.values()):
        return None  # no turn has a summary
    if state is None or slot is None:
        return texts
    earlier_messages = takewhile(lambda message: message.id != slot.id, state.messages())
    return dict(session_summary_of_turns(earlier_messages)) or None


def _metadata_without_depth(parent: SessionInfo) -> dict[str, Any] | None:
    """Return the parent's metadata without its depth, since a fork has no parent session."""
    metadata = {name: value for name, value in (parent.metadata or {}).items() if name != "depth"}
    return metadata or None


REQUEST_RULES = ("prune/", "remind/", "recover/", "hook/", OWN_POLICY)
"""Prefixes of the rules whose decisions are made for one request, just before it is sent."""


def _before_request(store: Store, session_id: str, request: int | str) -> tuple[str, int]:
    """Return the id of the message that a request fills, and the number of the record before its decisions."""
    message_requests = _message_requests(store, session_id)
    if isinstance(request, int) and not isinstance(request, bool):
        matching_requests = message_requests[request - 1 : request] if request > 0 else []
    else:
        matching_requests = [
            entry for entry in message_requests if entry[0] and entry[0] == request
        ]
    if not matching_requests:
        advice = "Fork it at a message, or whole."
        if message_requests:
            advice = f"Name one from 1 to {len(message_requests)}, or its id."
        raise NotFound(
            f"There is no request {request!r} in session {session_id!r}; it has {len(message_requests)}. {advice}"
        )
    message_id, seq_before = matching_requests[0][1], 0
    for record in store.read(session_id):
        event = record.event
        if isinstance(event, MessageUpdated) and event.info.id == message_id:
            return message_id, seq_before
        rule = event.decision.rule if isinstance(event, DecisionMade) else ""
        if not rule.startswith(REQUEST_RULES):
            seq_before = record.seq
    raise NotFound(f"There is no message {message_id!r} in session {session_id!r}.")


def _message_requests(store: Store, session_id: str) -> list[tuple[str, str]]:
    """Return the id of each request that fills a message, with the message's id.

    An imported session has no journaled requests: each of its answers counts as one without an id, as in review.
    """
    journaled_requests = [
        (record.event.request.id, record.event.request.message_id)
        for record in store.read(session_id, only=("step.requested",))
        if isinstance(record.event, StepRequested) and record.event.request.message_id is not None
    ]
    if journaled_requests:
        return journaled_requests
    answers = (
        record.event.info
        for record in store.read(session_id, only=("message.updated",))
        if isinstance(record.event, MessageUpdated)
    )
    answer_ids = dict.fromkeys(
        info.id for info in answers if isinstance(info, AssistantMessage) and not info.summary
    )
    return [("", answer_id) for answer_id in answer_ids]


def _revert_in_fork(parent: SessionInfo, state: State | None, slot: MessageSlot | None) -> object:
    """Return the parent's revert if the fork contains the hidden messages; else None."""
    if parent.revert is None or state is None or slot is None:
        return parent.revert
    hidden_message_id = str(parent.revert.get("message_id") or parent.revert.get("messageID") or "")
    earlier_slots = takewhile(lambda earlier: earlier.id != slot.id, state.message_slots())
    return (
        parent.revert if any(earlier.id == hidden_message_id for earlier in earlier_slots) else None
    )
