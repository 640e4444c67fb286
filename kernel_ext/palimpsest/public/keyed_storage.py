"""Read and write sessions by key, as OpenCode's ``Storage`` does; ``palimpsest.keyed_storage()``.

Border: every change is written like any other: to the log of the session, by the kernel that writes
it, and not while its agent works.
"""

from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

from palimpsest.app.wiring import App
from palimpsest.store.exchange.key_changes import (
    DIFF_READ_ONLY,
    NO_SESSION,
    SHARE_READ_ONLY,
    Change,
    changed_session,
    message_change,
    part_change,
    plain_value,
    removal_change,
)
from palimpsest.store.exchange.keyed_view import Key, KeyedView, checked_key
from palimpsest.store.interface import Store
from palimpsest.transcript.errors import NotFound, UserError

Json = Any
T = TypeVar("T")


class KeyedStorage:
    """The sessions of a project by key: ``read``, ``write``, ``update``, ``remove``, ``list``."""

    def __init__(self, app: App, keys: KeyedView, store: Store) -> None:
        self._app = app
        self._keys = keys
        self._store = store

    @property
    def project_id(self) -> str:
        """The project's id, as it appears in keys of sessions.

        >>> storage.list(["session", storage.project_id])[0][2] == session.id
        True
        """
        return self._keys.project_id

    def list(self, prefix: Sequence[str] = ()) -> Sequence[Key]:
        """Return the keys below a prefix, sorted.

        >>> storage.list(["message", session.id]) == [
        ...     ("message", session.id, message.id) for message in session.messages
        ... ]
        True
        """
        return self._keys.list(prefix)

    def read(self, key: Sequence[str]) -> Json:
        """Return the JSON at a key, with OpenCode's field names; raises NotFound.

        >>> storage.read(["session", storage.project_id, session.id])["projectID"] == storage.project_id
        True
        """
        return self._keys.value_of_key(key)

    def write(self, key: Sequence[str], value: Json) -> None:
        """Write a value, through the log of its session.

        A message or part is added or replaced; of a session, only the title and whether it is archived
        can be written. Raises UserError that names the right command for everything else, SessionBusy
        while the session's agent works, and SessionHeld when another kernel writes the session.

        >>> storage.write(["session", storage.project_id, session.id], {"title": "Penguins"})
        >>> session.title
        'Penguins'
        """
        full_key = checked_key(key)
        match full_key:
            case ("session", _, _):
                self._write_session(full_key, plain_value(full_key, value))
            case ("message", session_id, _):
                self._session_value(["session", self.project_id, session_id])
                self._record_change(
                    session_id, message_change(full_key, plain_value(full_key, value))
                )
            case ("part", message_id, _):
                new_value = plain_value(full_key, value)
                given_session_id = new_value.get("sessionID")
                given_session_id = given_session_id if isinstance(given_session_id, str) else None
                session_id = self._keys.session_of_message(message_id, given_session_id)
                self._record_change(
                    session_id, part_change(self._store, session_id, full_key, new_value)
                )
            case ("share", _):
                raise UserError(SHARE_READ_ONLY)
            case _:
                raise UserError(DIFF_READ_ONLY)

    def update(self, key: Sequence[str], change: Callable[[Json], Json]) -> Json:
        """Write the value that ``change`` returns or has changed in place; returns the value stored then.

        >>> def louder(part):
        ...     part["text"] = part["text"].upper()
        >>> message = session.messages[0]
        >>> storage.update(["part", message.id, message.parts[0].id], louder)["text"]
        'HELLO.'
        """
        value = self.read(key)
        changed_value = change(value)
        self.write(key, value if changed_value is None else changed_value)
        return self.read(key)

    def remove(self, key: Sequence[str]) -> None:
        """Remove the value at a key; does nothing for a missing value.

        A session is deleted as by ``session.delete()``, a share with its page. A message or part is removed from the
        transcript; its lines stay in the log.

        >>> message = session.messages[-1]
        >>> storage.remove(["message", session.id, message.id])
        >>> message.id in [message.id for message in session.messages]
        False
        """
        full_key = checked_key(key)
        try:
            self.read(full_key)
        except NotFound:
            return
        match full_key:
            case ("session", _, session_id):
                self._wait_for(self._app.workspace.delete(session_id))
            case ("message", session_id, _):
                self._record_change(session_id, removal_change(full_key))
            case ("part", message_id, _):
                self._record_change(
                    self._keys.session_of_message(message_id), removal_change(full_key)
                )
            case ("share", session_id):
                self._wait_for(self._app.workspace.sharing.unshare(session_id))
            case _:
                raise UserError(DIFF_READ_ONLY)

    def _write_session(self, key: Key, value: dict[str, Any]) -> None:
        title, is_archived = changed_session(self._session_value(key), value)
        workspace = self._app.workspace
        if title is not None:
            self._wait_for(workspace.retitle(key[2], title))
        if is_archived is not None:
            self._wait_for(workspace.archive(key[2], archived=is_archived))

    def _session_value(self, key: Sequence[str]) -> Json:
        try:
            return self.read(key)
        except NotFound:
            raise NotFound(NO_SESSION.format(name=key[2])) from None

    def _record_change(self, session_id: str, change: Change) -> None:
        self._wait_for(self._app.workspace.record(session_id, change))

    def _wait_for(self, coroutine: Coroutine[Any, Any, T]) -> T:
        future: Future[T] = self._app.engine.submit(coroutine)
        return future.result()

    def __repr__(self) -> str:
        return f"<KeyedStorage of project {self.project_id}>"
