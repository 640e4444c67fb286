"""Build a model request from the session with its record, from which it can be built again; shrink its pictures."""

import base64
import binascii
import functools
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import (
    BudgetCheck,
    answer_tokens,
    check_budget,
    reserved_tokens,
    usage_ratio,
)
from palimpsest.context.compaction.summary_request import project_summary
from palimpsest.context.conversion.part_conversion import cache_mark_positions
from palimpsest.context.reduction.picture_limits import SentPicture, ShrunkPicture
from palimpsest.context.request_assembly.fit import DecisionBatch, MessageRequest
from palimpsest.context.request_assembly.projection import PROJECTION_VERSION, Projection, project
from palimpsest.context.visible_messages import View
from palimpsest.loop.run_inputs.request_chunks import (
    Assembly,
    RecordedItems,
    RequestTerms,
    assemble_request,
    recorded_items,
)
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.provider_messages import request_hash, with_marks
from palimpsest.paused_collection import collection_paused
from palimpsest.processor.session_log import GuardedState, SessionLog
from palimpsest.store.interface import Store
from palimpsest.tools.calls.images import SHRUNK_SIDE_PIXELS, smaller_image
from palimpsest.transcript.context_values.decisions import ContextItem, Facts, Purpose, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.messages import AssistantMessage, Messages, reported_usage
from palimpsest.transcript.session_record.events import DecisionMade
from palimpsest.transcript.strings.surrogates import joined_surrogates
from palimpsest.transcript.values import BlobRef, ModelInfo, ToolSpec

JSON_MIME = "application/json"
MAX_URL_HEAD_CHARS = 40
"""Maximum characters of a ``data:`` url before its data."""


@dataclass(frozen=True, slots=True)
class ReadyRequest:
    """A request ready to send, its record, and whether it fits."""

    request: ModelRequest
    record: StepRequest
    budget_check: BudgetCheck
    projection: Projection
    """The request before it was converted to the provider's format."""


def facts_for(log: SessionLog, setup: StepSetup, used_tokens: int | None = None) -> Facts:
    """Return the facts for deciders before a request; ``used_tokens`` defaults to those of the request before."""
    state = log.state
    if used_tokens is None:
        used_tokens = state.request.tokens if state.request is not None else 0
    now, info, cache_age_seconds = log.clock(), setup.info, None
    if info.caching and state.request is not None and state.request.model.ref == info.ref:
        # The provider read this session's prompt last with the request before.
        cache_age_seconds = max(now - state.request.facts.now, 0) / 1000
    return Facts(
        now=now,
        estimator=setup.policy.estimator,
        calibration=calibration_ratio(state, setup.info),
        window=setup.info.window,
        reserve=reserved_tokens(setup.policy, setup.info),
        cache_age_seconds=cache_age_seconds,
        used_tokens=used_tokens,
    )


def calibration_ratio(state: GuardedState, info: ModelInfo) -> float:
    """Return the ratio of reported to estimated prompt tokens of the newest request, if of the same model."""
    request = state.request
    if request is None or request.model.ref != info.ref or not request.tokens:
        return 1.0
    message = state.message(request.message_id) if request.message_id else None
    if message is None or not isinstance(message.info, AssistantMessage):
        return 1.0
    usage = reported_usage(message, message.info, request.id)
    return usage_ratio(usage, request.tokens)


def build_request(
    services: RequestServices,
    setup: StepSetup,
    message_id: str,
    parameters: dict[str, Any],
    purpose: Purpose = "step",
    *,
    marker_id: str = "",
) -> ReadyRequest:
    """Project the session to a request; the caller journals ``record_request`` before it sends.

    For the purpose ``compaction``, ``marker_id`` names the marker that requests the summary.
    """
    assembly = assembly_of(services, setup, marker_id)
    total_tokens = assembly.projection.total
    facts = facts_for(services.log, setup, total_tokens)
    budget_check = check_budget(total_tokens, facts)
    return record_request(
        services, setup, assembly, facts, budget_check, message_id, parameters, purpose
    )


@collection_paused()
def assembly_of(services: RequestServices, setup: StepSetup, marker_id: str = "") -> Assembly:
    """Convert the session as it is journaled now to its provider's format; nothing is recorded yet."""
    messages = services.log.state.messages()
    assembly = None if marker_id else cached_assembly(services, setup, messages)
    return assembly or assembly_of_view(services.log.view(messages), setup, marker_id)


def assembly_of_view(view: View, setup: StepSetup, marker_id: str = "") -> Assembly:
    """Convert a whole view to its provider's format; its decisions may be only proposed."""
    return assemble_request(
        project_request(view, setup, marker_id), setup.info, setup.count, view.messages
    )


def record_request(
    services: RequestServices,
    setup: StepSetup,
    assembly: Assembly,
    facts: Facts,
    budget_check: BudgetCheck,
    message_id: str,
    parameters: dict[str, Any],
    purpose: Purpose = "step",
) -> ReadyRequest:
    """Return a request ready to be journaled and sent, and whether it fits."""
    projection, items = assembly.projection, assembly.items
    cache_marks = cache_mark_positions([message["role"] for message in assembly.bodies], setup.info)
    same_count = _same_item_count(services.log.state.items, items)
    max_answer_tokens = answer_tokens(projection.total, facts, setup.info, setup.policy.overflow)
    parameters = {"max_tokens": max_answer_tokens} | parameters
    step_request = StepRequest(
        id=services.log.ids.new("req"),
        purpose=purpose,
        message_id=message_id,
        model=setup.info,
        parameters=parameters,
        policy_blob=_store_value(services, "policy", setup.policy),
        projection=PROJECTION_VERSION,
        facts=facts,
        system=_store_value(services, "system", setup.system),
        tools=_store_value(services, "tools", setup.specs),
        same=same_count,
        items=items[same_count:],
        marks=cache_marks,
        sha256=request_hash(assembly.hashes),
        tokens=projection.total,
        kinds=assembly.tokens_by_kind,
    )
    request = ModelRequest(
        model=setup.info,
        messages=with_marks(assembly.bodies, cache_marks),
        tools=setup.specs,
        parameters=parameters,
        session_id=services.log.session_id,
        purpose=purpose,
        refusals=setup.policy.overflow.refusals,
    )
    return ReadyRequest(request, step_request, budget_check, projection)


def _store_value(
    services: RequestServices, name: str, value: Policy | tuple[str | ToolSpec, ...]
) -> BlobRef:
    """Store a rarely changing value as a blob, again only when it changes."""

    def store_blob() -> BlobRef:
        if isinstance(value, Policy):
            return services.log.blobs.put_blob(json_bytes(value.model_dump()), JSON_MIME)
        plain_items = [item.model_dump() if isinstance(item, ToolSpec) else item for item in value]
        return services.log.blobs.put_blob(json_bytes(plain_items), JSON_MIME)

    return services.cache.stored_blob(name, value, store_blob)


def cached_assembly(
    services: RequestServices, setup: StepSetup, messages: Messages
) -> Assembly | None:
    """Return the request of these messages from the session's cache; None where the cache cannot make it."""
    state = services.log.state

    def comparable_request() -> StepRequest | None:
        """Return the newest request where its model and token counter are those of ``setup``."""
        request = state.request
        if request is None or request.model.ref != setup.info.ref:
            return None
        return request if request.facts.estimator == setup.policy.estimator else None

    def known_items() -> RecordedItems:
        return recorded_items(state.items) if comparable_request() is not None else {}

    def known_tools_tokens() -> int | None:
        request = comparable_request()
        if request is None or request.tools != _store_value(services, "tools", setup.specs):
            return None
        return request.kinds.get("tools")

    terms = RequestTerms(setup.system, setup.specs, setup.info, setup.policy, setup.count)
    return services.cache.assembly(
        messages,
        state.decisions,
        terms,
        services.log.blobs.get_blob,
        known_items,
        known_tools_tokens,
    )


def project_request(view: View, setup: StepSetup, marker_id: str = "") -> Projection:
    """Return the request of a view before it is converted; ``marker_id`` is the marker of a requested summary."""
    if marker_id:
        return project_summary(
            view,
            marker_id=marker_id,
            system=setup.system,
            model=setup.info.ref,
            policy=setup.policy,
            count=setup.count,
        )
    return project(
        view,
        system=setup.system,
        tools=setup.specs,
        model=setup.info,
        policy=setup.policy,
        count=setup.count,
    )


def json_bytes(value: Any) -> bytes:
    """Return a value as the JSON of a blob."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    # Lone surrogates are replaced as in sent requests.
    return joined_surrogates(text).encode()


def _same_item_count(items_before: Sequence[ContextItem], items_now: Sequence[ContextItem]) -> int:
    same_count = 0
    for old, new in zip(items_before, items_now, strict=False):
        # An item counted by another policy's estimator differs, and is recorded again with all later items.
        if old is not new and (old.sha256, old.tokens) != (new.sha256, new.tokens):
            break
        same_count += 1
    return same_count


def message_request(
    log: SessionLog,
    setup: StepSetup,
    project: Callable[[View], Projection],
    view: View | None = None,
    new_id: Callable[[], str] | None = None,
) -> MessageRequest:
    """Return the next request; of ``view`` where it is only proposed."""
    return MessageRequest(
        view=view or log.view(),
        policy=setup.policy,
        facts=facts_for(log, setup),
        count=setup.count,
        project=project,
        new_id=new_id or functools.partial(log.ids.new, "dec"),
        model=setup.info,
        shrink_picture=functools.partial(shrink_picture, log.blobs),
    )


def shrink_picture(
    blobs: Store, picture: SentPicture, max_side: int, max_bytes: int | None
) -> ShrunkPicture | None:
    """Return a stored smaller version of a picture that fits; None where none can be made or stored.

    The stored version is sent from then on, so that a request can be rebuilt byte by byte under any version of Pillow;
    without Pillow, which comes with matplotlib, pictures are left out instead. ``max_side`` is in pixels, 0 where
    unknown; ``max_bytes`` counts the version as Base64 in a ``data:`` url.
    """
    try:
        content = base64.b64decode(picture.url.partition(",")[2])
    except (binascii.Error, ValueError):
        return None
    max_image_bytes = None if max_bytes is None else (max_bytes - MAX_URL_HEAD_CHARS) * 3 // 4
    image = smaller_image(content, max_side or SHRUNK_SIDE_PIXELS, max_image_bytes)
    if image is None:
        return None
    mime, small_content, size = image
    try:
        blob = blobs.put_blob(small_content, mime)
    except StorageFailed:
        return None
    url_chars = len(f"data:{mime};base64,") + len(base64.b64encode(small_content))
    return ShrunkPicture(f"blob:{blob.sha256}", mime, size, url_chars)


def write_decisions(log: SessionLog, batch: DecisionBatch) -> None:
    """Journal a batch of decisions, the facts with the first decision."""
    first, *others = (DecisionMade(decision=decision) for decision in batch.decisions)
    log.append(first.model_copy(update={"facts": batch.facts}), *others)
