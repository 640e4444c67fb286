"""What a session's log holds of requests beside their items: their exact form, system prompt and tools.

A request of a session of ours is rebuilt to the byte, and its hash is compared with the recorded one; a
recording of another agent has at most the system prompt and the tools.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

from palimpsest.review.reconstruction.requests import Rebuilt, RecordedBlobs, rebuild
from palimpsest.store.bounded_json import json_value
from palimpsest.store.interface import Store
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.session_record.events import (
    SessionCreated,
    SessionUpdated,
    StepRequested,
)

_SENT = frozenset({"step.requested"})
_SESSION = frozenset({"session.created", "session.updated"})


class SentRequests:
    """Reads the requests of one session from its log, each when it is asked for."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id

    def of_session(self, session_id: str) -> "SentRequests":
        """Return what the log of another session of the same store holds."""
        return self if session_id == self._session_id else SentRequests(self._store, session_id)

    def rebuilt(self, message_id: str) -> Rebuilt | None:
        """Return the request whose answer is a message; None where none was recorded, or contents of it are gone.

        Raises UserError for a request that a newer version made.
        """
        found = self._newest.get(message_id)
        try:
            return None if found is None else rebuild(self._store, self._session_id, found.id)
        except (OSError, NotFound):
            return None

    @cached_property
    def policies(self) -> Mapping[str, Policy]:
        """The context policy under which each answer was asked for, by its message; without those that cannot be read."""
        blobs, found = RecordedBlobs(self._store), {}
        for answer, request in self._newest.items():
            if request.policy is not None or request.policy_blob is not None:
                with suppress(OSError, NotFound, ValueError):
                    found[answer] = blobs.policy(request)
        return found

    @cached_property
    def _newest(self) -> Mapping[str, StepRequest]:
        """The newest request of each answer: one that was tried again has several."""
        return {
            record.event.request.message_id: record.event.request
            for record in self._store.read(self._session_id, only=_SENT)
            if isinstance(record.event, StepRequested)
            and record.event.request.purpose == "step"
            and record.event.request.message_id is not None
        }

    @cached_property
    def system(self) -> str:
        """The system prompt that came with a recording; empty where there is none."""
        return self._text("system")

    @cached_property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """The tools that came with a recording."""
        try:
            found = json_value(self.tools_text or "[]")
        except ValueError:
            return ()
        return tuple(one for one in found if isinstance(one, dict))

    @cached_property
    def tools_text(self) -> str:
        """The same as text; empty where there are none."""
        found = self._text("tools")
        return "" if found == "[]" else found

    def _text(self, name: str) -> str:
        kept = self._imported.get(name)
        sha256 = kept.get("sha256") if isinstance(kept, dict) else None
        if not isinstance(sha256, str):
            return ""
        try:
            return self._store.get_blob(sha256).decode("utf-8", "replace")
        except (OSError, NotFound):
            return ""

    @cached_property
    def _imported(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = {}
        for record in self._store.read(self._session_id, only=_SESSION):
            if isinstance(record.event, SessionCreated | SessionUpdated):
                noted = (record.event.session.metadata or {}).get("imported")
                found = noted if isinstance(noted, dict) else found
        return found
