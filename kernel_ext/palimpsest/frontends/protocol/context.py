"""Compact, choose the context policy, pin or exclude a part, and report what fills the context window."""

from palimpsest.transcript.values import Value


class ContextFill(Value):
    """What filled the context window in the newest request."""

    tokens: int
    """Estimated, like the numbers in ``kinds``."""
    kinds: dict[str, int] = {}
    window: int
    """0 where the model has no limit."""
    reserve: int
    message_id: str | None = None
    """The message that answers the request; it has the numbers that the provider reported."""
