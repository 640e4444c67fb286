"""The difference between two views of a session that grows.

A view consists mostly of lists that grow at their ends, so a patch is the newer view without the values at the
beginning and end of each list that the older view has, too. The front end restores them
(``labextension/src/state/inspector/viewPatch.ts``).
"""

from collections.abc import Sequence
from typing import Any

from palimpsest.review.timeline_view.view_values import TimelineView
from palimpsest.transcript.growing_lists import common_beginning
from palimpsest.transcript.values import Value


class ViewPatch(Value):
    """A newer view, without the values of its lists that an older view has, too."""

    after: int
    """``seq`` of the older view, which is of the same epoch."""
    kept: dict[str, tuple[int, ...]] = {}
    """For each list, the number of the older view's first values that precede the given ones, and of its last values that
    follow them; other lists are given whole. Names of inner fields follow a dot."""
    view: TimelineView


def patch_of(before: TimelineView, after: TimelineView) -> ViewPatch:
    """Return the patch that turns the older of two views into the newer one."""
    shared_lengths: dict[str, tuple[int, ...]] = {}
    return ViewPatch(
        after=before.seq,
        kept=shared_lengths,
        view=_without_shared(before, after, "", shared_lengths),
    )


def _without_shared(
    before: Value, after: Value, field_prefix: str, shared_lengths: dict[str, tuple[int, ...]]
) -> Any:
    update: dict[str, Any] = {}
    for name in type(after).model_fields:
        old_value, new_value = getattr(before, name), getattr(after, name)
        if isinstance(new_value, tuple):
            head_count, end_count = _shared_ends(old_value, new_value)
            if head_count or end_count:
                shared_lengths[field_prefix + name] = head_count, end_count
                update[name] = new_value[head_count : len(new_value) - end_count]
        elif isinstance(new_value, Value) and isinstance(old_value, Value):
            update[name] = _without_shared(
                old_value, new_value, f"{field_prefix}{name}.", shared_lengths
            )
    return after.model_copy(update=update)


def _shared_ends(old: Sequence[Any], new: Sequence[Any]) -> tuple[int, int]:
    """Return how many values two lists share at their beginnings, and how many of the others at their ends."""
    head_count = common_beginning(old, new)
    remaining = min(len(old), len(new)) - head_count
    end_count = common_beginning(
        old[len(old) - remaining :][::-1], new[len(new) - remaining :][::-1]
    )
    return head_count, end_count
