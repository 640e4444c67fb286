"""Rebuild any recorded request as it was sent to the model, from the journal and its blobs alone.

*Rebuild* means to project with the recorded decisions and the recorded projection version; the hash must match that of
the sent request. The functions are those of the live loop.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache

from palimpsest.context.request_assembly.projection import VERSIONS
from palimpsest.context.request_kinds.request_inputs import (
    project_inputs,
    recorded_inputs,
    recorded_policy,
)
from palimpsest.context.visible_messages import View, whole_output
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
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.provider_profile.older_profiles import profile_at
from palimpsest.transcript.session_record.events import Record, StepRequested


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A request as it was sent."""

    record: StepRequest
    request: ModelRequest
    matches: bool
    """Whether the rebuilt messages have the recorded hash."""
    opaque_by: str | None = None
    """The rule of the hook that wrote the whole request, which is then read from its blob."""
    neutral: NeutralMessages = ()
    """The messages before they are converted to the provider's format; none where a hook wrote them."""


def requests(store: Store, session_id: str) -> tuple[StepRequest, ...]:
    """Return the requests of a session, in order."""
    return tuple(
        record.event.request
        for record in store.read(session_id)
        if isinstance(record.event, StepRequested)
    )


def rebuild(store: Store, session_id: str, request_id: str) -> Rebuilt:
    """Rebuild one request; raises NotFound, or UserError for a projection that this version does not have."""
    state = State()
    for record in store.read(session_id):
        state.apply(record)
        event = record.event
        if isinstance(event, StepRequested) and event.request.id == request_id:
            return _rebuilt_request(store, session_id, state, event.request)
    raise NotFound(f"There is no request {request_id!r} in session {session_id!r}.")


def rebuild_all(store: Store, session_id: str, records: Iterable[Record]) -> Iterator[Rebuilt]:
    """Rebuild every request in one pass over the journal's records, and yield them in order."""
    state = State()
    for record in records:
        state.apply(record)
        if isinstance(record.event, StepRequested):
            yield _rebuilt_request(store, session_id, state, record.event.request)


def _rebuilt_request(
    store: Store, session_id: str, state: State, recorded_request: StepRequest
) -> Rebuilt:
    if recorded_request.projection not in VERSIONS:
        raise UserError(
            f"Request {recorded_request.id} was made by projection {recorded_request.projection}, and this version "
            f"of Palimpsest knows {', '.join(map(str, VERSIONS))}. Open it with a newer version."
        )
    read_blob, view = store.get_blob, View(state.messages(), state.decisions, {})
    if recorded_request.opaque is None:
        view = View.of(view.messages, view.decisions, read_blob)
    inputs = recorded_inputs(
        recorded_request, view, read_blob, lambda _: len, session_id, state.session
    )
    neutral_messages: NeutralMessages = ()
    if recorded_request.opaque is not None:
        # The hook's request is stored whole, since it is not recorded how the hook made it.
        sent_messages = marked_messages = tuple(
            json.loads(read_blob(recorded_request.opaque.sha256))
        )
    else:
        neutral_messages = project_inputs(inputs).messages
        profile = profile_at(recorded_request.model.ref, recorded_request.projection)
        sent_messages = to_provider(neutral_messages, recorded_request.model, profile)
        marked_messages = with_marks(sent_messages, recorded_request.marks)
    request = ModelRequest(
        model=recorded_request.model,
        messages=marked_messages,
        tools=inputs.tools,
        parameters=dict(recorded_request.parameters),
        session_id=session_id,
        purpose=recorded_request.purpose,
        refusals=inputs.policy.overflow.refusals,
    )
    sha256 = request_hash(tuple(map(message_hash, sent_messages)))
    return Rebuilt(
        recorded_request,
        request,
        sha256 == recorded_request.sha256,
        recorded_request.opaque_by,
        neutral_messages,
    )


class RecordedBlobs:
    """Reads the blobs and the policies of recorded requests, each once."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.read: Callable[[str], bytes] = cache(store.get_blob)
        """Returns a blob, given its hash."""
        self._policies: dict[str, Policy] = {}

    def policy(self, request: StepRequest) -> Policy:
        """Return the policy under which a request was made."""
        policy_key = request.policy_blob.sha256 if request.policy_blob is not None else request.id
        if policy_key not in self._policies:
            self._policies[policy_key] = policy_of(self._store, request)
        return self._policies[policy_key]


def whole_result(part: ToolPart, read_blob: Callable[[str], bytes]) -> str | None:
    """Return the whole output of a completed call; None where it is no longer stored."""
    assert isinstance(part.state, ToolCompleted)
    blob = part.state.blob
    if blob is None:
        return part.state.output
    try:
        content = read_blob(blob.sha256)
    except NotFound:
        return None
    return whole_output(part, {blob.sha256: content.decode("utf-8", "surrogatepass")})


def policy_of(store: Store, recorded_request: StepRequest) -> Policy:
    """Return the context policy under which a request was made."""
    return recorded_policy(recorded_request, store.get_blob)
