"""Say where a provider's prompt cache should be marked.

Providers that want explicit marks get them on the system prompt, which never changes, and on the two
newest messages, so that the next request finds its prefix (spec/session-engine.md 1.11).
"""

from collections.abc import Sequence

from palimpsest.transcript.provider_profile.profile import profile
from palimpsest.transcript.values import ModelInfo

SYSTEM_MARKS = 2
NEWEST_MARKS = 2


def cache_mark_positions(roles: Sequence[str], model: ModelInfo) -> tuple[int, ...]:
    """Return the positions of the provider messages that carry a cache mark."""
    if profile(model.ref).cache_marks == "none":
        return ()
    system = [i for i, role in enumerate(roles) if role == "system"][:SYSTEM_MARKS]
    newest = [i for i, role in enumerate(roles) if role != "system"][-NEWEST_MARKS:]
    return tuple(system + newest)
