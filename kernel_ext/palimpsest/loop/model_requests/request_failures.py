"""Handle a failed request: wait before it is sent again, recognise an overflow, and advise the user."""

import asyncio
from collections.abc import Mapping

from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.request_assembly.fit import has_history_to_summarise
from palimpsest.context.visible_messages import turn_of
from palimpsest.loop.run_inputs.run_context import RequestServices
from palimpsest.model.errors.overflow_detection import may_be_overflow, observed_tokens
from palimpsest.model.errors.response_body import server_message
from palimpsest.model.errors.retry import MAX_RETRIES, delay_seconds, is_retryable
from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.render.content.phrases import duration
from palimpsest.tools.calls.error_containment import run_until_abort
from palimpsest.transcript.context_values.policies import OverflowPolicy
from palimpsest.transcript.errors import (
    ApiError,
    ContextOverflowError,
    ErrorValue,
    ModelFailed,
    UnknownError,
)
from palimpsest.transcript.ids import short_id
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.parts import RetryPart, Span
from palimpsest.transcript.session_record.events import PartUpdated, SessionStatus
from palimpsest.transcript.session_record.sessions import Busy, Retrying
from palimpsest.transcript.strings.number_words import ended_sentence
from palimpsest.transcript.values import ModelInfo

MAX_TOOLS_SHARE = 0.5
"""Maximum share of the budget for tool descriptions; where they take more, the advice is to offer fewer tools."""
MIN_NEAR_WINDOW_SHARE = 0.8
"""Minimum share of the budget from which on a refusal in unknown words counts as an overflow: an estimate may be a fifth
too low."""
MAX_WAIT_SECONDS = 3_600.0
"""Maximum wait before a retry; where a provider requests a longer one, such as a day, the turn ends with an error."""
WAIT_TOO_LONG_TEXT = "{said} The provider asks to wait {wait} before the next request; ask again then, or choose another model."


def too_large_error(
    budget_check: BudgetCheck,
    info: ModelInfo,
    tool_tokens: int = 0,
    pin_tokens: Mapping[str, int] | None = None,
    failed_sentence: str = "",
    *,
    system_tokens: int = 0,
    prompt_tokens: int = 0,
) -> ContextOverflowError:
    """Return an error about a request that does not fit, with the reason and one piece of advice.

    ``tool_tokens`` are the tokens of tool descriptions, ``pin_tokens`` those of pinned parts by id; ``failed_sentence`` is the
    reason why no summary could be made in this turn. ``system_tokens`` and ``prompt_tokens`` are the tokens of the system
    prompt and of the newest prompt, which a new session would have too.
    """
    advice = "Begin a new session with %agent --new, or choose a model with a larger window with --model."
    pinned_tokens = sum((pin_tokens or {}).values())
    if tool_tokens > MAX_TOOLS_SHARE * budget_check.budget:
        advice = (
            f"The descriptions of its tools alone take about {tool_tokens:,}: offer fewer with --tools, switch MCP "
            "servers off in the settings, or choose a model with a larger window with --model."
        )
    elif (
        tool_tokens + system_tokens + prompt_tokens > budget_check.budget
        and prompt_tokens > system_tokens
    ):
        advice = (
            f"Your prompt alone takes about {prompt_tokens:,}, so that a new session does not help: shorten it, or "
            "choose a model with a larger window with --model."
        )
    elif tool_tokens + system_tokens + prompt_tokens > budget_check.budget:
        advice = (
            f"The system prompt with its instructions alone takes about {system_tokens:,}, so that a new session does "
            "not help: choose a model with a larger window with --model."
        )
    elif pin_tokens and budget_check.tokens - pinned_tokens <= budget_check.budget:
        largest = max(pin_tokens, key=pin_tokens.__getitem__)
        advice = (
            f"What is pinned takes about {pinned_tokens:,} of it: take the largest pin off with "
            f"%agent unpin {short_id(largest)}, and ask again."
        )
    elif failed_sentence:
        advice = f"No summary could make room for it: {failed_sentence}"
    return ContextOverflowError(
        message=(
            f"This request needs about {budget_check.tokens:,} tokens, and {info.ref.id} leaves "
            f"{budget_check.budget:,} for it (window {info.window:,}, the rest is kept for the answer). "
            f"Nothing was sent. {advice}"
        ),
        tokens=budget_check.tokens,
        budget=budget_check.budget,
    )


def suspected_overflow(
    error: ErrorValue,
    budget_check: BudgetCheck,
    policy: OverflowPolicy,
    messages_before: Messages,
    prompt_id: str,
) -> ErrorValue:
    """Return the error as a suspected overflow of the window, where a summary may help, else unchanged.

    ``messages_before`` are the messages before the refused answer to the prompt. Providers word this refusal in ever new
    ways, and without a summary every later turn would fail in the same way; so a summary is tried, once in a turn.
    """
    if isinstance(error, ApiError):
        status, body, is_final = error.status, error.response_body, error.retryable
    elif isinstance(error, UnknownError):
        status, body, is_final = None, None, bool(error.explained)
    else:
        return error
    infos = (message.info for message in turn_of(messages_before, prompt_id))
    errors = [info.error for info in infos if isinstance(info, AssistantMessage)]
    was_tried = any(isinstance(e, ContextOverflowError) and e.suspected for e in errors)
    if is_final or was_tried or not (policy.auto and has_history_to_summarise(messages_before)):
        return error
    error_text = server_message(body, error.message)
    is_near_window = budget_check.tokens >= MIN_NEAR_WINDOW_SHARE * budget_check.budget
    if not may_be_overflow(
        error_text, status, near_window=is_near_window, refusals=policy.refusals
    ):
        return error
    return ContextOverflowError(
        message=error.message,
        tokens=observed_tokens(error_text),
        suspected=True,
        response_body=body,
    )


async def wait_before_retry(
    services: RequestServices, processor: StreamProcessor, failure: ModelFailed, attempt: int
) -> None:
    """Wait until the next attempt, whose time the status shows; raises the failure when no attempt is left."""
    error = failure.error
    if attempt > MAX_RETRIES or not is_retryable(error):
        raise failure
    if not isinstance(error, ApiError):
        error = ApiError(message=error.message, retryable=True)
    now_ms = services.log.clock()
    wait_seconds = delay_seconds(attempt, error.headers, services.jitter(), now_ms / 1000)
    if wait_seconds > MAX_WAIT_SECONDS:
        raise ModelFailed(_wait_too_long_error(error, wait_seconds))
    wait_ms = round(wait_seconds * 1000)
    processor.discard_attempt(attempt)
    services.log.append(
        _retry_part(
            services.log, processor, attempt, error, Span(start=now_ms, end=now_ms + wait_ms)
        ),
        SessionStatus(
            status=Retrying(attempt=attempt, message=error.message, next=now_ms + wait_ms)
        ),
    )
    await run_until_abort(services.abort, asyncio.sleep(wait_ms / 1000))
    services.log.append(SessionStatus(status=Busy()))


def note_resent_request(
    log: SessionLog, processor: StreamProcessor, explanation: str, attempt: int
) -> None:
    """Note in an answer that its request was sent again at once, in another way."""
    processor.discard_attempt(attempt)
    now_ms, error = log.clock(), ApiError(message=explanation, retryable=True)
    log.append(_retry_part(log, processor, attempt, error, Span(start=now_ms, end=now_ms)))


def _retry_part(
    log: SessionLog, processor: StreamProcessor, attempt: int, error: ApiError, time: Span
) -> PartUpdated:
    fields = log.new_part(processor.message)
    return PartUpdated(part=RetryPart(**fields, attempt=attempt, error=error, time=time))


def _wait_too_long_error(error: ApiError, wait_seconds: float) -> ApiError:
    sentence = ended_sentence(error.message)
    message = WAIT_TOO_LONG_TEXT.format(said=sentence, wait=duration(wait_seconds))
    return error.model_copy(update={"message": message, "retryable": False})
