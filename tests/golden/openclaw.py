"""Convert recorded OpenClaw values to ours: fields are renamed, nothing is decided."""

from typing import Any

OLDEST = "v2026.2.26"
MIDDLE = "v2026.4.12"
NEWEST = "v2026.9.6"
UNDEFINED = {"$undefined": True}


def plain(value: Any) -> Any:
    """Return a recorded value with the values restored that JSON cannot express."""
    match value:
        case {"$undefined": True}:
            return None
        case {"$number": number}:
            return float(number)
        case dict():
            return {name: plain(one) for name, one in value.items() if one != UNDEFINED}
        case list():
            return [plain(one) for one in value]
        case _:
            return value


def models(config: Any) -> dict[str, dict[str, dict[str, Any]]]:
    """Return the configured windows by provider and model."""
    providers = ((config or {}).get("models") or {}).get("providers") or {}
    return {
        provider: {
            model["id"]: {
                "window": model.get("contextWindow"),
                "tokens": model.get("contextTokens"),
            }
            for model in (settings.get("models") or [])
            if isinstance(settings.get("models"), list)
        }
        for provider, settings in providers.items()
    }


def limits(config: Any) -> Any:
    """Return the configured history limits by provider."""
    channels = (config or {}).get("channels")
    return {name: _limits(one) for name, one in channels.items()} if channels else None


def _limits(settings: Any) -> Any:
    if not isinstance(settings, dict):
        return settings
    people = settings.get("dms") or {}
    return {
        "history_limit": settings.get("historyLimit"),
        "dm_history_limit": settings.get("dmHistoryLimit"),
        "dms": {name: {"history_limit": one.get("historyLimit")} for name, one in people.items()},
    }
