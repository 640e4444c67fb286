"""Say where a provider's prompt cache should be marked.

Providers that want explicit marks (Anthropic and its resellers) get them on the system prompt,
which never changes, and on the two newest messages, so that the next request finds its prefix
(spec/session-engine.md 1.11).
"""

from collections.abc import Sequence

from palimpsest.transcript.values import ModelInfo

MARKED_FAMILIES = ("anthropic", "claude")
SYSTEM_MARKS = 2
NEWEST_MARKS = 2


def marks(roles: Sequence[str], model: ModelInfo) -> tuple[int, ...]:
    """Return the positions of the provider messages that carry a cache mark."""
    if not any(family in model.ref.id.lower() for family in MARKED_FAMILIES):
        return ()
    system = [i for i, role in enumerate(roles) if role == "system"][:SYSTEM_MARKS]
    newest = [i for i, role in enumerate(roles) if role != "system"][-NEWEST_MARKS:]
    return tuple(system + newest)
