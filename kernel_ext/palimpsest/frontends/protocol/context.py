"""The fill of the context window, as a page shows it."""

from palimpsest.transcript.values import Value


class ContextFill(Value):
    """The fill of the context window in the newest request."""

    tokens: int
    """Estimated, like the numbers in ``kinds``."""
    kinds: dict[str, int] = {}
    window: int
    """0 where the model has no limit."""
    reserve: int
    message_id: str | None = None
    """The message that answers the request, which has the numbers reported by the provider."""
