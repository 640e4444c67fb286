"""Translate a write under a key (OpenCode's ``Storage``) into events of the session, or refuse it.

Border: values in, events out; the caller appends them to the session's log. OpenCode's JSON is read as
by an import. A change that takes more than a record (a share page, a snapshot, permissions) is refused
with an error that names the right command.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.store.exchange.import_merge import with_blobs
from palimpsest.store.exchange.keyed_view import Key
from palimpsest.store.exchange.opencode_format import NotOpenCodeValue, read_info, read_part
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.parts import ToolPart, ToolPending, ToolRunning
from palimpsest.transcript.session_record.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
)

Json = Any
Change = Callable[[State], Sequence[Event]]
"""A function that returns the events to append to a session in a given state; raises UserError."""

SESSION_COMMANDS = {
    "permission": "session.control, the settings, or palimpsest.new_session(permission=...) says what is allowed",
    "share": "session.share() makes the page and session.unshare() deletes it",
    "revert": "session.revert(), session.unrevert() and session.cleanup() take back files, too",
    "parentID": "palimpsest.new_session(parent=...) begins a session below another",
    "summary": "it is counted from what the session changed in files",
    "model": "a prompt names its model: session.prompt(..., model=...)",
    "agent": "a prompt names its agent: session.prompt(..., agent=...)",
    "id": "session.fork() makes a session with another id",
}
REFUSED_SENTENCE = "{name!r} of a session is not written by key: {why}."
WRITTEN_BY_SESSION = "the session writes it itself"
DIFF_READ_ONLY = (
    "What a session changed in files is not written by key, since it is compared from snapshots of the files: "
    "session.diff() shows it, session.revert() takes it back."
)
SHARE_READ_ONLY = (
    "A share is a page in a file, so it is not written by key: session.share() makes it, and remove() or "
    "session.unshare() deletes it."
)
NO_SESSION = (
    "There is no session {name!r} here, and a key begins none: palimpsest.new_session() does."
)
IS_REVERTED = (
    "Something is reverted in this session: undo that with session.unrevert(), or make it final with "
    "session.cleanup(), and write then."
)


def plain_value(key: Key, value: Json) -> dict[str, Any]:
    """Return a copy of a value as a JSON object; raises UserError for anything else."""
    if not isinstance(value, dict):
        raise UserError(f"The value for {list(key)!r} is an object of JSON, not {value!r:.60}.")
    try:
        copied: dict[str, Any] = json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError) as error:
        raise UserError(f"The value for {list(key)!r} is no JSON: {error}.") from None
    return copied


def changed_session(old_value: Json, value: Json) -> tuple[str | None, bool | None]:
    """Return a session's new title and whether it is archived, each None if unchanged.

    Fields that ``value`` omits are unchanged. Raises UserError for any other change.
    """
    title = archived = None
    for name, new_value in value.items():
        if new_value == old_value.get(name):
            continue
        if name == "title":
            if not isinstance(new_value, str):
                raise UserError(f"A title is a text, not {new_value!r:.60}.")
            title = new_value
        elif name == "time" and _is_changeable_time(old_value["time"], new_value):
            old_time, new_time = old_value["time"].get("archived"), new_value.get("archived")
            archived = bool(new_time) if bool(old_time) is not bool(new_time) else None
        else:
            why = SESSION_COMMANDS.get(name, WRITTEN_BY_SESSION)
            raise UserError(REFUSED_SENTENCE.format(name=name, why=why))
    return title, archived


def _is_changeable_time(old_value: Json, new_value: Json) -> bool:
    """Return whether the times differ only in fields that may change or may be out of date."""
    if not isinstance(new_value, dict):
        return False
    ignored_names = {"archived", "updated", "compacting"}
    return {name: time for name, time in old_value.items() if name not in ignored_names} == {
        name: time for name, time in new_value.items() if name not in ignored_names
    }


def message_change(key: Key, value: dict[str, Any]) -> Change:
    """Return the change that adds or replaces a message's info, and keeps its parts. Raises UserError."""
    _, session_id, message_id = key
    _check_ids(key, value, sessionID=session_id, id=message_id)
    message_json = value | {"id": message_id, "sessionID": session_id}
    if message_json.get("role") not in ("user", "assistant"):
        raise UserError(f"The value for {list(key)!r} needs a role: 'user' or 'assistant'.")

    def change(state: State) -> Sequence[Event]:
        _check_not_reverted(state)
        old_message = state.message(message_id)
        if old_message is not None and old_message.info.role != message_json["role"]:
            raise UserError(
                f"The message {message_id!r} has the role {old_message.info.role!r} for good."
            )
        try:
            info = read_info(message_json, session_id, _newest_agent_and_model(state))
        except NotOpenCodeValue as error:
            raise UserError(f"The value for {list(key)!r} does not fit: {error}.") from error
        if isinstance(info, AssistantMessage):
            if info.time.completed is None:
                answer_text = f"The answer at {list(key)!r}"
                raise UserError(f"{answer_text} needs time.completed: nothing writes it.")
            if state.message(info.parent_id) is None:
                raise UserError(f"parentID names no message of the session: {info.parent_id!r}.")
        return [MessageUpdated(info=info)]

    return change


def part_change(store: Store, session_id: str, key: Key, value: dict[str, Any]) -> Change:
    """Return the change that adds or replaces a part; raises UserError."""
    _, message_id, part_id = key
    _check_ids(key, value, sessionID=session_id, messageID=message_id, id=part_id)
    try:
        part = read_part(value | {"id": part_id}, session_id, message_id)
    except NotOpenCodeValue as error:
        raise UserError(f"The value for {list(key)!r} does not fit: {error}.") from error
    if isinstance(part, ToolPart) and isinstance(part.state, ToolPending | ToolRunning):
        raise UserError(f"The call at {list(key)!r} is completed or failed: nothing runs it.")
    part = with_blobs(store, part)

    def change(state: State) -> Sequence[Event]:
        _check_not_reverted(state)
        old_part = state.part(message_id, part_id)
        if old_part is not None and old_part.type != part.type:
            raise UserError(f"The part {part_id!r} has the type {old_part.type!r} for good.")
        return [PartUpdated(part=part)]

    return change


def removal_change(key: Key) -> Change:
    """Return the change that removes a message or part from the transcript; the log keeps its lines."""

    def change(state: State) -> Sequence[Event]:
        _check_not_reverted(state)
        kind, owner_id, removed_id = key
        if kind == "message":
            return [MessageRemoved(message_id=removed_id)]
        return [PartRemoved(message_id=owner_id, part_id=removed_id)]

    return change


def _check_ids(key: Key, value: dict[str, Any], **ids_by_field: str) -> None:
    """Raise UserError if an id in the value differs from the one in its key."""
    for field, identifier in ids_by_field.items():
        if value.get(field, identifier) != identifier:
            raise UserError(f"The value for {list(key)!r} says {field} {value[field]!r:.80}.")


def _check_not_reverted(state: State) -> None:
    if state.session is None:
        raise NotFound("The session has no readable beginning.")
    if state.session.revert is not None:
        raise UserError(IS_REVERTED)


def _newest_agent_and_model(state: State) -> tuple[str, dict[str, Any]] | None:
    """Return agent and model of the newest message, for a value that names none."""
    for message in reversed(state.messages()):
        model = message.info.model
        return message.info.agent, {"providerID": model.provider, "modelID": model.name}
    return None
