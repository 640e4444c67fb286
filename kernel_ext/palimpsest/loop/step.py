"""Run one step: send a request, stream its answer, run its tool calls, and always close the message."""

import asyncio
import functools
from collections.abc import Awaitable
from dataclasses import replace
from typing import Any, Literal, TypeVar

from palimpsest.context.budget.request_tokens import (
    block_tokens,
    is_silently_truncated,
    tools_tokens,
)
from palimpsest.context.conversion.part_conversion import FAILED_ATTEMPT
from palimpsest.context.request_assembly.fit import usage_needs_summary
from palimpsest.loop.context_management.fit_driver import FitDriver
from palimpsest.loop.context_management.limit_recovery import LimitRecovery
from palimpsest.loop.model_requests.answer_stream import (
    add_to_session,
    output_cutter,
    stream_answer,
    write_notices,
    write_window_notice,
)
from palimpsest.loop.model_requests.hook_decisions import hook_decisions, with_request_hooks
from palimpsest.loop.model_requests.own_policy import run_own_policy
from palimpsest.loop.model_requests.provider_window import with_provider_window
from palimpsest.loop.model_requests.refused_tools import request_again, without_refused_tool
from palimpsest.loop.model_requests.request_builder import ReadyRequest, write_decisions
from palimpsest.loop.model_requests.request_failures import suspected_overflow, too_large_error
from palimpsest.loop.run_inputs.run_context import RequestServices, RunContext, StepSetup
from palimpsest.loop.step_snapshots import StepFiles
from palimpsest.loop.structured_turn import answering_calls, keep_structured_answer, tool_choice
from palimpsest.model.interface import StepFinished, ToolCalled
from palimpsest.processor.session_log import GuardedState
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.processor.tool_call_runner import RunTools, TimedInterview, run_calls
from palimpsest.tools.tool import AskFunction, ToolContext
from palimpsest.transcript.context_values.decisions import pinned_part_ids
from palimpsest.transcript.errors import (
    Aborted,
    AbortedError,
    ContentFilterError,
    ContextOverflowError,
    ErrorValue,
    ModelFailed,
    OutputLengthError,
    UnknownError,
    UserError,
)
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage
from palimpsest.transcript.parts import Part, TextPart, ToolPart
from palimpsest.transcript.session_record.events import (
    MessageUpdated,
    StepRequested,
    answer_end_events,
)
from palimpsest.transcript.values import Reply

NO_ANSWER_ERROR = (
    "The model ended its answer without a word. Send the prompt again, or choose another model "
    "with --model."
)

Answer = TypeVar("Answer")

SILENT_TRUNCATION_TEXT = (
    "{model} reports {tokens:,} tokens of prompt, and its window holds {window:,}: it left out a part of the "
    "conversation without saying so, and this answer may miss something."
)

StepResult = Literal[
    "continue", "asked", "compact", "overflow", "full", "stop", "rejected", "circle"
]
"""How the turn continues after a step. ``rejected``: the user refused a call; ``circle``: the guard against doom loops
ended the turn; ``asked``: nothing was sent, since a summary was requested first; ``compact``: the answer reported a full
window; ``overflow``: the provider refused the request as too long; ``full``: like ``overflow``, but a summary would not
help."""


async def run_step(
    run_context: RunContext,
    setup: StepSetup,
    user: UserMessage,
    fit_driver: FitDriver,
    *,
    is_last_step: bool,
) -> StepResult:
    """Send one request and process the answer; in the last step the model may call no tool.

    A request that does not fit is an error only where ``fit_driver`` does not request a summary first.
    """
    services, log = run_context.request_services, run_context.request_services.log
    message = log.new_answer(user.id, setup.agent, setup.info.ref)
    if services.hooks.has_hook("decide"):
        batch = await hook_decisions(services, setup, functools.partial(log.ids.new, "dec"))
        if batch.decisions:
            write_decisions(log, batch)
    stage = services.own_policy()
    if stage is not None:
        await run_own_policy(services, setup, stage)
    try:
        ready_request = fit_driver.build_request(
            setup, user, message.id, _request_parameters(setup, user, is_last_step=is_last_step)
        )
    except UserError as problem:
        error = UnknownError(message=str(problem), explained=True)
        time = message.time.model_copy(update={"completed": log.clock()})
        update = {"error": error, "finish": "error", "time": time}
        log.append(*answer_end_events(message.model_copy(update=update)), sync=True)
        return "stop"
    if ready_request is None:
        return "asked"
    if services.hooks.has_hook("request"):
        ready_request = await with_request_hooks(services, setup, ready_request)
    log.append(MessageUpdated(info=message))
    write_notices(services, message)
    write_window_notice(log, setup, message)
    recovery = LimitRecovery(services, setup, user, fit_driver)
    return await _run_request(
        run_context, setup, message, ready_request, recovery, is_last_step=is_last_step
    )


async def _run_request(
    run_context: RunContext,
    setup: StepSetup,
    message: AssistantMessage,
    ready_request: ReadyRequest,
    recovery: LimitRecovery,
    *,
    is_last_step: bool,
) -> StepResult:
    """Send a request, process its answer into the message, and return how the turn continues."""
    services, run_tools = run_context.request_services, run_context.run_tools
    log = services.log
    record, window = ready_request.record, setup.info.window
    cutter = output_cutter(log, setup, record.facts)
    processor = StreamProcessor(log, message, cutter, request_id=record.id, window=window)
    files = StepFiles(log, run_context.turn_services.files, processor)
    error: ErrorValue | None = None
    try:
        if ready_request.budget_check.fits:
            files.start_snapshot()
            log.append(StepRequested(request=record), sync=True)
            step_finished = await stream_answer(
                services, setup.model, ready_request, processor, recovery.within_named_limit
            )
            error = await _finish_answer(
                services,
                run_tools,
                setup,
                processor,
                files,
                step_finished,
                is_last_step=is_last_step,
            )
            error = error or _silent_truncation_error(setup, processor.message)
        else:
            error = _too_large_error(log.state, setup, message, ready_request)
    except Aborted:
        error = AbortedError(message=services.abort.reason or "Stopped.")
    except ModelFailed as failure:
        new_setup = without_refused_tool(services, setup, processor.message, failure.error)
        if new_setup is not None:
            await files.record_changes()
            processor.discard_attempt(1)
            new_request = request_again(services, new_setup, processor.message, ready_request)
            # A limit that was tried is not tried again.
            recovery = replace(recovery, setup=new_setup)
            message = processor.message
            return await _run_request(
                run_context, new_setup, message, new_request, recovery, is_last_step=is_last_step
            )
        budget_check, earlier_messages = ready_request.budget_check, log.state.messages()[:-1]
        error = suspected_overflow(
            failure.error, budget_check, setup.policy.overflow, earlier_messages, message.parent_id
        )
        error = with_provider_window(
            error, setup, budget_check, earlier_messages, message.parent_id
        )
    except asyncio.CancelledError:
        files.cancel()
        processor.close(AbortedError())
        raise
    except UserError as problem:
        error = UnknownError(message=str(problem), explained=True)
    await files.record_changes()
    processor.close(error)
    add_to_session(services, processor.message)
    return _step_result(
        setup,
        processor,
        error,
        request_fits=ready_request.budget_check.fits,
        is_last_step=is_last_step,
    )


def _step_result(
    setup: StepSetup,
    processor: StreamProcessor,
    error: ErrorValue | None,
    *,
    request_fits: bool,
    is_last_step: bool,
) -> StepResult:
    """Return how the turn continues after an answer, or its error."""
    if isinstance(error, ContextOverflowError) and request_fits:
        return "full" if error.compaction_failed else "overflow"
    if processor.circle is not None:
        return "circle"
    if error is not None or is_last_step or processor.message.structured is not None:
        return "stop"
    if processor.is_rejected:
        return "rejected"
    needs_summary = usage_needs_summary(processor.message.tokens, setup.info, setup.policy)
    return "compact" if needs_summary else "continue"


def _too_large_error(
    state: GuardedState, setup: StepSetup, message: AssistantMessage, ready_request: ReadyRequest
) -> ContextOverflowError:
    tool_tokens = tools_tokens(setup.specs, setup.count)
    pin_tokens = _pin_tokens(state, setup, ready_request)
    failure_sentence = summary_failure(state.messages())
    system_tokens, prompt_tokens = _system_and_prompt_tokens(state, message, ready_request)
    return too_large_error(
        ready_request.budget_check,
        setup.info,
        tool_tokens,
        pin_tokens,
        failure_sentence,
        system_tokens=system_tokens,
        prompt_tokens=prompt_tokens,
    )


def _system_and_prompt_tokens(
    state: GuardedState, message: AssistantMessage, ready_request: ReadyRequest
) -> tuple[int, int]:
    prompt_message = next(other for other in state.messages() if other.id == message.parent_id)
    part_ids = {part.id for part in prompt_message.parts}
    system_tokens = prompt_tokens = 0
    for neutral_message, tokens in zip(
        ready_request.projection.messages, ready_request.projection.tokens, strict=True
    ):
        if neutral_message.role == "system":
            system_tokens += tokens
        elif any(block.part_id in part_ids for block in neutral_message.blocks):
            prompt_tokens += tokens
    return system_tokens, prompt_tokens


def _pin_tokens(
    state: GuardedState, setup: StepSetup, ready_request: ReadyRequest
) -> dict[str, int]:
    """Return the tokens of pinned parts in a request, by part id."""
    pinned_ids = pinned_part_ids(state.messages(), state.decisions)
    tokens_by_part: dict[str, int] = {}
    for message in ready_request.projection.messages:
        for block in message.blocks:
            if block.part_id in pinned_ids:
                tokens = block_tokens(block, setup.count)
                tokens_by_part[block.part_id] = tokens_by_part.get(block.part_id, 0) + tokens
    return tokens_by_part


def summary_failure(messages: Messages) -> str:
    """Return why the newest summary of this turn failed; empty where none did."""
    for message in reversed(messages):
        info = message.info
        if isinstance(info, UserMessage):
            if not info.by_engine:
                return ""
        elif info.summary:
            return info.error.message if info.error is not None else ""
    return ""


def _silent_truncation_error(
    setup: StepSetup, message: AssistantMessage
) -> ContextOverflowError | None:
    """Return an error where the reported tokens show that the provider read only a part of the request."""
    window = setup.info.window
    if not is_silently_truncated(message.tokens, message.finish, setup.info, setup.policy.overflow):
        return None
    tokens = message.tokens.prompt
    return ContextOverflowError(
        message=SILENT_TRUNCATION_TEXT.format(
            model=setup.info.ref.id, tokens=tokens, window=window
        ),
        tokens=tokens,
        budget=window,
    )


def _request_parameters(
    setup: StepSetup, user: UserMessage, *, is_last_step: bool
) -> dict[str, Any]:
    parameters: dict[str, Any] = dict(setup.parameters)
    if user.model.variant:
        parameters["reasoning_effort"] = user.model.variant
    if setup.wants_structured:
        choice = tool_choice(setup.info, user, is_last_step=is_last_step)
    else:
        choice = "none" if is_last_step and setup.specs else None
    if choice is not None:
        # The tools stay listed, since some providers refuse a history of calls without them.
        parameters["tool_choice"] = choice
    return parameters


async def _finish_answer(
    services: RequestServices,
    run_tools: RunTools,
    setup: StepSetup,
    processor: StreamProcessor,
    files: StepFiles,
    step_finished: StepFinished,
    *,
    is_last_step: bool,
) -> ErrorValue | None:
    """Run the tools, close the step, and return the error of the answer as a whole, if any."""
    state = services.log.state
    processor.finish_step(step_finished)
    calls = processor.take_tool_calls()
    calls_to_run = calls
    if is_last_step:
        calls_to_run = answering_calls(calls) if setup.wants_structured else []
    error: ErrorValue | None = None
    if step_finished.reason == "length" and (calls or not _has_content(state, processor)):
        error = OutputLengthError()
    elif step_finished.reason == "content-filter":
        error = ContentFilterError()
    elif calls_to_run:
        await files.wait_before_tools()
        await _run_calls(run_tools, setup, processor, files, calls_to_run)
        write_notices(services, processor.message)
        if setup.wants_structured:
            keep_structured_answer(processor, calls_to_run)
    elif not calls and not _has_content(state, processor) and _is_only_answer(state, processor):
        error = UnknownError(message=NO_ANSWER_ERROR, explained=True)
    await files.record_changes()
    processor.handle(step_finished)
    if processor.circle is not None:
        error = UnknownError(message=processor.circle, explained=True)
    if error is None and services.abort.is_set():
        error = AbortedError(message=services.abort.reason)
    return error


def _is_only_answer(state: GuardedState, processor: StreamProcessor) -> bool:
    """Return whether the answer is the only one of its turn without an error; after tools, an empty answer may mean "done"."""
    prompt_id = processor.message.parent_id
    answers = [
        message
        for message in state.messages()
        if isinstance(message.info, AssistantMessage)
        and message.info.parent_id == prompt_id
        and message.info.error is None
    ]
    return len(answers) == 1


def _has_content(state: GuardedState, processor: StreamProcessor) -> bool:
    """Return whether the answer has text, or a call that the provider ran itself."""
    message = state.message(processor.message.id)
    return message is not None and any(_is_content(part) for part in message.parts)


def _is_content(part: Part) -> bool:
    metadata = getattr(part, "metadata", None) or {}
    if metadata.get(FAILED_ATTEMPT):
        return False
    if isinstance(part, ToolPart):
        return bool(metadata.get("provider_executed"))
    return isinstance(part, TextPart) and bool(part.text.strip()) and not part.ignored


async def _run_calls(
    run_tools: RunTools,
    setup: StepSetup,
    processor: StreamProcessor,
    files: StepFiles,
    calls: list[ToolCalled],
) -> None:
    message = processor.message
    # Only these calls may work while another call waits for the user's answer.
    concurrent_ids = {
        call.id for call in calls if getattr(setup.offer.resolve(call.tool), "concurrent", False)
    }

    user_wait = processor.user_wait

    async def while_waiting(call_id: str, answer: Awaitable[Answer]) -> Answer:
        is_alone = concurrent_ids <= {call_id}
        return await (files.leave_out_wait(answer) if is_alone else answer)

    def asker(call: ToolCalled) -> AskFunction:
        ask = run_tools.ask(message.id, call.id, call.tool)

        async def with_measured_wait(*arguments: Any, **options: Any) -> Reply | None:
            with user_wait.count_waiting(call.id):
                return await while_waiting(call.id, ask(*arguments, **options))

        return with_measured_wait

    async def guard(call: ToolCalled) -> None:
        with user_wait.count_waiting(""):
            await while_waiting(call.id, run_tools.guard_call(message.id, call))

    def context(call: ToolCalled) -> ToolContext:
        extra: dict[str, Any] = {"model": setup.info}
        if interview := run_tools.extra_values.get("interview"):
            wait = functools.partial(while_waiting, call.id)
            extra["interview"] = TimedInterview(interview, user_wait, call.id, wait)
        return run_tools.context(
            message.id,
            call.id,
            setup.agent,
            asker(call),
            metadata=lambda title, data: processor.tool_progress(call.id, title, dict(data)),
            python=run_tools.python,
            namespace=run_tools.namespace,
            extra=extra,
        )

    results = run_calls(calls, setup.offer, context, processor.tool_began, guard)
    async for result in results:
        concurrent_ids.discard(result.id)
        processor.handle(result)
