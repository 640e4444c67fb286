"""The inputs of one request as a value, from which a request can be inspected without sending it.

Border: pure. The live session builds the inputs of the request that would come next; review builds
those of a recorded one. Both are projected by the functions of the live loop.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.context.budget.request_tokens import Count
from palimpsest.context.compaction.summary_request import project_summary
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.request_assembly.projection import (
    PROJECTION_VERSION,
    Convert,
    Projection,
    project,
)
from palimpsest.context.request_kinds.title_request import project_title
from palimpsest.context.request_kinds.turn_summary_request import project_turn_summary
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Facts, StepRequest
from palimpsest.transcript.context_values.neutral_messages import NeutralMessage
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import ModelInfo, ToolSpec


@dataclass(frozen=True, slots=True)
class RequestInputs:
    """The inputs of a request."""

    session_id: str
    view: View
    system: tuple[str, ...]
    tools: tuple[ToolSpec, ...]
    model: ModelInfo
    policy: Policy
    facts: Facts
    count: Count
    request_id: str = ""
    """Id of the recorded request; empty for a request that would be sent now."""
    version: int = PROJECTION_VERSION
    marker_id: str = ""
    """Id of the compaction marker whose summary is requested; empty for other requests."""
    title: bool = False
    """Whether the session's title is requested."""
    turns: tuple[str, ...] = ()
    """The turns that a request for a turn summary covers; empty for other requests."""
    summary_before: str = ""
    """The summary of the session so far, which a request for a turn summary contains."""
    tools_left_out: tuple[str, ...] = ()
    """Sentences about tools that are not offered: for the user; empty for a recorded request."""
    unloaded_count: int = 0
    """Number of messages that were not loaded from the journal, since a summary covers them."""


def project_inputs(
    inputs: RequestInputs,
    *,
    flatten: Convert = neutral_messages,
    count_tokens: Callable[[NeutralMessage], int] | None = None,
) -> Projection:
    """Return the request; ``flatten`` and ``count_tokens`` are passed to ``project``."""
    if inputs.title:
        return project_title(inputs.view, system=inputs.system, count=inputs.count)
    if inputs.turns:
        return project_turn_summary(
            inputs.view,
            turn_ids=inputs.turns,
            earlier_summary=inputs.summary_before,
            system=inputs.system,
            count=inputs.count,
        )
    if inputs.marker_id:
        return project_summary(
            inputs.view,
            marker_id=inputs.marker_id,
            system=inputs.system,
            model=inputs.model.ref,
            policy=inputs.policy,
            count=inputs.count,
        )
    return project(
        inputs.view,
        system=inputs.system,
        tools=inputs.tools,
        model=inputs.model,
        policy=inputs.policy,
        count=inputs.count,
        version=inputs.version,
        flatten=flatten,
        count_tokens=count_tokens,
    )


def recorded_inputs(
    record: StepRequest,
    view: View,
    read_blob: Callable[[str], bytes],
    counter: Callable[[str], Count],
    session_id: str,
    session: SessionInfo | None = None,
) -> RequestInputs:
    """Return the inputs of a recorded request; ``read_blob`` returns a blob by its hash.

    ``view`` and ``session`` are as the session was when the request was recorded.
    """
    system: list[str] = json.loads(read_blob(record.system.sha256))
    tools = json.loads(read_blob(record.tools.sha256))
    return RequestInputs(
        session_id=session_id,
        view=view,
        system=tuple(system),
        tools=tuple(ToolSpec.model_validate(spec) for spec in tools),
        model=record.model,
        policy=recorded_policy(record, read_blob),
        facts=record.facts,
        count=counter(record.facts.estimator),
        request_id=record.id,
        version=record.projection,
        marker_id=_marker_of(record, view.messages),
        title=record.purpose == "title",
        turns=record.turns,
        summary_before=session.about if session is not None else "",
    )


def recorded_policy(record: StepRequest, read_blob: Callable[[str], bytes]) -> Policy:
    """Return the context policy of a recorded request."""
    if record.policy_blob is None:
        return record.policy or Policy()
    stored_policy = json.loads(read_blob(record.policy_blob.sha256))
    compact = stored_policy.get("compact") if isinstance(stored_policy, dict) else None
    if isinstance(compact, dict):
        # Older policies lack these fields: summaries were not audited, and failed ones were not counted.
        compact.setdefault("audit", False)
        compact.setdefault("max_failed", compact.get("max_attempts", 3))
    return Policy.model_validate(stored_policy)


def _marker_of(record: StepRequest, messages: Messages) -> str:
    if record.purpose != "compaction":
        return ""
    for message in messages:
        if message.id == record.message_id and isinstance(message.info, AssistantMessage):
            return message.info.parent_id
    return ""
