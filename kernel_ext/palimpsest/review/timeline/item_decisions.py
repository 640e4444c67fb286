"""What all decisions together do to one item: reductions, exclusions, pins, and what undid them."""

from typing import NamedTuple

from palimpsest.transcript.context_values.decisions import PIN, Decision, EffectiveDecisions


class ItemEffect(NamedTuple):
    """What decisions do to an item."""

    reduction: Decision | None
    """The one that holds, if one does."""
    pinned: bool | None
    """Whether a person pinned it; None where nobody pinned or excluded it or its message."""
    by_itself: bool
    """It was pinned itself, and not only with its message."""


class ItemDecisions:
    """Keeps decisions by the part or message that they are about, and tells their effect on one of them.

    The effect is that of ``EffectiveDecisions`` over all decisions; only those about the part and its message
    bear on it, so that a long session costs no more for each.
    """

    def __init__(self) -> None:
        self._about: dict[str, list[tuple[int, Decision]]] = {}
        self._count = 0

    def add(self, decision: Decision) -> None:
        """Take the newest decision."""
        name = decision.part_id or decision.message_id
        if name is not None:
            self._count += 1
            self._about.setdefault(name, []).append((self._count, decision))

    def copied(self) -> "ItemDecisions":
        """Return a copy that may go on alone."""
        made = ItemDecisions()
        made._about = {name: [*about] for name, about in self._about.items()}
        made._count = self._count
        return made

    def effect(self, part_id: str, message_id: str) -> ItemEffect:
        """Return what all decisions about a part and its message do to it."""
        own = self._about.get(part_id, ())
        about = [*own, *self._about.get(message_id, ())]
        about.sort(key=lambda one: one[0])
        effective = EffectiveDecisions(tuple(decision for _, decision in about))
        return ItemEffect(
            effective.reduction(part_id, message_id),
            effective.pinned(part_id, message_id) if effective.edited else None,
            any(one.rule == PIN and one.part_id == part_id for _, one in own),
        )
