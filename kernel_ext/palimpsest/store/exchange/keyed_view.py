"""Read the sessions of a project as keys and values, as with OpenCode's ``Storage``.

``session/{project}/{id}``, ``message/{session}/{id}``, ``part/{message}/{id}``, ``session_diff/{id}``
and ``share/{id}``, each with the JSON that OpenCode, and our export in its format, store there.
Border: read-only. Writes go through a session's log, as the events of ``key_changes``.
"""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from palimpsest.store.exchange.json_export import output_clear_times, part_value
from palimpsest.store.exchange.opencode_format import (
    REVERT_FIELDS,
    info_json,
    session_json,
    with_unread,
)
from palimpsest.store.interface import Store
from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import EffectiveDecisions
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import Message
from palimpsest.transcript.session_record.sessions import SessionInfo

Key = tuple[str, ...]
Json = Any
T = TypeVar("T")

KEY_FORMS = {
    "session": "['session', project, session]",
    "message": "['message', session, message]",
    "part": "['part', message, part]",
    "session_diff": "['session_diff', session]",
    "share": "['share', session]",
}
KEY_LENGTHS = {kind: form.count(",") + 1 for kind, form in KEY_FORMS.items()}
MAX_QUOTED_KEY_CHARS = 200
MAX_QUOTED_VALUE_CHARS = 80
"""Maximum characters that an error quotes of a value that is no key."""
NO_KEY = "{key} is no key. Keys are {forms}."
NO_PREFIX = "There are no keys below {key}. Keys are {forms}."


class KeyedView:
    """Reads a store by key.

    ``journal_of`` returns the open journal of a session that this kernel writes, or None; records that
    are not written yet are read from it.
    """

    def __init__(
        self, store: Store, journal_of: Callable[[str], Journal | None] = lambda _session_id: None
    ) -> None:
        self._store = store
        self._journal_of = journal_of
        self._session_of_message: dict[str, str] = {}

    @property
    def project_id(self) -> str:
        """The project id in the keys of sessions."""
        return self._store.project_id

    def value_of_key(self, key: Sequence[str]) -> Json:
        """Return the JSON value of a key; raises NotFound, and UserError for an invalid key."""
        match checked_key(key):
            case ("session", project, session_id) if project == self.project_id:
                return _session_value(self._session(session_id), project)
            case ("message", session_id, message_id):
                message = self._read_value(session_id, lambda state: state.message(message_id))
                if message is not None:
                    value = info_json(message.info) | {"sessionID": session_id}
                    with_unread(value, [])
                    return value
            case ("part", message_id, part_id):
                session_id = self.session_of_message(message_id)
                message = self._message(session_id, message_id)
                parts = message.parts if message is not None else ()
                part = next((candidate for candidate in parts if candidate.id == part_id), None)
                if part is not None:
                    decisions = self._read_value(session_id, lambda state: state.decisions) or ()
                    clear_times = output_clear_times(self._store, session_id) if decisions else {}
                    return part_value(self._store, part, EffectiveDecisions(decisions), clear_times)
            case ("session_diff", session_id):
                return list(self._read_value(session_id, lambda state: state.diff) or ())
            case ("share", session_id):
                session = self._session(session_id)
                if session.shared:
                    return dict(session.share or {})
            case _:
                pass
        raise NotFound(f"There is nothing at {_quoted_key(key)}.")

    def list(self, prefix: Sequence[str] = ()) -> Sequence[Key]:
        """Return the keys that begin with a prefix, sorted; raises UserError for an impossible prefix."""
        prefix = _key_texts(prefix, NO_PREFIX)
        kind = prefix[0] if prefix else ""
        if kind and (kind not in KEY_LENGTHS or len(prefix) > KEY_LENGTHS[kind]):
            raise UserError(NO_PREFIX.format(key=_quoted_key(prefix), forms=_key_forms_text()))
        kinds = [kind] if kind else list(KEY_LENGTHS)
        keys = (key for name in kinds for key in self._keys_of_kind(name, prefix))
        return sorted({key for key in keys if key[: len(prefix)] == prefix})

    def session_of_message(self, message_id: str, preferred: str | None = None) -> str:
        """Return the id of the session that a message belongs to; for inherited ones, the fork's parent.

        ``preferred`` is tried first: a fork's own version of a message has the same key. Raises NotFound.
        """
        for session_id in (preferred, self._session_of_message.get(message_id)):
            if session_id and self._message(session_id, message_id) is not None:
                return session_id
        holders = [
            (summary.id, message.info.session_id)
            for summary in self._store.list()
            if self._may_have_message(summary.id, message_id)
            and (message := self._message(summary.id, message_id)) is not None
        ]
        if not holders:
            raise NotFound(f"There is no message {message_id!r} in this project.")
        owner_session = next(
            (holder for holder, owner_id in holders if holder == owner_id), holders[0][0]
        )
        self._session_of_message[message_id] = owner_session
        return owner_session

    def _keys_of_kind(self, kind: str, prefix: Key) -> Sequence[Key]:
        summaries = self._store.list()
        if kind == "session":
            return [("session", self.project_id, summary.id) for summary in summaries]
        owner_id = prefix[1] if len(prefix) > 1 else None
        if kind == "part" and owner_id is not None:
            summaries = [s for s in summaries if self._may_have_message(s.id, owner_id)]
        keys: list[Key] = []
        for summary in summaries:
            if kind == "part" or owner_id in {None, summary.id}:
                keys += (
                    self._read_whole(summary.id, lambda state: _keys_in_state(kind, state)) or ()
                )
        return keys

    def _may_have_message(self, session_id: str, message_id: str) -> bool:
        """Return whether a session may have a message; a fast check in which only False is certain."""
        may_contain: Callable[..., bool] | None = getattr(self._store, "may_contain", None)
        journal = self._journal_of(session_id)
        if journal is not None:
            journal.flush_sync()
        try:
            return may_contain is None or may_contain(session_id, message_id.encode())
        except NotFound:
            return False

    def _message(self, session_id: str, message_id: str) -> Message | None:
        try:
            return self._read_value(session_id, lambda state: state.message(message_id))
        except NotFound:
            return None

    def _session(self, session_id: str) -> SessionInfo:
        session = self._read_value(
            session_id, lambda state: None if state.is_deleted else state.session
        )
        if session is None:
            raise NotFound(f"There is no session {session_id!r} in this project.")
        return session

    def _read_value(self, session_id: str, value_of: Callable[[State], T | None]) -> T | None:
        """Return ``value_of`` of a session's state; from memory if a running session has the answer there."""
        journal = self._journal_of(session_id)
        if journal is not None:
            is_partial, value = journal.read_state(
                lambda state: (state.is_partial, value_of(state))
            )
            if value is not None or not is_partial:
                return value
        return self._read_whole(session_id, value_of)

    def _read_whole(self, session_id: str, value_of: Callable[[State], T]) -> T:
        """Return ``value_of`` of a session's whole state, loading it if only a live window is in memory."""
        journal = self._journal_of(session_id)
        if journal is not None:
            is_partial, value = journal.read_state(
                lambda state: (True, None) if state.is_partial else (False, value_of(state))
            )
            if not is_partial:
                return value  # type: ignore[return-value]  # it was read, as is_partial says
            journal.flush_sync()
        return value_of(self._store.load(session_id))


def checked_key(key: Sequence[str]) -> Key:
    """Return a key as a tuple; raises UserError if its form is invalid."""
    texts = _key_texts(key, NO_KEY)
    if not texts or len(texts) != KEY_LENGTHS.get(texts[0]):
        raise UserError(NO_KEY.format(key=_quoted_key(texts), forms=_key_forms_text()))
    return texts


def _key_texts(key: Any, sentence: str) -> Key:
    is_list = isinstance(key, list | tuple)
    if not is_list or not all(isinstance(text, str) for text in key):
        raise UserError(
            sentence.format(key=repr(key)[:MAX_QUOTED_VALUE_CHARS], forms=_key_forms_text())
        )
    return tuple(key)


def _key_forms_text() -> str:
    *forms, last = KEY_FORMS.values()
    return f"{', '.join(forms)} and {last}"


def _quoted_key(key: Sequence[str]) -> str:
    return repr(list(key))[:MAX_QUOTED_KEY_CHARS]


def _session_value(session: SessionInfo, project_id: str) -> Json:
    """Return a session's JSON, including what an export omits: permission rules, share and revert."""
    fields = session_json(session) | {"projectID": project_id}
    if session.permission:
        fields["permission"] = [rule.model_dump(exclude_none=True) for rule in session.permission]
    if session.shared:
        fields["share"] = dict(session.share or {})
    if session.revert is not None:
        values = session.revert.items()
        fields["revert"] = {REVERT_FIELDS.get(name, name): value for name, value in values}
    return fields


def _keys_in_state(kind: str, state: State) -> Sequence[Key]:
    session = state.session
    if session is None:
        return []
    match kind:
        case "message":
            return [("message", session.id, slot.id) for slot in state.message_slots()]
        case "part":
            slots = state.message_slots()
            return [("part", slot.id, name) for slot in slots for name in slot.parts]
        case "session_diff":
            return [("session_diff", session.id)] if state.diff else []
        case _:
            return [("share", session.id)] if session.shared else []
