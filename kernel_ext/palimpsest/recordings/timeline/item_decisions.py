"""The combined effect of all decisions on one item: reductions, exclusions, pins, and what undid them."""

from typing import NamedTuple

from palimpsest.transcript.context_values.decisions import PIN, Decision, EffectiveDecisions


class ItemEffect(NamedTuple):
    """What decisions do to an item."""

    reduction: Decision | None
    """The decision that reduces it, if there is one."""
    pinned: bool | None
    """Whether the user pinned it; None where nobody pinned or excluded it or its message."""
    by_itself: bool
    """Whether it was pinned itself, and not only with its message."""


class ItemDecisions:
    """Keeps decisions by their part or message; the cost of each effect does not grow with the session."""

    def __init__(self) -> None:
        self._about: dict[str, list[tuple[int, Decision]]] = {}
        self._count = 0

    def add(self, decision: Decision) -> None:
        """Add the newest decision."""
        name = decision.part_id or decision.message_id
        if name is not None:
            self._count += 1
            self._about.setdefault(name, []).append((self._count, decision))

    def copy(self) -> "ItemDecisions":
        """Return a copy that continues independently."""
        duplicate = ItemDecisions()
        duplicate._about = {name: [*decisions] for name, decisions in self._about.items()}
        duplicate._count = self._count
        return duplicate

    def effect(self, part_id: str, message_id: str) -> ItemEffect:
        """Return the effect of all decisions about a part and its message."""
        part_decisions = self._about.get(part_id, ())
        decisions = [*part_decisions, *self._about.get(message_id, ())]
        decisions.sort(key=lambda placed: placed[0])
        effective = EffectiveDecisions(tuple(decision for _, decision in decisions))
        return ItemEffect(
            effective.reduction(part_id, message_id),
            effective.pinned(part_id, message_id) if effective.edited else None,
            any(
                own_decision.rule == PIN and own_decision.part_id == part_id
                for _, own_decision in part_decisions
            ),
        )
