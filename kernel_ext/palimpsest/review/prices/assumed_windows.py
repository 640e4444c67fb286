"""The window of the model at each request of a recording: the recorded one, or an assumed one.

A recording may have several windows, of its models or of one model whose window was changed. An assumption is given in a
sentence; a reported prompt above the assumed window proves that the window is larger.
"""

from collections.abc import Sequence
from typing import NamedTuple

from palimpsest.context_policies.registry import get
from palimpsest.review.prices.offline_prices import offline_window
from palimpsest.transcript.timeline import Timeline, TimelineRequest

LONG_WINDOW_TOKENS = 1_000_000
"""The window that is assumed where a prompt proves that the known window is too small."""


class RecordedAgent(NamedTuple):
    """The candidate presets of an agent's rule, the newest first, and the facts that its recordings state."""

    presets: tuple[str, ...]
    records_cause: bool
    """Whether recordings state for each compaction if the user requested it."""
    uses_model_windows: bool = False
    """Whether the agent's rule uses each model's own window; else the preset's window for all models."""
    window_share: float = 1.0
    """The recorded window as a share of the model's own."""


class AssumedWindows(NamedTuple):
    """The window of each request in tokens, recorded or assumed, and a sentence for each assumption."""

    by_request: Sequence[int]
    sentences: tuple[str, ...]


class _RecordedWindow(NamedTuple):
    """The recorded window of a request's model; a model may have two windows in one session."""

    model: str
    window: int
    """0 where the recording has no window of the model."""


def assumed_windows(
    timeline: Timeline, agent: RecordedAgent, preset: str
) -> tuple[AssumedWindows, ...]:
    """Return the likeliest assumption about the windows of a recording's models, then alternatives."""
    preset_window = _preset_window(get(preset))
    recorded_windows = _recorded_windows(timeline)
    if not preset_window:
        return (AssumedWindows([0] * len(recorded_windows), ()),)
    requests_by_window: dict[_RecordedWindow, list[TimelineRequest]] = {}
    for request, recorded_window in zip(timeline.requests, recorded_windows, strict=True):
        requests_by_window.setdefault(recorded_window, []).append(request)
    options_by_window = {
        recorded_window: _window_options(recorded_window, requests, agent, preset)
        for recorded_window, requests in requests_by_window.items()
    }
    assumptions = []
    for index in range(max(map(len, options_by_window.values()))):
        option_by_window = {
            recorded_window: options[min(index, len(options) - 1)]
            for recorded_window, options in options_by_window.items()
        }
        sentences = (text for _, *texts in option_by_window.values() for text in texts if text)
        windows = [option_by_window[recorded_window][0] for recorded_window in recorded_windows]
        assumptions.append(AssumedWindows(windows, tuple(sentences)))
    return tuple(assumptions)


def _recorded_windows(timeline: Timeline) -> list[_RecordedWindow]:
    """Return the recorded window of each request: its own, else the nearest of its model, earlier or later."""
    windows: list[_RecordedWindow] = []
    window_by_model: dict[str, int] = {}
    for request in reversed(timeline.requests):
        window_by_model[request.model] = request.window or window_by_model.get(request.model, 0)
    for request in timeline.requests:
        window_by_model[request.model] = request.window or window_by_model[request.model]
        windows.append(_RecordedWindow(request.model, window_by_model[request.model]))
    return windows


def _window_options(
    recorded_window: _RecordedWindow,
    requests: Sequence[TimelineRequest],
    agent: RecordedAgent,
    preset: str,
) -> list[tuple[int, str, str]]:
    """Return the windows that a model may have had, each in tokens with up to two sentences of reasons."""
    preset_window = _preset_window(get(preset))
    model = recorded_window.model
    recorded_tokens = round(recorded_window.window / agent.window_share)
    largest_prompt_tokens = max((request.reported or 0 for request in requests), default=0)
    listed_window = offline_window(model) if agent.uses_model_windows else 0
    model_name = model or "the model"
    template = "The window of {} is not recorded: {:,} tokens are taken, {}."
    reasons = {recorded_tokens: ""} if recorded_tokens else {}
    if not recorded_tokens and listed_window:
        reasons[listed_window] = template.format(
            model_name, listed_window, "as a list of models says"
        )
    if not recorded_tokens and preset_window not in reasons:
        reasons[preset_window] = template.format(model_name, preset_window, f"as {preset} does")
    options = [
        (window, reason, "")
        for window, reason in reasons.items()
        if window >= largest_prompt_tokens
    ]
    if options:
        return options
    larger_window = max(LONG_WINDOW_TOKENS, offline_window(model), largest_prompt_tokens)
    smaller_window = max(reasons)
    return [
        (
            larger_window,
            reasons[smaller_window] and f"The window of {model_name} is not recorded.",
            f"A prompt of {largest_prompt_tokens:,} reported tokens proves a window of more than {smaller_window:,}: {larger_window:,} are taken.",
        )
    ]


def _preset_window(policy: object) -> int:
    """Return the window that a preset's threshold refers to; 0 where the threshold is not based on one."""
    window = getattr(policy, "window", 0) if getattr(policy, "token_source", "") else 0
    return int(window)
