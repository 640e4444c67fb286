"""Determine a model's context window, and refuse a window that is too small to work in before anything is sent.

Border: values to values. The catalog provides the known window; this module chooses the configured number for a model,
else the known one, else a default, and at most the cap. Sources and limits are those of OpenClaw: its oldest rule
compares exact provider names and fixed numbers of tokens, the newer rule accepts other spellings of a provider and
compares shares of a reference window.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.transcript.context_values.policies import GuardPolicy
from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.provider_profile.recorded_agents import openclaw_provider
from palimpsest.transcript.values import ModelInfo

DEFAULT_WINDOW = 200_000
"""Tokens assumed for a model whose window is unknown."""

WindowSource = Literal["configured", "model", "cap", "default"]


@dataclass(frozen=True, slots=True)
class WindowSize:
    """The size of a context window in tokens, and where the number comes from."""

    tokens: int
    source: WindowSource


@dataclass(frozen=True, slots=True)
class WindowGuard:
    """Whether a window is large enough to work in."""

    tokens: int
    source: WindowSource
    hard_minimum: int
    warn_below: int
    warns: bool
    blocks: bool


PROVIDER_NAME_FORMS: dict[str, Callable[[str], str]] = {
    "exact": str,
    "plain": lambda name: name.strip().lower(),
    "aliases": openclaw_provider,
}
"""Functions that bring a provider's name into the form in which a policy compares it."""


def resolve_window(
    provider: str,
    name: str,
    *,
    models: Mapping[str, Mapping[str, Mapping[str, Any]]],
    model: Mapping[str, Any],
    cap: object = None,
    default: int = DEFAULT_WINDOW,
    policy: GuardPolicy,
) -> WindowSize:
    """Return the window of a model: configured, else known, else the default; at most the cap.

    ``models`` maps a provider and a model's name to configured numbers, ``model`` has the known numbers of this model:
    ``window``, and ``tokens`` where fewer are to be used. Numbers that are not finite and positive do not count.
    """
    uses_usable_tokens = policy.usable_tokens
    settings = _configured_values(models, provider, name, policy)
    size = (
        _window_size(
            _configured_tokens(settings, uses_usable_tokens=uses_usable_tokens), "configured"
        )
        or _window_size(_configured_tokens(model, uses_usable_tokens=uses_usable_tokens), "model")
        or WindowSize(default, "default")
    )
    max_tokens = _positive_int(cap) if policy.capped else None
    return (
        WindowSize(max_tokens, "cap")
        if max_tokens is not None and max_tokens < size.tokens
        else size
    )


def evaluate_guard(window: WindowSize, policy: GuardPolicy) -> WindowGuard:
    """Return whether to warn of a window, or to refuse it; under the fixed rule a window of 0 is unknown, not small."""
    tokens = window.tokens
    if policy.rule == "fixed":
        hard_minimum, warn_below = max(1, policy.hard_minimum), max(1, policy.warn_below)
        is_known = tokens > 0
        warns, blocks = is_known and tokens < warn_below, is_known and tokens < hard_minimum
    else:
        hard_minimum = max(1, policy.hard_minimum, int(tokens * policy.hard_share))
        warn_below = max(1, policy.warn_below, int(tokens * policy.warn_share))
        warns, blocks = tokens <= 0 or tokens < warn_below, tokens <= 0 or tokens < hard_minimum
    return WindowGuard(tokens, window.source, hard_minimum, warn_below, warns, blocks)


NO_LIMIT = "no limit"
"""Shown instead of a size where the settings say that a window has no limit."""
TOO_SMALL = (
    "{model} has a context window of {tokens:,} tokens, and an agent needs {minimum:,} at least to work. "
    "Nothing was sent. Choose another model with --model; if its window is larger, write it into palimpsest.toml "
    'as window below [models."{model}"].'
)
TOO_MANY_TOOLS = (
    "{model} takes {limit} tools at most in one request, and {count} are offered. Nothing was sent. Name those that "
    "are needed with --tools, take an MCP server out of palimpsest.toml, or choose another model with --model."
)


def tool_limit(model: ModelInfo) -> int | None:
    """Return the maximum number of tools in a request to a model; None where it is not known."""
    # A server at another address has its own limits.
    return profile(model.ref).max_tools if model.api_base is None else None


def tool_count_refusal(model: ModelInfo, tool_count: int) -> str | None:
    """Return why a model cannot be offered this many tools; None where it can, or its limit is unknown."""
    max_tools = tool_limit(model)
    if max_tools is None or tool_count <= max_tools:
        return None
    return TOO_MANY_TOOLS.format(model=model.ref.id, limit=max_tools, count=tool_count)


def window_text(model: ModelInfo, policy: GuardPolicy) -> str:
    """Return a model's window for a list, with its remark if any: ``200,000 (assumed)``."""
    return f"{model.window:,}{window_remark(model, policy)}" if model.window else NO_LIMIT


def window_remark(model: ModelInfo, policy: GuardPolicy) -> str:
    """Return a remark in brackets on a window, such as that it is too small; usually empty."""
    guard = _evaluate_window(model, policy)
    if guard.blocks:
        return f" (too small: an agent needs {guard.hard_minimum:,})"
    if guard.warns:
        return f" (small: it is summarised often below {guard.warn_below:,})"
    return " (assumed)" if model.window_assumed else ""


def window_refusal(model: ModelInfo, policy: GuardPolicy) -> str | None:
    """Return why no request may be sent to a model; None when its window is large enough, or has no limit."""
    guard = _evaluate_window(model, policy)
    if not (model.window and guard.blocks):
        return None
    numbers = {"tokens": guard.tokens, "minimum": guard.hard_minimum, "source": guard.source}
    return (policy.refusal or TOO_SMALL).format(model=model.ref.id, **numbers)


SMALL_WINDOW = (
    "{model} has a small context window: {tokens:,} tokens. Below {below:,} the conversation is summarised often, and details "
    "get lost. Choose a model with a larger one with --model; if its window is larger, write it into palimpsest.toml as window "
    'below [models."{model}"].'
)


def window_warning(model: ModelInfo, policy: GuardPolicy) -> str | None:
    """Return a warning to the user about a small window; None where it is large enough, or refused."""
    guard = _evaluate_window(model, policy)
    if not model.window or guard.blocks or not guard.warns:
        return None
    return SMALL_WINDOW.format(model=model.ref.id, tokens=guard.tokens, below=guard.warn_below)


def _evaluate_window(model: ModelInfo, policy: GuardPolicy) -> WindowGuard:
    source: WindowSource = "default" if model.window_assumed else "model"
    return evaluate_guard(WindowSize(model.window, source), policy)


def _configured_values(
    models: Mapping[str, Mapping[str, Mapping[str, Any]]],
    provider: str,
    name: str,
    policy: GuardPolicy,
) -> Mapping[str, Any]:
    normalised = PROVIDER_NAME_FORMS[policy.provider_names]
    for configured_provider, settings in models.items():
        if name in settings and (
            configured_provider == provider
            or normalised(configured_provider) == normalised(provider)
        ):
            return settings[name]
    return {}


def _configured_tokens(settings: Mapping[str, Any], *, uses_usable_tokens: bool) -> int | None:
    usable_tokens = _positive_int(settings.get("tokens")) if uses_usable_tokens else None
    return usable_tokens if usable_tokens is not None else _positive_int(settings.get("window"))


def _window_size(tokens: int | None, source: WindowSource) -> WindowSize | None:
    return None if tokens is None else WindowSize(tokens, source)


def _positive_int(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return math.floor(value) if math.floor(value) > 0 else None


def with_window(
    info: ModelInfo, configured: Mapping[str, Any], cap: int | None, policy: GuardPolicy
) -> ModelInfo:
    """Return a model with its context window; ``configured`` maps model ids to settings, ``cap`` is in tokens.

    A cap lowers the window itself, so that every share is computed from the rest. A window of 0 means no
    limit but the cap.
    """
    if not info.window:
        return info.model_copy(update={"window": cap or 0})
    size = resolve_window(
        info.ref.provider,
        info.ref.name,
        models=_by_provider(configured),
        model={} if info.window_assumed else {"window": info.window},
        cap=cap,
        default=info.window,
        policy=policy,
    )
    # The newest recorded rule applies the cap elsewhere; here it is applied under every policy.
    window = min(size.tokens, cap) if cap else size.tokens
    is_assumed = info.window_assumed and size.source != "configured"
    if (window, is_assumed) == (info.window, info.window_assumed):
        return info
    return info.model_copy(update={"window": window, "window_assumed": is_assumed})


def _by_provider(configured: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    by_provider: dict[str, dict[str, dict[str, Any]]] = {}
    for model_id, settings in configured.items():
        provider, slash, name = model_id.partition("/")
        if slash:
            values = settings if isinstance(settings, Mapping) else settings.model_dump()
            by_provider.setdefault(provider, {})[name] = {"window": values.get("window")}
    return by_provider
