"""Compute the figures of a turn: sums over its steps, and the context window after the last one.

Border: pure. The page has the same sums and texts in ``labextension/src/state/display/turnFigures.ts``; both are
tested on ``tests/fixtures/turn_figures.json``.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from palimpsest.render.content.outline import OutlineStep
from palimpsest.render.content.phrases import counted_noun
from palimpsest.transcript.messages import Message, is_summary, parts_of
from palimpsest.transcript.parts import StepFinishPart


@dataclass(frozen=True, slots=True)
class TurnFigures:
    """Sums over steps; None where one of the steps lacks the value."""

    steps: int
    sent_tokens: int
    """Tokens sent, including those read from the cache."""
    cached: int
    has_estimates: bool
    """Whether a count is an estimate."""
    cost: float | None
    """US dollars."""
    cost_is_estimate: bool
    """Whether the cost is an estimate."""
    seconds: float | None
    """Duration of the steps, without the time for the user's answers."""
    waited_seconds: float
    """Seconds for which the steps waited for the user."""
    used_tokens: int | None
    """Tokens in the context of the last request."""
    window: int | None


def turn_figures(messages: Sequence[Message]) -> TurnFigures | None:
    """Return the figures of a turn; None before its first step has ended."""
    steps = _steps(messages)
    if not steps:
        return None
    # The request for a summary has another size than the conversation.
    conversation_steps = _steps(message for message in messages if not is_summary(message))
    last_step = conversation_steps[-1] if conversation_steps else None
    return TurnFigures(
        steps=len(steps),
        sent_tokens=sum(step.tokens.prompt for step in steps),
        cached=sum(step.tokens.cache_read for step in steps),
        has_estimates=any(step.tokens.estimated for step in steps),
        cost=_sum_or_none([step.cost for step in steps]),
        cost_is_estimate=any(step.cost_listed for step in steps),
        seconds=_sum_or_none([step.seconds for step in steps]),
        waited_seconds=sum(step.waited_seconds or 0.0 for step in steps),
        used_tokens=last_step.context_tokens if last_step is not None else None,
        window=last_step.window if last_step is not None else None,
    )


def figure_words(figures: TurnFigures) -> list[str]:
    """Return the figures after the number of steps: ``7.5k in (7.4k cached)``, ``$0.0030``, ``1.1 s``."""
    estimate_mark = "≈ " if figures.has_estimates else ""
    cached = f" ({_short_number(figures.cached)} cached)" if figures.cached > 0 else ""
    phrases = [
        f"{estimate_mark}{_short_number(figures.sent_tokens)} in{cached}",
        _cost_text(figures.cost, figures.cost_is_estimate),
    ]
    if figures.seconds is not None:
        phrases.append(_seconds_text(figures.seconds))
    if figures.waited_seconds > 0:
        phrases.append(f"you took {_seconds_text(figures.waited_seconds)}")
    return phrases


def figures_item(messages: Sequence[Message]) -> OutlineStep | None:
    """Return the line below a turn; None before its first step has ended."""
    figures = turn_figures(messages)
    if figures is None:
        return None
    text = " · ".join([counted_noun(figures.steps, "step"), *figure_words(figures)])
    is_window_known = figures.window is not None and figures.window >= 0
    return OutlineStep(text, figures.used_tokens, figures.window if is_window_known else None)


def _steps(messages: Iterable[Message]) -> list[StepFinishPart]:
    return [part for part in parts_of(messages) if isinstance(part, StepFinishPart)]


def _sum_or_none(values: Sequence[float | None]) -> float | None:
    """Return the sum of values; None where one of them is unknown."""
    known_values = [value for value in values if value is not None]
    return sum(known_values) if len(known_values) == len(values) else None


def _short_number(tokens: int) -> str:
    """Return a number of tokens in three digits: ``980``, ``7.46k``, ``1.2M``."""
    if tokens < 1_000:
        return str(tokens)
    suffix, divisor = ("k", 1_000) if tokens < 1_000_000 else ("M", 1_000_000)
    return f"{float(f'{tokens / divisor:.3g}'):g}{suffix}"


def _cost_text(dollars: float | None, is_estimate: bool) -> str:  # noqa: FBT001  # as the figures hold it
    """Return a cost; ``~`` marks an estimate."""
    if dollars is None:
        return "cost unknown"
    estimate_mark = "~" if is_estimate else ""
    if dollars == 0:
        return f"{estimate_mark}$0"
    digits = 3 if dollars >= 0.01 else 1 - math.floor(math.log10(float(f"{dollars:.1e}")))
    return f"{estimate_mark}${dollars:.{digits}f}"


def _seconds_text(value: float) -> str:
    """Return a duration: ``0.2 s``, ``1 min 5 s``."""
    if value < 60:
        return f"{value:.1f} s"
    minutes, rest = divmod(math.floor(value + 0.5), 60)
    return f"{minutes} min {rest} s"
