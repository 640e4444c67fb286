"""The wastes of one session in a corpus: the total of each kind, the remedies, and what its requests reported."""

from collections import defaultdict
from typing import Any

from palimpsest.review.session_review import SessionReview
from palimpsest.review.tables.cache_breaks import avoided_by
from palimpsest.transcript.timeline import Timeline

KEPT_WARM = "requests that keep the cache warm through a pause"
SHORTER_OUTPUTS = "shorter outputs, or clearing them sooner"
_REMEDIES = {
    "again": "not reading again what is still in the context",
    "unused": SHORTER_OUTPUTS,
    "large": SHORTER_OUTPUTS,
    "idle": "clearing large outputs after their last use",
}
"""The remedy against each kind of waste except cache breaks."""


def session_wastes(review: SessionReview) -> dict[str, Any]:
    """Return the wastes of a session as plain values.

    ``kinds`` has the number and cost of each kind. ``remedies`` has the cost of the wastes that each remedy addresses; less
    would have been saved, since a remedy has its own cost. ``reported`` has the tokens that each request reported, by
    its id, and its time; empty where one reported none.
    """
    price, timeline = review.price(None), review.timeline
    wastes = review.wastes()
    remedies: dict[str, float] = defaultdict(float)
    for cache_break in review.breaks():
        remedy = avoided_by(timeline, cache_break, price)
        if remedy:
            remedies[KEPT_WARM if cache_break.cause == "idle" else remedy] += cache_break.cost
    for kind in wastes.kinds:
        if remedy := _REMEDIES.get(kind.kind, ""):
            remedies[remedy] += kind.cost
    return {
        "session": timeline.session,
        "unit": wastes.unit,
        "is_fact": all(kind.cost_is_fact for kind in wastes.kinds),
        "kinds": {kind.kind: [kind.count, kind.cost] for kind in wastes.kinds},
        "remedies": dict(remedies),
        "reported": _reported_requests(timeline),
    }


def _reported_requests(timeline: Timeline) -> dict[str, tuple[str, int | None]]:
    if any(request.reported is None for request in timeline.requests):
        return {}
    return {
        request.id: (f"{usage.input} {usage.cache_read} {usage.cache_write}", request.started)
        for request in timeline.requests
        if (usage := request.usage) is not None
    }
