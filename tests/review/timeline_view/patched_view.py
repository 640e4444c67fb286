"""The newer of two views from the older one and what differs, as the front end makes it (``viewPatch.ts``)."""

from typing import Any

from palimpsest.review.timeline_view.view_patch import ViewPatch
from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.transcript.values import Value


def patched(before: TimelineView, patch: ViewPatch) -> TimelineView:
    """Return the newer view; ``before`` is the one that the patch was made for."""
    found: TimelineView = _put_back(before, patch.view, "", patch.kept)
    return found


def _put_back(before: Value, after: Value, path: str, kept: dict[str, tuple[int, ...]]) -> Any:
    update: dict[str, Any] = {}
    for name in type(after).model_fields:
        old, new = getattr(before, name), getattr(after, name)
        if isinstance(new, tuple) and path + name in kept:
            head, end = kept[path + name]
            update[name] = (*old[:head], *new, *old[len(old) - end :])
        elif isinstance(new, Value) and isinstance(old, Value):
            update[name] = _put_back(old, new, f"{path}{name}.", kept)
    return after.model_copy(update=update)
