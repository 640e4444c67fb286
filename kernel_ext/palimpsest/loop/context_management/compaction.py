"""Run a compaction: request a summary, check it, and continue the turn after it.

Nothing is erased. The marker and the summary are messages like others; the fold shows only a good summary instead of
the covered messages: a summary that failed, that is too short or that saves too little gets an error, and the history
stays unchanged. ``CompactionState`` wakes the callers that wait for a compaction to end.
"""

import asyncio
import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.context.budget.request_tokens import usable_tokens
from palimpsest.context.compaction.continuation import (
    continuation_text,
    continues_after_summary,
    unanswered_prompt,
    work_left,
)
from palimpsest.context.compaction.plan import CompactionPlan, compaction_plan, message_counter
from palimpsest.context.compaction.quality_check import (
    RejectedSummary,
    rejected_summary,
    summary_report,
)
from palimpsest.context.compaction.quality_check import messages_tokens as uncached_messages_tokens
from palimpsest.context.compaction.summary_request import messages_seen_at
from palimpsest.context.engine_text.environment_changes import mentioned_words
from palimpsest.context.visible_messages import CONTINUES_KEY, marker_of, messages_before
from palimpsest.loop.context_management.failed_compaction import (
    history_snapshot,
    roll_back,
    show_marker_again,
)
from palimpsest.loop.context_management.summary_writer import OLDER_SUMMARY_ERROR, SummaryWriter
from palimpsest.loop.model_requests.answer_stream import add_to_session, write_notices
from palimpsest.loop.model_requests.engine_messages import engine_message, write_engine_message
from palimpsest.loop.model_requests.hook_decisions import with_compacting_hooks
from palimpsest.loop.model_requests.provider_window import with_refused_window
from palimpsest.loop.model_requests.request_builder import cached_assembly
from palimpsest.loop.run_inputs.run_context import RequestServices, RunContext, StepSetup
from palimpsest.paused_collection import collection_paused
from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.tool_call_runner import RunTools
from palimpsest.tools.execution.variables import MAX_VARIABLES
from palimpsest.tools.tool import NAMES_AND_TYPES, ShownVariables
from palimpsest.transcript.errors import (
    Aborted,
    AbortedError,
    ErrorValue,
    ModelFailed,
    UnknownError,
    UserError,
)
from palimpsest.transcript.messages import AssistantMessage, Message, Messages, Origin, UserMessage
from palimpsest.transcript.parts import CompactionPart, FilePart, Part, TextPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    SessionCompacted,
)
from palimpsest.transcript.values import ModelRef

MAX_LISTING_SECONDS = 2.0
"""Maximum time to list the kernel's variables; after that the summary does without them."""
KERNEL_VARIABLES_TEXT = "What the kernel holds at this moment, observed when earlier messages were put into a summary:\n{lines}"


@dataclass(frozen=True, slots=True)
class SummaryOptions:
    """The user's options for a summary."""

    focus: str | None = None
    model: ModelRef | None = None
    """The model that writes this summary; None leaves the choice to the policy."""
    goes_on: bool = False
    """Whether the turn continues after the summary even where no work is left."""


def write_marker(
    log: SessionLog,
    user: UserMessage,
    *,
    auto: bool,
    overflow: bool = False,
    options: SummaryOptions | None = None,
    origin: Origin | None = None,
) -> UserMessage:
    """Write the marker that requests a compaction, as a user message with the settings of another."""
    options = options or SummaryOptions()
    marker_message = engine_message(log, user)
    if origin is not None:
        marker_message = marker_message.model_copy(update={"origin": origin})
    part = CompactionPart(
        **log.new_part(marker_message),
        auto=auto,
        overflow=overflow,
        focus=options.focus,
        model=options.model,
        goes_on=options.goes_on,
    )
    log.append(MessageUpdated(info=marker_message), PartUpdated(part=part), sync=True)
    return marker_message


CompactionOutcome = Literal["continue", "stop", "failed", "older-summary"]
"""``stop``: no work is left, or the user stopped it; ``failed``: no summary was made, and nothing was cut; ``older-summary``:
the summary was not requested, since the user restored the one that was set aside for it."""


async def run_compaction(
    run_context: RunContext, setup: StepSetup, user: UserMessage
) -> CompactionOutcome:
    """Run the compaction that a marker requests, and return how the turn continues."""
    services, log = run_context.request_services, run_context.request_services.log
    marker_part = marker_of(log.state.messages(), user)
    if marker_part is None:
        raise ValueError("A compaction needs its marker.")
    setup = await with_compacting_hooks(services, setup, marker_part)
    compaction_state = run_context.turn_services.compactions
    compaction_state.counted_outcomes = setup.policy.recovery.counted
    messages_before_run = compaction_state.copy_when_idle(
        lambda: history_snapshot(
            log, setup, messages_before(log.state.messages(), user.id), "pre-compaction"
        )
    )
    compaction_state.note_start()
    _record_compacting_since(log, log.clock())
    error: ErrorValue | None = AbortedError()
    outcome: CompactionOutcome = "stop"
    try:
        plan, error = await _write_summary(run_context, setup, user.id, marker_part)
        if error is None:
            log.append(SessionCompacted(message_id=user.id), sync=True)
            outcome = _continue_turn(log, setup, user, marker_part, plan)
        else:
            roll_back(
                log, compaction_state, setup, user.id, marker_part, messages_before_run, error
            )
            if not isinstance(error, AbortedError):
                outcome = "older-summary" if error == OLDER_SUMMARY_ERROR else "failed"
    finally:
        _record_compacting_since(log, None)
        run_context.turn_services.may_write_again = error is None
        compaction_state.note_end(
            will_retry=outcome == "continue",
            has_summary=error is None,
            aborted=isinstance(error, AbortedError),
        )
    return outcome


async def _write_summary(
    run_context: RunContext, setup: StepSetup, marker_id: str, marker_part: CompactionPart
) -> tuple[CompactionPlan, ErrorValue | None]:
    """Plan, request the summary and check it; returns the plan, and the summary's error if any."""
    services, log = run_context.request_services, run_context.request_services.log
    show_marker_again(log, marker_part)
    plan = _write_plan(log, setup, marker_id, marker_part)
    tokens_before = messages_tokens(
        services, setup, messages_before(log.state.messages(), marker_id)
    )
    writer = SummaryWriter(services, setup, marker_id)
    write_notices(services, writer.message)
    error: ErrorValue | None = None
    try:
        await writer.write()
        rejection = await check_summary(run_context.run_tools, setup, writer.message, tokens_before)
        missing_contents = rejection.missing_contents if rejection is not None else ()
        if missing_contents and run_context.turn_services.may_write_again:
            await writer.write_again(missing_contents)
            rejection = await check_summary(
                run_context.run_tools, setup, writer.message, tokens_before
            )
        if rejection is not None:
            messages = log.state.messages()
            problem = with_refused_window(rejection.problem, setup, messages, marker_id)
            error = UnknownError(message=problem, explained=True)
    except Aborted:
        error = AbortedError(message=services.abort.reason or "Stopped.")
    except ModelFailed as failure:
        error = failure.error
    except asyncio.CancelledError:
        writer.close(AbortedError())
        raise
    except UserError as problem:
        error = UnknownError(message=str(problem), explained=True)
    writer.close(error)
    add_to_session(services, writer.message)
    return plan, error


@collection_paused()
def _write_plan(
    log: SessionLog, setup: StepSetup, marker_id: str, marker_part: CompactionPart
) -> CompactionPlan:
    """Choose where the tail begins, and write it into the marker."""
    policy = setup.policy
    messages = messages_seen_at(log.view(), marker_id, policy)
    count_message = message_counter(policy, setup.info.ref, setup.count)
    plan = compaction_plan(
        messages, policy.compact, usable_tokens(setup.info, policy.overflow), count_message
    )
    log.append(
        PartUpdated(part=marker_part.model_copy(update={"tail_start_id": plan.tail_start_id}))
    )
    return plan


async def _write_kernel_variables(run_tools: RunTools, marker_id: str) -> None:
    """Write the kernel's present variables beside the marker: they are observed, not summarised."""
    if run_tools.namespace is None:
        return
    prompt_words = mentioned_words(run_tools.log.state.messages())
    display_options = ShownVariables(
        run_tools.extra_values.get("variables", NAMES_AND_TYPES.detail), prompt_words
    )
    try:
        variables = await asyncio.wait_for(
            run_tools.namespace.list(display_options), MAX_LISTING_SECONDS
        )
    except (TimeoutError, UserError):
        return
    listed_variables = variables[:MAX_VARIABLES]
    lines = [
        f"- {variable.name}: {variable.shown_to_model}".removesuffix(": ")
        for variable in listed_variables
    ]
    if not lines:
        return
    part = TextPart(
        id=run_tools.log.ids.new("prt"),
        session_id=run_tools.log.session_id,
        message_id=marker_id,
        text=KERNEL_VARIABLES_TEXT.format(lines="\n".join(lines)),
        synthetic=True,
    )
    run_tools.log.append(PartUpdated(part=part))


def _continue_turn(
    log: SessionLog,
    setup: StepSetup,
    user: UserMessage,
    marker_part: CompactionPart,
    plan: CompactionPlan,
) -> CompactionOutcome:
    """Write the synthetic message that continues the turn, where work is left; returns the outcome."""
    todos = log.state.todos
    earlier_messages = messages_before(log.state.messages(), user.id)
    work_kind = work_left(earlier_messages, todos)
    if not continues_after_summary(marker_part, work_kind, setup.policy):
        return "stop"
    if plan.replay is not None:
        _repeat_prompt(log, user, plan.replay)
    else:
        prompt = unanswered_prompt(earlier_messages)
        text = continuation_text(
            setup.policy, plan, prompt, work_kind, todos, was_refused=marker_part.overflow
        )
        write_engine_message(log, user, text, {CONTINUES_KEY: True})
    return "continue"


def _repeat_prompt(log: SessionLog, user: UserMessage, prompt_message: Message) -> None:
    """Repeat a prompt after the summary, its files by name only."""
    message = engine_message(log, user)
    parts = [_copy_of_part(log, part, message.id) for part in prompt_message.parts]
    log.append(
        MessageUpdated(info=message),
        *(PartUpdated(part=part) for part in parts if part is not None),
        sync=True,
    )


def _copy_of_part(log: SessionLog, part: Part, message_id: str) -> Part | None:
    ids: dict[str, Any] = {"id": log.ids.new("prt"), "message_id": message_id}
    match part:
        case TextPart():
            return part.model_copy(update={**ids, "synthetic": True})
        case FilePart():
            text = f"[Attached {part.mime}: {part.filename or 'file'}]"
            return TextPart(session_id=part.session_id, text=text, synthetic=True, **ids)
        case _:
            return None


def _record_compacting_since(log: SessionLog, since_ms: int | None) -> None:
    """Record since when the session is being compacted, in milliseconds since 1970; None when it no longer is."""
    session = log.state.session
    if session is not None:
        time = session.time.model_copy(update={"compacting": since_ms, "updated": log.clock()})
        log.change_session(time=time)


async def check_summary(
    run_tools: RunTools, setup: StepSetup, message: AssistantMessage, tokens_before: int
) -> RejectedSummary | None:
    """Return why a summary is rejected; for a good one, journal its report and return None.

    The kernel's variables are listed beside a good summary, and so count as kept. The names of a long conversation take
    a while to find, so that is done in another thread.
    """
    info, policy, count = setup.info, setup.policy, setup.count
    rejection = rejected_summary(run_tools.log.view(), message, policy, info, count, tokens_before)
    if rejection is not None:
        return rejection
    await _write_kernel_variables(run_tools, message.parent_id)
    view = run_tools.log.view()
    # The covered messages are among the texts only while no summary replaces them.
    earlier_view = run_tools.log.view(messages_before(view.messages, message.parent_id))
    view = dataclasses.replace(view, texts={**view.texts, **earlier_view.texts})
    decision_id = run_tools.log.ids.new("dec")
    report = await asyncio.to_thread(
        summary_report, view, message, policy, info, count, tokens_before, decision_id
    )
    if isinstance(report, RejectedSummary):
        return report
    run_tools.log.append(DecisionMade(decision=report))
    return None


@collection_paused()
def messages_tokens(services: RequestServices, setup: StepSetup, messages: Messages) -> int:
    """Return the tokens of these messages in a request, without system prompt and tools."""
    assembly = cached_assembly(services, setup, messages) if services.cache.is_filled else None
    if assembly is not None:
        return assembly.projection.conversation_tokens
    return uncached_messages_tokens(
        services.log.view(messages), setup.policy, setup.info, setup.count
    )
