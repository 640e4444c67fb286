"""Explain that a provider's context window is smaller than the configured window, with both numbers and the setting.

A server that was started with a smaller window than its model has refuses requests that fit by our numbers: a summary
makes room for one request, and the next are refused again, until the setting is right.
"""

from palimpsest.context.budget.request_tokens import BudgetCheck
from palimpsest.context.visible_messages import turn_of
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.model.errors.response_body import read_body
from palimpsest.model.errors.stated_window import stated_window
from palimpsest.transcript.errors import ContextOverflowError, ErrorValue
from palimpsest.transcript.messages import AssistantMessage, Messages
from palimpsest.transcript.strings.number_words import ended_sentence
from palimpsest.transcript.values import ModelInfo

ADVISED_SHARE = 0.9
"""Share of a refused request's tokens that is advised as the window, where the provider gives no number."""
ROUNDING_TOKENS = 1_000
"""The advised window is rounded down to a multiple of this."""

STATED_LIMIT_TEXT = "its provider takes {limit:,} tokens, as it says"
REFUSED_LIMIT_TEXT = "its provider takes at most {limit:,} tokens, which it refused"
ADVICE_BEGINNING = "The context window of {model} is smaller than is set here: "
WINDOW_ADVICE = (
    ADVICE_BEGINNING + "{takes}, and the window here is {window}. Write "
    'window = {advised} below [models."{model}"] in palimpsest.toml, and ask again.'
)


def with_provider_window(
    error: ErrorValue,
    setup: StepSetup,
    estimate: BudgetCheck,
    earlier_messages: Messages,
    prompt_id: str,
) -> ErrorValue:
    """Return the error of a refused request, with the provider's window where it is smaller than the catalog's.

    ``earlier_messages`` are the messages before the refused answer. The window is smaller where the provider names a
    smaller one, or refused several requests of one turn that fit by our numbers. Under a recorded agent's policy the error stays
    unchanged.
    """
    if not isinstance(error, ContextOverflowError) or setup.policy.overflow.refusals != "union":
        return error
    error = error.model_copy(update={"tokens": error.tokens or estimate.tokens})
    advice = _advice(error, setup.info, is_certain=bool(refusals_of(earlier_messages, prompt_id)))
    return error.model_copy(update={"message": _with_advice(error.message, advice)})


def with_refused_window(problem: str, setup: StepSetup, messages: Messages, marker_id: str) -> str:
    """Return why a summary failed, with the provider's window if the provider refused a request of this turn as too long."""
    refusals = refusals_of(messages, marker_id)
    if not refusals or setup.policy.overflow.refusals != "union":
        return problem
    return _with_advice(problem, _advice(refusals[-1], setup.info, is_certain=True))


def refusals_of(messages: Messages, message_id: str) -> list[ContextOverflowError]:
    """Return the errors of requests that a provider refused as too long, in the turn of a message."""
    infos = [message.info for message in turn_of(messages, message_id)]
    return [
        info.error
        for info in infos
        if isinstance(info, AssistantMessage)
        and isinstance(info.error, ContextOverflowError)
        and info.error.budget is None
    ]


def _advice(error: ContextOverflowError, info: ModelInfo, *, is_certain: bool) -> str:
    """Return the advice to set a smaller window; empty without evidence.

    ``is_certain`` says that making room did not help in this turn, so that the refused request's tokens are evidence.
    """
    body = error.response_body
    # The message of an earlier refusal may already end with such an advice.
    own_text = error.message.partition(ADVICE_BEGINNING.format(model=info.ref.id))[0]
    error_text = " ".join((own_text, read_body(body).message if body else "", body or ""))
    window, tokens = info.capacity, error.tokens or 0
    limit = stated_window(error_text, tokens)
    if limit is not None and limit < window:
        limit_phrase, advised_tokens = STATED_LIMIT_TEXT.format(limit=limit), limit
    elif limit is None and is_certain and 0 < tokens < window:
        limit_phrase = REFUSED_LIMIT_TEXT.format(limit=tokens)
        advised_tokens = max(
            int(tokens * ADVISED_SHARE) // ROUNDING_TOKENS * ROUNDING_TOKENS, ROUNDING_TOKENS
        )
    else:
        return ""
    window_text = f"{info.window:,}" if info.window else "not limited"
    assumed_note = " (assumed)" if info.window_assumed else ""
    return WINDOW_ADVICE.format(
        model=info.ref.id,
        takes=limit_phrase,
        window=f"{window_text}{assumed_note}",
        advised=advised_tokens,
    )


def _with_advice(message: str, advice: str) -> str:
    message = message.rstrip()
    return f"{ended_sentence(message)} {advice}" if advice and advice not in message else message
