"""Items that no policy may change in a replay, because the user pinned, reverted or excluded them."""

from collections.abc import Sequence

from palimpsest.context_policies.interface.policy import Change
from palimpsest.transcript.timeline import Timeline


class FixedItems:
    """The items whose state the user decided; a call stays with its pinned result."""

    def __init__(self, timeline: Timeline) -> None:
        pinned = {item.index for item in timeline.items if item.pinned}
        groups = {timeline.items[index].group for index in pinned} - {""}
        self._pinned = pinned | {item.index for item in timeline.items if item.group in groups}
        self._fixed_indexes = set(self._pinned)

    def add_decision(self, change: Change) -> None:
        """Add the user's decision about an item."""
        if change.state == "whole":
            self._fixed_indexes -= {change.item} - self._pinned
        else:
            self._fixed_indexes.add(change.item)

    def permitted_changes(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Return a policy's changes to other items; the size of a summary moves to another change where its item is fixed."""
        if not self._fixed_indexes or all(
            change.item not in self._fixed_indexes for change in changes
        ):
            return changes
        allowed_changes = [change for change in changes if change.item not in self._fixed_indexes]
        summary_tokens = sum(
            change.tokens or 0
            for change in changes
            if change.item in self._fixed_indexes and change.state == "summarised"
        )
        position = next(
            (i for i, change in enumerate(allowed_changes) if change.state == "summarised"), None
        )
        if summary_tokens and position is not None:
            summary = allowed_changes[position]
            tokens = (summary.tokens or 0) + summary_tokens
            allowed_changes[position] = summary._replace(tokens=tokens)
        return allowed_changes
