"""Send a request outside of any turn, for a title or a turn summary; it is journaled, but fills no message.

No turn waits for the answer. The request is retried where that may help, and abandoned when it takes too long.
"""

import asyncio
import dataclasses
from collections.abc import Sequence
from typing import Any

from palimpsest.context.budget.request_tokens import check_budget, reserved_tokens
from palimpsest.context.request_assembly.projection import PROJECTION_VERSION, Projection
from palimpsest.context.request_kinds.title_request import SYSTEM as TITLE_SYSTEM
from palimpsest.context.request_kinds.title_request import project_title
from palimpsest.context.request_kinds.turn_summary_request import SYSTEM as TURN_SUMMARY_SYSTEM
from palimpsest.context.request_kinds.turn_summary_request import project_turn_summary
from palimpsest.context.visible_messages import View, turn_of
from palimpsest.loop.model_requests.request_builder import JSON_MIME, json_bytes
from palimpsest.loop.run_inputs.request_chunks import assemble_request
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.errors.retry import delay_seconds, is_retryable
from palimpsest.model.interface import ModelRequest, StepFinished, TextDelta
from palimpsest.model.wire.provider_messages import request_hash
from palimpsest.processor.session_log import SessionLog
from palimpsest.transcript.context_values.decisions import Facts, Purpose, StepRequest
from palimpsest.transcript.errors import ApiError, ModelFailed, UnknownError
from palimpsest.transcript.session_record.events import StepRequested
from palimpsest.transcript.values import BlobRef, Usage

TEMPERATURE = 0.5
MAX_ANSWER_TOKENS = 4_000
"""Maximum tokens of an answer: a title takes about 20, a turn summary 200; the rest is for models that think first."""
MAX_SIDE_RETRIES = 2
MAX_ANSWER_SECONDS = 60.0
"""Maximum time for an answer, with its retries; a later answer would surprise the user."""


@dataclasses.dataclass(frozen=True, slots=True)
class SideAnswer:
    """A model's answer to a side request, with usage and cost."""

    text: str
    usage: Usage
    cost: float | None


def without_tools(log: SessionLog, setup: StepSetup, agent: str, system: str) -> StepSetup:
    """Return the setup of a request outside of any turn: no tools, and its own system prompt."""
    return dataclasses.replace(setup, agent=agent, system=(log.clean(system),), specs=())


async def run_side_request(
    services: RequestServices,
    setup: StepSetup,
    projection: Projection,
    purpose: Purpose,
    turn_ids: tuple[str, ...] = (),
) -> SideAnswer:
    """Journal the request and send it; raises ModelFailed, or TimeoutError when it takes too long."""
    request, record = _build_request(services.log, setup, projection, purpose, turn_ids)
    services.log.append(StepRequested(request=record), sync=True)
    async with asyncio.timeout(MAX_ANSWER_SECONDS):
        for attempt in range(1, MAX_SIDE_RETRIES + 1):
            try:
                return await _stream_answer(setup, request)
            except ModelFailed as failure:
                if not is_retryable(failure.error):
                    raise
                headers = failure.error.headers if isinstance(failure.error, ApiError) else None
                now_seconds = services.log.clock() / 1000
                await asyncio.sleep(delay_seconds(attempt, headers, services.jitter(), now_seconds))
        return await _stream_answer(setup, request)


async def _stream_answer(setup: StepSetup, request: ModelRequest) -> SideAnswer:
    texts: list[str] = []
    step_finished: StepFinished | None = None
    async for event in setup.model.stream(request):
        if isinstance(event, TextDelta):
            texts.append(event.text)
        elif isinstance(event, StepFinished):
            step_finished = event
    if step_finished is None:
        raise ModelFailed(UnknownError(message="The answer ended without a real end."))
    return SideAnswer("".join(texts), step_finished.usage, step_finished.cost)


def _build_request(
    log: SessionLog,
    setup: StepSetup,
    projection: Projection,
    purpose: Purpose,
    turn_ids: tuple[str, ...],
) -> tuple[ModelRequest, StepRequest]:
    info, policy = setup.info, setup.policy
    assembly = assemble_request(projection, info, setup.count, log.state.messages())
    facts = Facts(
        now=log.clock(),
        estimator=policy.estimator,
        window=info.window,
        reserve=reserved_tokens(policy, info),
        used_tokens=projection.total,
    )
    budget_check = check_budget(projection.total, facts)
    tokens_left = max(facts.capacity - budget_check.tokens, facts.reserve)
    parameters: dict[str, Any] = {
        "max_tokens": min(info.output_limit, MAX_ANSWER_TOKENS, tokens_left),
        "temperature": TEMPERATURE,
    }

    def store_value(value: Any) -> BlobRef:
        return log.blobs.put_blob(json_bytes(value), JSON_MIME)

    record = StepRequest(
        id=log.ids.new("req"),
        purpose=purpose,
        turns=turn_ids,
        model=info,
        parameters=parameters,
        policy_blob=store_value(policy.model_dump()),
        projection=PROJECTION_VERSION,
        facts=facts,
        system=store_value(list(setup.system)),
        tools=store_value([]),
        items=assembly.items,
        sha256=request_hash(assembly.hashes),
        tokens=projection.total,
        kinds=assembly.tokens_by_kind,
    )
    request = ModelRequest(
        model=info,
        messages=assembly.bodies,
        parameters=parameters,
        session_id=log.session_id,
        purpose=purpose,
        refusals=policy.overflow.refusals,
    )
    return request, record


async def run_title(services: RequestServices, setup: StepSetup, system: str | None) -> SideAnswer:
    """Request the title of a session; raises ModelFailed, or TimeoutError when it takes too long.

    ``system`` replaces our own system prompt for titles.
    """
    side_setup = without_tools(services.log, setup, "title", system or TITLE_SYSTEM)
    projection = project_title(
        services.log.view(), system=side_setup.system, count=side_setup.count
    )
    return await run_side_request(services, side_setup, projection, "title")


async def run_turn_summary(
    services: RequestServices, setup: StepSetup, turn_ids: Sequence[str]
) -> SideAnswer | None:
    """Request a summary of the newest of ``turn_ids``, which are ids of prompts, oldest first; None when that turn is gone.

    Raises ModelFailed, or TimeoutError when it takes too long.
    """
    side_setup = without_tools(services.log, setup, "turn-summary", TURN_SUMMARY_SYSTEM)
    state = services.log.state
    messages = state.messages()
    remaining_turn_ids = tuple(
        message_id for message_id in turn_ids if turn_of(messages, message_id)
    )
    if turn_ids[-1] not in remaining_turn_ids:
        return None  # it was reverted meanwhile
    projection = project_turn_summary(
        View(messages, state.decisions),
        turn_ids=remaining_turn_ids,
        earlier_summary=state.session.about if state.session is not None else "",
        system=side_setup.system,
        count=side_setup.count,
    )
    return await run_side_request(
        services, side_setup, projection, "turn-summary", remaining_turn_ids
    )
