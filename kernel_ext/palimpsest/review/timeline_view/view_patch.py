"""What differs between two views of a session that grows.

Nearly all of a view are lists that grow at their ends, so a patch is the newer view with the beginning and the
end of each list left out that the older one has as well. The front end puts them back
(``labextension/src/state/inspector/viewPatch.ts``).
"""

from collections.abc import Sequence
from typing import Any

from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.transcript.growing_lists import common_beginning
from palimpsest.transcript.values import Value


class ViewPatch(Value):
    """A newer view, with what an older one has left out of its lists."""

    after: int
    """``seq`` of the older view, which is of the same epoch."""
    kept: dict[str, tuple[int, ...]] = {}
    """Of each list how many values of the older one come before those given here, and how many of its last ones
    after them; lists that are not named here are given whole. Names of inner fields follow a dot."""
    view: TimelineView


def patch_of(before: TimelineView, after: TimelineView) -> ViewPatch:
    """Return what makes the newer of two views from the older one."""
    kept: dict[str, tuple[int, ...]] = {}
    return ViewPatch(after=before.seq, kept=kept, view=_left_out(before, after, "", kept))


def _left_out(before: Value, after: Value, path: str, kept: dict[str, tuple[int, ...]]) -> Any:
    update: dict[str, Any] = {}
    for name in type(after).model_fields:
        old, new = getattr(before, name), getattr(after, name)
        if isinstance(new, tuple):
            head, end = _common(old, new)
            if head or end:
                kept[path + name] = head, end
                update[name] = new[head : len(new) - end]
        elif isinstance(new, Value) and isinstance(old, Value):
            update[name] = _left_out(old, new, f"{path}{name}.", kept)
    return after.model_copy(update=update)


def _common(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Return how many values two lists share at their beginnings, and how many of the others at their ends."""
    head = common_beginning(old, new)
    most = min(len(old), len(new)) - head
    end = common_beginning(old[len(old) - most :][::-1], new[len(new) - most :][::-1])
    return head, end
