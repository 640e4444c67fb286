"""Items that no policy may change in a replay: what a person pinned, reverted or took out."""

from collections.abc import Sequence

from palimpsest.review.policies.policy import Change
from palimpsest.transcript.timeline import Timeline


class HeldItems:
    """The items that stay as a person decided; a call stays with its pinned result."""

    def __init__(self, timeline: Timeline) -> None:
        pinned = {item.index for item in timeline.items if item.pinned}
        groups = {timeline.items[index].group for index in pinned} - {""}
        self._pinned = pinned | {item.index for item in timeline.items if item.group in groups}
        self._held = set(self._pinned)

    def decide(self, change: Change) -> None:
        """Note what a person decided about an item."""
        if change.state == "whole":
            self._held -= {change.item} - self._pinned
        else:
            self._held.add(change.item)

    def permitted(self, changes: Sequence[Change]) -> Sequence[Change]:
        """Return the decisions of a policy without those about held items; a summary is kept."""
        if not self._held or all(one.item not in self._held for one in changes):
            return changes
        found = [one for one in changes if one.item not in self._held]
        lost = sum(
            one.tokens or 0
            for one in changes
            if one.item in self._held and one.state == "summarised"
        )
        place = next((i for i, one in enumerate(found) if one.state == "summarised"), None)
        if lost and place is not None:
            moved = found[place]
            found[place] = moved._replace(tokens=(moved.tokens or 0) + lost)
        return found
