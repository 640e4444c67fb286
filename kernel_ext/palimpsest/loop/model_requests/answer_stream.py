"""Stream one answer into the session, retrying temporary failures until aborted, with notices and usage.

Tokens and cost of every model request are added to the session's record. Notices for the user are written into
the answer, so that cell and panel show them; no model sees them, and summaries never contain them. A small context
window is reported once in a session for each model; the session's record stores that, so that it survives a
reload and a compaction.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from palimpsest.context.budget.window_guard import window_warning
from palimpsest.context.reduction.truncation import is_shortened_by_tool, truncate
from palimpsest.loop.model_requests.request_builder import ReadyRequest
from palimpsest.loop.model_requests.request_failures import note_resent_request, wait_before_retry
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.model.interface import Model, ModelRequest, StepFinished, StepStarted
from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.stream_processor import StreamProcessor, Truncate
from palimpsest.transcript.context_values.decisions import Decision, Facts
from palimpsest.transcript.errors import Aborted, ErrorValue, ModelFailed, UnknownError
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.session_record.events import StepRequested
from palimpsest.transcript.session_record.sessions import SessionInfo, Spent
from palimpsest.transcript.values import Usage

WINDOW_SUBJECT = "window"


def add_to_session(services: RequestServices, message: AssistantMessage) -> None:
    """Add the usage and cost of an answer to its session; an unknown price leaves the cost unchanged."""
    session = services.log.state.session
    if session is None:
        return
    spent = usage_cost(message.tokens, message.cost)
    time = session.time.model_copy(update={"updated": services.log.clock()})
    services.log.change_session(**with_usage(session, spent), time=time)
    if services.on_spending is not None:
        services.on_spending(spent)


def usage_cost(usage: Usage, cost: float | None) -> Spent:
    """Return usage and cost of one request; without tokens it was never answered, and is not counted as unpriced."""
    is_answered = usage.prompt + usage.output + usage.reasoning > 0
    return Spent(cost=cost, tokens=usage, unpriced=1 if is_answered and cost is None else 0)


def with_usage(session: SessionInfo, spent: Spent) -> dict[str, Any]:
    """Return the changed fields of a session's record; requests of unknown price are counted separately."""
    changed_fields: dict[str, Any] = {"tokens": session.tokens.plus(spent.tokens)}
    if spent.cost is not None:
        changed_fields["cost"] = (session.cost or 0.0) + spent.cost
    if spent.unpriced:
        changed_fields["unpriced"] = (session.unpriced or 0) + spent.unpriced
    return changed_fields


def output_cutter(log: SessionLog, setup: StepSetup, facts: Facts) -> Truncate:
    """Return the function that decides how much of a tool's output the model sees."""

    def cut(
        message_id: str, part_id: str, text: str, metadata: Mapping[str, Any]
    ) -> Decision | None:
        policy = setup.policy.truncate
        if is_shortened_by_tool(metadata, policy):
            return None
        return truncate(log.ids.new("dec"), part_id, message_id, text, policy, facts, setup.count)

    return cut


RefusalRepair = Callable[[ErrorValue, ReadyRequest], Awaitable[tuple[ReadyRequest, str] | None]]
"""Returns another request in place of a refused one, with a sentence for the user; None where there is none."""


async def stream_answer(
    services: RequestServices,
    model: Model,
    ready_request: ReadyRequest,
    processor: StreamProcessor,
    repair_refusal: RefusalRepair | None = None,
) -> StepFinished:
    """Stream the answer, retrying temporary failures and repairing refused requests; raises ModelFailed or Aborted."""
    attempt = 0
    processor.handle(StepStarted())
    while True:
        attempt += 1
        try:
            return await _stream(services, model, ready_request, processor)
        except ModelFailed as failure:
            repaired_request = None
            if repair_refusal is not None:
                repaired_request = await repair_refusal(failure.error, ready_request)
            if repaired_request is None:
                await wait_before_retry(services, processor, failure, attempt)
                continue
        ready_request, sentence = repaired_request
        note_resent_request(services.log, processor, sentence, attempt)
        services.log.append(StepRequested(request=ready_request.record), sync=True)
        processor.begin_again(ready_request.record.id)


async def _stream(
    services: RequestServices, model: Model, ready_request: ReadyRequest, processor: StreamProcessor
) -> StepFinished:
    loop = asyncio.get_running_loop()
    reading_task = asyncio.create_task(_process_stream(model, ready_request.request, processor))

    unregister = services.abort.on_abort(lambda: loop.call_soon_threadsafe(reading_task.cancel))
    try:
        return await reading_task
    except asyncio.CancelledError:
        if services.abort.is_set():
            raise Aborted(services.abort.reason) from None
        raise
    finally:
        unregister()


async def _process_stream(
    model: Model, request: ModelRequest, processor: StreamProcessor
) -> StepFinished:
    step_finished: StepFinished | None = None
    stream = model.stream(request)
    try:
        async for event in stream:
            if isinstance(event, StepFinished):
                step_finished = event
            elif not isinstance(event, StepStarted):
                processor.handle(event)
    finally:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
    if step_finished is None:
        raise ModelFailed(UnknownError(message="The model's answer ended without a real end."))
    return step_finished


def write_window_notice(log: SessionLog, setup: StepSetup, message: AssistantMessage) -> None:
    """Write a warning about a small context window into an answer, once in a session for each model."""
    session, model = log.state.session, setup.info.ref.id
    sentence = window_warning(setup.info, setup.policy.guard)
    if sentence is None or session is None or model in session.warned_of:
        return
    if session.parent_id is not None:  # in a task's session the prompts are the engine's
        return
    log.write_notice(message, WINDOW_SUBJECT, sentence)
    log.change_session(warned_of=(*session.warned_of, model))


def write_notices(services: RequestServices, message: AssistantMessage) -> None:
    """Write pending notices for the user into an answer."""
    first_notice = services.first_time(message.model.provider)
    policy_notices = [("policy", sentence) for sentence in services.policy_notices]
    services.policy_notices.clear()
    notices = (
        *([("sent", first_notice)] if first_notice else []),
        *services.hooks.take_notices(),
        *policy_notices,
    )
    for subject, sentence in notices:
        services.log.write_notice(message, subject, sentence)
