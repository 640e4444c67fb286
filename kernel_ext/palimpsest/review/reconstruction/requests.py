"""Rebuild any recorded request as the model was sent it, from the journal and its blobs alone.

*Rebuild* means projecting with the recorded decisions and the recorded projection version; the
hash must match what was sent. The functions are those of the live loop.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from palimpsest.context.compaction.summary_request import project_summary
from palimpsest.context.request_assembly.projection import VERSIONS, project
from palimpsest.context.request_kinds.title_request import project_title
from palimpsest.context.request_kinds.turn_summary_request import project_turn_summary
from palimpsest.context.visible_messages import View
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.provider_messages import (
    message_hash,
    request_hash,
    to_provider,
    with_marks,
)
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.provider_profile.older_profiles import profile_at
from palimpsest.transcript.session_record.events import Record, StepRequested
from palimpsest.transcript.values import ToolSpec


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A request as it was sent."""

    record: StepRequest
    request: ModelRequest
    matches: bool
    """The rebuilt messages have the recorded hash."""
    opaque_by: str | None = None
    """The rule of the hook that wrote the whole request; it is shown as stored, not made again."""
    neutral: NeutralMessages = ()
    """The messages before they are converted to the provider's format; none where a hook wrote them."""


def requests(store: Store, session_id: str) -> tuple[StepRequest, ...]:
    """List the requests of a session, in order."""
    return tuple(
        record.event.request
        for record in store.read(session_id)
        if isinstance(record.event, StepRequested)
    )


def rebuild(store: Store, session_id: str, request_id: str) -> Rebuilt:
    """Rebuild one request; raises NotFound, or UserError for a projection this version lacks."""
    state = State()
    for record in store.read(session_id):
        state.apply(record)
        event = record.event
        if isinstance(event, StepRequested) and event.request.id == request_id:
            return _rebuilt(store, session_id, state, event.request)
    raise NotFound(f"There is no request {request_id!r} in session {session_id!r}.")


def rebuild_all(store: Store, session_id: str, records: Iterable[Record]) -> Iterator[Rebuilt]:
    """Rebuild every request in one pass over the journal."""
    state = State()
    for record in records:
        state.apply(record)
        if isinstance(record.event, StepRequested):
            yield _rebuilt(store, session_id, state, record.event.request)


def _rebuilt(store: Store, session_id: str, state: State, record: StepRequest) -> Rebuilt:
    if record.projection not in VERSIONS:
        raise UserError(
            f"Request {record.id} was made by projection {record.projection}, and this version "
            f"of Palimpsest knows {', '.join(map(str, VERSIONS))}. Open it with a newer version."
        )
    system: list[str] = _blob(store, record.system.sha256)
    tools = tuple(ToolSpec.model_validate(spec) for spec in _blob(store, record.tools.sha256))
    messages = state.messages()
    policy = policy_of(store, record)
    if record.opaque is not None:
        return _opaque(store, session_id, record, tools, policy)
    view = View.of(messages, state.decisions, store.get_blob)
    marked = _marker_of(state, record)
    if record.purpose == "title":
        projection = project_title(view, system=tuple(system), count=len)
    elif record.purpose == "turn-summary":
        projection = project_turn_summary(
            view,
            turns=record.turns,
            before=state.session.about if state.session is not None else "",
            system=tuple(system),
            count=len,
        )
    elif marked:
        projection = project_summary(
            view,
            marker_id=marked,
            system=tuple(system),
            model=record.model.ref,
            policy=policy,
            count=len,
        )
    else:
        projection = project(
            view,
            system=tuple(system),
            tools=tools,
            model=record.model,
            policy=policy,
            count=len,
            version=record.projection,
        )
    sent = to_provider(
        projection.messages, record.model, profile_at(record.model.ref, record.projection)
    )
    request = ModelRequest(
        model=record.model,
        messages=with_marks(sent, record.marks),
        tools=tools,
        parameters=dict(record.parameters),
        session_id=session_id,
        purpose=record.purpose,
        refusals=policy.overflow.refusals,
    )
    sha256 = request_hash(tuple(message_hash(message) for message in sent))
    return Rebuilt(record, request, matches=sha256 == record.sha256, neutral=projection.messages)


def _opaque(
    store: Store, session_id: str, record: StepRequest, tools: tuple[ToolSpec, ...], policy: Policy
) -> Rebuilt:
    """Return a request that a hook wrote: it is stored whole, since it is not recorded how it was made."""
    sent = tuple(_blob(store, record.opaque.sha256)) if record.opaque is not None else ()
    request = ModelRequest(
        model=record.model,
        messages=sent,
        tools=tools,
        parameters=dict(record.parameters),
        session_id=session_id,
        purpose=record.purpose,
        refusals=policy.overflow.refusals,
    )
    sha256 = request_hash(tuple(message_hash(message) for message in sent))
    return Rebuilt(record, request, matches=sha256 == record.sha256, opaque_by=record.opaque_by)


def _marker_of(state: State, record: StepRequest) -> str:
    """Return the id of the marker whose summary a request writes; empty for other requests."""
    if record.purpose != "compaction" or record.message_id is None:
        return ""
    message = state.message(record.message_id)
    info = message.info if message is not None else None
    return info.parent_id if isinstance(info, AssistantMessage) else ""


class RecordedBlobs:
    """Reads the blobs and the policies of recorded requests, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._blobs: dict[str, bytes] = {}
        self._policies: dict[str, Policy] = {}

    def read(self, sha256: str) -> bytes:
        """Return a blob by its hash."""
        if sha256 not in self._blobs:
            self._blobs[sha256] = self._store.get_blob(sha256)
        return self._blobs[sha256]

    def policy(self, request: StepRequest) -> Policy:
        """Return the policy that a request was made under."""
        key = request.policy_blob.sha256 if request.policy_blob is not None else request.id
        if key not in self._policies:
            self._policies[key] = policy_of(self._store, request)
        return self._policies[key]


def policy_of(store: Store, record: StepRequest) -> Policy:
    """Return the context policy that a request was made under."""
    if record.policy_blob is None:
        return record.policy or Policy()
    kept = json.loads(store.get_blob(record.policy_blob.sha256))
    compact = kept.get("compact") if isinstance(kept, dict) else None
    if isinstance(compact, dict):
        # Older policies lack these fields: summaries were not audited, and failed ones were not counted.
        compact.setdefault("audit", False)
        compact.setdefault("max_failed", compact.get("max_attempts", 3))
    return Policy.model_validate(kept)


def _blob(store: Store, sha256: str) -> Any:
    return json.loads(store.get_blob(sha256))
