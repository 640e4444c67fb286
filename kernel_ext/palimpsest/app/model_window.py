"""Set a model's context window: configured, else known, else assumed, at most the configured cap.

Border: values to values. The catalog knows models; the context policy
(``context/budget/window_guard.py``) decides which configured number belongs to a model, and the precedence.
"""

from collections.abc import Mapping
from typing import Any

from palimpsest.context.budget.window_guard import resolve_window
from palimpsest.transcript.context_values.policies import GuardPolicy
from palimpsest.transcript.values import ModelInfo


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
