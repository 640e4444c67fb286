"""Determine a model's context window, and refuse one that is too small to work in before anything is sent.

Border: values to values. The catalog knows models; here it is decided which configured number belongs to a
model, and which number goes first: a configured one, else the known one, else an assumed one, and at most the cap.
Where the window comes from and what is too small follows spec/context-stability.md 1.1; the
oldest rule looks for the exact provider name and compares the window with fixed numbers of tokens,
the newer one accepts other spellings of a provider and compares with shares of a reference window.
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


NAMES: dict[str, Callable[[str], str]] = {
    "exact": str,
    "plain": lambda name: name.strip().lower(),
    "aliases": openclaw_provider,
}


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

    ``models`` maps a provider and a model's name to configured numbers, ``model`` holds what is
    known of this one: ``window``, and ``tokens`` where fewer of them are to be used. Numbers
    that are not finite and positive do not count.
    """
    tokens = policy.usable_tokens
    settings = _configured(models, provider, name, policy)
    found = (
        _window(_number(settings, tokens=tokens), "configured")
        or _window(_number(model, tokens=tokens), "model")
        or WindowSize(default, "default")
    )
    limit = _positive(cap) if policy.capped else None
    return WindowSize(limit, "cap") if limit is not None and limit < found.tokens else found


def evaluate_guard(window: WindowSize, policy: GuardPolicy) -> WindowGuard:
    """Return whether to warn of a window, or to refuse to work in it; to the fixed rule one of 0 is unknown, not small."""
    tokens = window.tokens
    if policy.rule == "fixed":
        hard, warn = max(1, policy.hard_minimum), max(1, policy.warn_below)
        known = tokens > 0
        warns, blocks = known and tokens < warn, known and tokens < hard
    else:
        hard = max(1, policy.hard_minimum, int(tokens * policy.hard_share))
        warn = max(1, policy.warn_below, int(tokens * policy.warn_share))
        warns, blocks = tokens <= 0 or tokens < warn, tokens <= 0 or tokens < hard
    return WindowGuard(tokens, window.source, hard, warn, warns, blocks)


NO_LIMIT = "no limit"
"""Shown instead of a size where the settings say that a window has no limit."""
TOO_SMALL = (
    "{model} has a context window of {tokens:,} tokens, and an agent needs {minimum:,} at least to work. "
    "Nothing was sent. Choose another model with --model; if its window is larger, write it into palimpsest.toml "
    'as window below [models."{model}"].'
)


TOO_MANY_TOOLS = (
    "{model} takes {most} tools at most in one request, and {count} are offered. Nothing was sent. Name those that "
    "are needed with --tools, take an MCP server out of palimpsest.toml, or choose another model with --model."
)


def most_tools(model: ModelInfo) -> int | None:
    """Return how many tools a request to a model may offer; None where that is not known."""
    # A server at another address has limits of its own.
    return profile(model.ref).max_tools if model.api_base is None else None


def too_many_tools(model: ModelInfo, count: int) -> str | None:
    """Return why so many tools cannot be offered to a model; None where they can, or its limit is unknown."""
    most = most_tools(model)
    if most is None or count <= most:
        return None
    return TOO_MANY_TOOLS.format(model=model.ref.id, most=most, count=count)


def window_text(model: ModelInfo, policy: GuardPolicy) -> str:
    """Return a model's window as a list shows it, with a remark where there is one: ``200,000 (assumed)``."""
    return f"{model.window:,}{window_remark(model, policy)}" if model.window else NO_LIMIT


def window_remark(model: ModelInfo, policy: GuardPolicy) -> str:
    """Return a remark in brackets on a window, such as that it is too small; usually empty."""
    found = _found(model, policy)
    if found.blocks:
        return f" (too small: an agent needs {found.hard_minimum:,})"
    if found.warns:
        return f" (small: it is summarised often below {found.warn_below:,})"
    return " (assumed)" if model.window_assumed else ""


def window_refusal(model: ModelInfo, policy: GuardPolicy) -> str | None:
    """Return why nothing may be sent to a model; None when its window is large enough, or has no limit."""
    found = _found(model, policy)
    if not (model.window and found.blocks):
        return None
    numbers = {"tokens": found.tokens, "minimum": found.hard_minimum, "source": found.source}
    return (policy.refusal or TOO_SMALL).format(model=model.ref.id, **numbers)


SMALL = (
    "{model} has a small context window: {tokens:,} tokens. Below {below:,} the conversation is summarised often, and details "
    "get lost. Choose a model with a larger one with --model; if its window is larger, write it into palimpsest.toml as window "
    'below [models."{model}"].'
)


def window_warning(model: ModelInfo, policy: GuardPolicy) -> str | None:
    """Return a warning to the user about a small window; None where it is large enough, or refused."""
    found = _found(model, policy)
    if not model.window or found.blocks or not found.warns:
        return None
    return SMALL.format(model=model.ref.id, tokens=found.tokens, below=found.warn_below)


def _found(model: ModelInfo, policy: GuardPolicy) -> WindowGuard:
    source: WindowSource = "default" if model.window_assumed else "model"
    return evaluate_guard(WindowSize(model.window, source), policy)


def _configured(
    models: Mapping[str, Mapping[str, Mapping[str, Any]]],
    provider: str,
    name: str,
    policy: GuardPolicy,
) -> Mapping[str, Any]:
    called = NAMES[policy.provider_names]
    for known, settings in models.items():
        if name in settings and (known == provider or called(known) == called(provider)):
            return settings[name]
    return {}


def _number(settings: Mapping[str, Any], *, tokens: bool) -> int | None:
    usable = _positive(settings.get("tokens")) if tokens else None
    return usable if usable is not None else _positive(settings.get("window"))


def _window(tokens: int | None, source: WindowSource) -> WindowSize | None:
    return None if tokens is None else WindowSize(tokens, source)


def _positive(value: object) -> int | None:
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
    found = resolve_window(
        info.ref.provider,
        info.ref.name,
        models=_by_provider(configured),
        model={} if info.window_assumed else {"window": info.window},
        cap=cap,
        default=info.window,
        policy=policy,
    )
    # The newest recorded rule applies the cap elsewhere; here it is applied under every policy.
    window = min(found.tokens, cap) if cap else found.tokens
    assumed = info.window_assumed and found.source != "configured"
    if (window, assumed) == (info.window, info.window_assumed):
        return info
    return info.model_copy(update={"window": window, "window_assumed": assumed})


def _by_provider(configured: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for model_id, settings in configured.items():
        provider, slash, name = model_id.partition("/")
        if slash:
            values = settings if isinstance(settings, Mapping) else settings.model_dump()
            found.setdefault(provider, {})[name] = {"window": values.get("window")}
    return found
