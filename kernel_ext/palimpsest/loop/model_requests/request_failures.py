"""Handle a failed request: wait and send it again, or explain to the user what helps."""

import asyncio
from collections.abc import Mapping

from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.loop.run_inputs.run_context import RunContext
from palimpsest.model.errors.retry import MAX_RETRIES, delay_seconds, retryable
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.render.content.phrases import duration
from palimpsest.transcript.errors import Aborted, ApiError, ContextOverflowError, ModelFailed
from palimpsest.transcript.ids import short
from palimpsest.transcript.parts import RetryPart, Span
from palimpsest.transcript.session_record.events import PartUpdated, SessionStatus
from palimpsest.transcript.session_record.sessions import Busy, Retrying
from palimpsest.transcript.values import ModelInfo

LARGE_SHARE = 0.5
"""Share of the budget; where tool descriptions take more, the advice is to offer fewer tools."""
LONGEST_WAIT_SECONDS = 3_600.0
"""Where a provider asks for a longer wait, such as a day, the turn ends with an error that says so."""
TOO_LONG = "{said} The provider asks to wait {wait} before the next request; ask again then, or choose another model."


def too_large_error(
    route: BudgetCheck,
    info: ModelInfo,
    tools: int = 0,
    pins: Mapping[str, int] | None = None,
    failed: str = "",
    *,
    system: int = 0,
    prompt: int = 0,
) -> ContextOverflowError:
    """Explain that a request does not fit, why, and the one thing that helps.

    ``tools`` are the tokens of tool descriptions, ``pins`` those of pinned parts by id; ``failed`` is the
    reason why no summary could be made in this turn. ``system`` and ``prompt`` are the tokens of the system
    prompt and of the newest prompt, which a new session would have too.
    """
    helps = "Begin a new session with %agent --new, or choose a model with a larger window with --model."
    pinned = sum((pins or {}).values())
    if tools > LARGE_SHARE * route.budget:
        helps = (
            f"The descriptions of its tools alone take about {tools:,}: offer fewer with --tools, switch MCP "
            "servers off in the settings, or choose a model with a larger window with --model."
        )
    elif tools + system + prompt > route.budget and prompt > system:
        helps = (
            f"Your prompt alone takes about {prompt:,}, so that a new session does not help: shorten it, or "
            "choose a model with a larger window with --model."
        )
    elif tools + system + prompt > route.budget:
        helps = (
            f"The system prompt with its instructions alone takes about {system:,}, so that a new session does "
            "not help: choose a model with a larger window with --model."
        )
    elif pins and route.tokens - pinned <= route.budget:
        largest = max(pins, key=pins.__getitem__)
        helps = (
            f"What is pinned takes about {pinned:,} of it: take the largest pin off with "
            f"%agent unpin {short(largest)}, and ask again."
        )
    elif failed:
        helps = f"No summary could make room for it: {failed}"
    return ContextOverflowError(
        message=(
            f"This request needs about {route.tokens:,} tokens, and {info.ref.id} leaves "
            f"{route.budget:,} for it (window {info.window:,}, the rest is kept for the answer). "
            f"Nothing was sent. {helps}"
        ),
        tokens=route.tokens,
        budget=route.budget,
    )


async def wait_before_retry(
    run_context: RunContext, processor: StreamProcessor, failure: ModelFailed, attempt: int
) -> None:
    """Wait until the next attempt, visibly; raises the failure when there is to be none."""
    error = failure.error
    if attempt > MAX_RETRIES or not retryable(error):
        raise failure
    if not isinstance(error, ApiError):
        error = ApiError(message=error.message, retryable=True)
    now = run_context.clock()
    wait_seconds = delay_seconds(attempt, error.headers, run_context.jitter(), now / 1000)
    if wait_seconds > LONGEST_WAIT_SECONDS:
        raise ModelFailed(_too_long(error, wait_seconds))
    wait_ms = round(wait_seconds * 1000)
    processor.discard_attempt(attempt)
    message = processor.message
    run_context.write(
        PartUpdated(
            part=RetryPart(
                id=run_context.ids.new("prt"),
                session_id=message.session_id,
                message_id=message.id,
                attempt=attempt,
                error=error,
                time=Span(start=now, end=now + wait_ms),
            )
        ),
        SessionStatus(status=Retrying(attempt=attempt, message=error.message, next=now + wait_ms)),
    )
    await _sleep(run_context, wait_ms / 1000)
    run_context.write(SessionStatus(status=Busy()))


def _too_long(error: ApiError, wait_seconds: float) -> ApiError:
    said = error.message.rstrip()
    said = said if said.endswith((".", "!", "?", "…")) else f"{said}."
    words = TOO_LONG.format(said=said, wait=duration(wait_seconds))
    return error.model_copy(update={"message": words, "retryable": False})


async def _sleep(run_context: RunContext, seconds: float) -> None:
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def stop() -> None:
        loop.call_soon_threadsafe(stopped.set)

    unregister = run_context.abort.on_abort(stop)
    try:
        await asyncio.wait_for(stopped.wait(), seconds)
    except TimeoutError:
        return
    finally:
        unregister()
    raise Aborted(run_context.abort.reason)
