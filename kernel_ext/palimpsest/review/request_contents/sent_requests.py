"""The stored data of requests beside their items: their exact form, system prompt and tools.

A request of a Palimpsest session is rebuilt to the byte, and its hash is compared with the recorded one; a recording of
another agent has at most the system prompt and the tools.
"""

from collections.abc import Mapping
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from palimpsest.recordings.reconstruction.requests import Rebuilt

_REQUEST_EVENTS = frozenset({"step.requested"})
_SESSION_EVENTS = frozenset({"session.created", "session.updated"})


class SentRequests:
    """Reads the requests of one session from its log, each when it is needed."""

    def __init__(self, store: Store, session_id: str) -> None:
        self._store = store
        self._session_id = session_id

    def of_session(self, session_id: str) -> "SentRequests":
        """Return the stored requests of another session of the same store."""
        return self if session_id == self._session_id else SentRequests(self._store, session_id)

    def rebuilt_request(self, message_id: str) -> "Rebuilt | None":
        """Return the rebuilt request of the answer with a message id; None where its content is gone. Raises UserError for a newer version's."""
        request = self._newest_requests.get(message_id)
        if request is None:
            return None
        from palimpsest.recordings.reconstruction.requests import rebuild

        try:
            return rebuild(self._store, self._session_id, request.id)
        except (OSError, NotFound):
            return None

    @cached_property
    def policies(self) -> Mapping[str, Policy]:
        """The context policy of each answer's request, by the id of the answer's message; unreadable policies are left out."""
        requests = {
            answer_id: request
            for answer_id, request in self._newest_requests.items()
            if request.policy is not None or request.policy_blob is not None
        }
        policies_by_answer: dict[str, Policy] = {}
        if requests:
            from palimpsest.recordings.reconstruction.requests import RecordedBlobs

            blobs = RecordedBlobs(self._store)
            for answer_id, request in requests.items():
                with suppress(OSError, NotFound, ValueError):
                    policies_by_answer[answer_id] = blobs.policy(request)
        return policies_by_answer

    @cached_property
    def _newest_requests(self) -> Mapping[str, StepRequest]:
        """The newest request of each answer, by the id of the answer's message; a retried answer has several requests."""
        return {
            record.event.request.message_id: record.event.request
            for record in self._store.read(self._session_id, only=_REQUEST_EVENTS)
            if isinstance(record.event, StepRequested)
            and record.event.request.purpose == "step"
            and record.event.request.message_id is not None
        }

    @cached_property
    def system(self) -> str:
        """A recording's separate system prompt; empty where there is none."""
        return self._imported_text("system")

    @cached_property
    def tools(self) -> tuple[Mapping[str, Any], ...]:
        """A recording's separate tools."""
        try:
            specs = json_value(self.tools_text or "[]")
        except ValueError:
            return ()
        return tuple(tool for tool in specs if isinstance(tool, dict))

    @cached_property
    def tools_text(self) -> str:
        """The tools as text; empty where there are none."""
        text = self._imported_text("tools")
        return "" if text == "[]" else text

    def _imported_text(self, field_name: str) -> str:
        blob_reference = self._import_facts.get(field_name)
        sha256 = blob_reference.get("sha256") if isinstance(blob_reference, dict) else None
        if not isinstance(sha256, str):
            return ""
        try:
            return self._store.get_blob(sha256).decode("utf-8", "replace")
        except (OSError, NotFound):
            return ""

    @cached_property
    def _import_facts(self) -> Mapping[str, Any]:
        facts: Mapping[str, Any] = {}
        for record in self._store.read(self._session_id, only=_SESSION_EVENTS):
            if isinstance(record.event, SessionCreated | SessionUpdated):
                import_note = (record.event.session.metadata or {}).get("imported")
                facts = import_note if isinstance(import_note, dict) else facts
        return facts
