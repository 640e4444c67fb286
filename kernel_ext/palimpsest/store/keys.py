"""See the log as keys and values, as the seeds kept their sessions.

``session/{project}/{id}``, ``message/{session}/{id}``, ``part/{message}/{id}``,
``session_diff/{id}`` and ``share/{id}`` are a view: what is written becomes a record, what is read
is folded from records. It is also the layout of the OpenCode import and export.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any, cast
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from palimpsest.store.journal import Journal
from palimpsest.store.lease import this_owner
from palimpsest.store.state import State
from palimpsest.store.store import Store
from palimpsest.transcript.errors import NotFound, StorageFailed, UserError
from palimpsest.transcript.events import (
    Event,
    MessageRemoved,
    MessageUpdated,
    PartRemoved,
    PartUpdated,
    SessionCreated,
    SessionDiff,
    SessionUpdated,
)
from palimpsest.transcript.messages import MessageInfo
from palimpsest.transcript.parts import Part
from palimpsest.transcript.sessions import SessionInfo

Key = tuple[str, ...]
Json = Any

LENGTHS = {"session": 3, "message": 3, "part": 3, "session_diff": 2, "share": 2}
INFO: TypeAdapter[MessageInfo] = TypeAdapter(MessageInfo)
PART: TypeAdapter[Part] = TypeAdapter(Part)


class Keys:
    """Read and write a store by key.

    ``journal_of`` returns the open journal of a session that this kernel writes, or None: then a
    journal is opened for the moment of a write.
    """

    def __init__(
        self, store: Store, journal_of: Callable[[str], Journal | None] | None = None
    ) -> None:
        self._store = store
        self._journal_of = journal_of or (lambda _session_id: None)
        self._holders: dict[str, str] = {}

    def read(self, key: Sequence[str]) -> Json:
        """Return the value of a key; raises NotFound."""
        match _checked(key):
            case ("session", _, session_id):
                return _plain(self._session(session_id))
            case ("message", session_id, message_id):
                message = self._state(session_id).message(message_id)
                if message is not None:
                    return _plain(message.info)
            case ("part", message_id, part_id):
                part = self._state(self._holder(message_id)).part(message_id, part_id)
                if part is not None:
                    return _plain(part)
            case ("session_diff", session_id):
                return list(self._state(session_id).diff)
            case ("share", session_id):
                share = self._session(session_id).share
                if share is not None:
                    return share
            case _:
                pass
        raise _missing(key)

    def write(self, key: Sequence[str], value: Json) -> None:
        """Set the value of a key; a session that is not there yet begins."""
        session_id, event = self._event(_checked(key), value)
        create = isinstance(event, SessionUpdated) and not self._exists(session_id)
        if create and isinstance(event, SessionUpdated):
            event = SessionCreated(session=event.session)
        self._append(session_id, event, create=create)

    def update(self, key: Sequence[str], change: Callable[[Json], Json]) -> Json:
        """Replace a value by what ``change`` makes of it; changing it in place is enough."""
        value = self.read(key)
        changed = change(value)
        changed = value if changed is None else changed
        self.write(key, changed)
        return changed

    def remove(self, key: Sequence[str]) -> None:
        """Remove a key; one that is not there is ignored."""
        try:
            self.read(key)
        except NotFound:
            return
        match _checked(key):
            case ("session", _, session_id):
                self._store.delete(session_id)
            case ("message", session_id, message_id):
                self._append(session_id, MessageRemoved(message_id=message_id))
            case ("part", message_id, part_id):
                event = PartRemoved(message_id=message_id, part_id=part_id)
                self._append(self._holder(message_id), event)
            case ("session_diff", session_id):
                self._append(session_id, SessionDiff(diff=()))
            case ("share", session_id):
                session = self._session(session_id).model_copy(update={"share": None})
                self._append(session_id, SessionUpdated(session=session))
            case _:
                pass

    def list(self, prefix: Sequence[str]) -> Sequence[Key]:
        """Return the keys below a prefix, sorted."""
        prefix = tuple(prefix)
        kind = prefix[0] if prefix else ""
        if kind and kind not in LENGTHS:
            raise UserError(f"There are no keys below {'/'.join(prefix)!r}.")
        kinds = [kind] if kind else list(LENGTHS)
        keys = (key for name in kinds for key in self._keys(name, prefix))
        return sorted(key for key in keys if key[: len(prefix)] == prefix)

    def _keys(self, kind: str, prefix: Key) -> Sequence[Key]:
        summaries = self._store.list()
        if kind == "session":
            return [("session", self._store.project_id, summary.id) for summary in summaries]
        found: list[Key] = []
        only = prefix[1] if len(prefix) > 1 else None
        for summary in summaries:
            if kind == "part" or only in {None, summary.id}:
                found += _keys_of(kind, summary.id, self._state(summary.id))
        return found

    def _event(self, key: Key, value: Json) -> tuple[str, Event]:
        try:
            match key:
                case ("session", _, session_id):
                    session = SessionInfo.model_validate({**value, "id": session_id})
                    return session_id, SessionUpdated(session=session)
                case ("message", session_id, message_id):
                    fields = {**value, "id": message_id, "session_id": session_id}
                    return session_id, MessageUpdated(info=INFO.validate_python(fields))
                case ("part", message_id, part_id):
                    fields = {**value, "id": part_id, "message_id": message_id}
                    holder = self._holder(message_id, value.get("session_id"))
                    return holder, PartUpdated(part=PART.validate_python(fields))
                case ("session_diff", session_id):
                    return session_id, SessionDiff(diff=tuple(value))
                case ("share", session_id):
                    session = self._session(session_id).model_copy(update={"share": value})
                    return session_id, SessionUpdated(session=session)
                case _:
                    pass
        except (ValidationError, TypeError, AttributeError) as error:
            raise UserError(f"The value for {'/'.join(key)!r} does not fit: {error}.") from error
        raise _missing(key)

    def _append(self, session_id: str, event: Event, *, create: bool = False) -> None:
        journal = self._journal_of(session_id)
        if journal is not None:
            journal.append(event)
            kept = journal.flush_sync()
        else:
            owner = this_owner(f"keys-{uuid4().hex[:8]}")
            writer = self._store.acquire(session_id, owner, create=create)
            state = State() if create else self._store.load(session_id)
            journal = Journal(writer, state, clock=_now)
            journal.append(event)
            kept = journal.flush_sync()
            journal.close()
        if not kept:
            raise StorageFailed(journal.failed or "The disk did not answer in time.")

    def _state(self, session_id: str) -> State:
        journal = self._journal_of(session_id)
        if journal is not None:
            journal.flush_sync()
        return self._store.load(session_id)

    def _session(self, session_id: str) -> SessionInfo:
        session = self._state(session_id).session
        if session is None:
            raise NotFound(f"There is no session {session_id!r} in this store.")
        return session

    def _exists(self, session_id: str) -> bool:
        try:
            self._session(session_id)
        except NotFound:
            return False
        return True

    def _holder(self, message_id: str, session_id: str | None = None) -> str:
        """Return the session that has a message; looks at ``session_id`` first."""
        known = self._holders.get(message_id)
        others = [summary.id for summary in self._store.list()]
        for candidate in dict.fromkeys([known, session_id, *others]):
            if candidate is not None and self._holds(candidate, message_id):
                self._holders[message_id] = candidate
                return candidate
        raise NotFound(f"There is no message {message_id!r} in this store.")

    def _holds(self, session_id: str, message_id: str) -> bool:
        try:
            return self._state(session_id).message(message_id) is not None
        except NotFound:
            return False


def _keys_of(kind: str, session_id: str, state: State) -> Sequence[Key]:
    match kind:
        case "message":
            return [("message", session_id, slot.id) for slot in state.slots()]
        case "part":
            return [("part", slot.id, name) for slot in state.slots() for name in slot.parts]
        case "session_diff":
            return [("session_diff", session_id)] if state.diff else []
        case _:
            shared = state.session is not None and state.session.share is not None
            return [("share", session_id)] if shared else []


def _checked(key: Sequence[str]) -> Key:
    key = tuple(key)
    if not key or len(key) != LENGTHS.get(key[0]):
        raise _missing(key)
    return key


def _missing(key: Sequence[str]) -> NotFound:
    return NotFound(f"There is nothing at {'/'.join(key)!r}.")


def _plain(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value.model_dump(mode="json", exclude_none=True))


def _now() -> int:
    return time.time_ns() // 1_000_000
