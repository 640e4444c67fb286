"""What all decisions together do to one item: reductions, exclusions, pins, and what undid them."""

from palimpsest.transcript.context_values.decisions import Decision, EffectiveDecisions


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

    def effect(self, part_id: str, message_id: str) -> tuple[Decision | None, bool]:
        """Return the reduction that holds for a part, if one does, and whether a person pinned it."""
        about = [*self._about.get(part_id, ()), *self._about.get(message_id, ())]
        about.sort(key=lambda one: one[0])
        effective = EffectiveDecisions(tuple(decision for _, decision in about))
        return effective.reduction(part_id, message_id), effective.pinned(part_id, message_id)
