"""The combined effect of all decisions on one item: reductions, exclusions, pins, and their reversals."""

from typing import NamedTuple

from palimpsest.transcript.context_values.decisions import PIN, Decision, EffectiveDecisions


class ItemEffect(NamedTuple):
    """The effect of all decisions on an item."""

    reduction: Decision | None
    """The decision that reduces the item, if there is one."""
    pinned: bool | None
    """Whether the user pinned the item; None where the user neither pinned nor excluded it or its message."""
    is_pinned_itself: bool
    """Whether the item itself was pinned, and not only its message."""


class ItemDecisions:
    """Stores decisions by their part or message; the time for an effect does not grow with the session."""

    def __init__(self) -> None:
        self._by_id: dict[str, list[tuple[int, Decision]]] = {}
        self._count = 0

    def add(self, decision: Decision) -> None:
        """Add the newest decision."""
        name = decision.part_id or decision.message_id
        if name is not None:
            self._count += 1
            self._by_id.setdefault(name, []).append((self._count, decision))

    def copy(self) -> "ItemDecisions":
        """Return a copy that continues independently."""
        duplicate = ItemDecisions()
        duplicate._by_id = {name: [*decisions] for name, decisions in self._by_id.items()}
        duplicate._count = self._count
        return duplicate

    def effect(self, part_id: str, message_id: str) -> ItemEffect:
        """Return the effect of all decisions about a part and its message."""
        part_decisions = self._by_id.get(part_id, ())
        decisions = [*part_decisions, *self._by_id.get(message_id, ())]
        decisions.sort(key=lambda numbered: numbered[0])
        effective = EffectiveDecisions(tuple(decision for _, decision in decisions))
        return ItemEffect(
            effective.reduction(part_id, message_id),
            effective.is_pinned(part_id, message_id) if effective.edited_ids else None,
            any(
                own_decision.rule == PIN and own_decision.part_id == part_id
                for _, own_decision in part_decisions
            ),
        )
