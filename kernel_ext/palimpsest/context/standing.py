"""What holds for each part after all the decisions about it.

Border: pure, and the same in the live loop and in review. Decisions about a part are a pile: a
reduction or a pin is put on it, and ``restore`` takes the newest one off, so that a cleared output
is again as it was before, whole or as it was cut when its tool ended.
"""

from dataclasses import dataclass, field

from palimpsest.transcript.decisions import Decision
from palimpsest.transcript.messages import Messages

REDUCTIONS = frozenset({"truncate", "clear", "drop"})
LIFTED = frozenset({"clear", "drop"})
"""What a pin shows again while it stands; how an output was cut stays."""

PRUNE_RULE = "prune/"
"""Begins the rule of whatever prune decides; what it takes back itself is no person's wish."""


@dataclass(slots=True)
class _Pile:
    decisions: list[Decision] = field(default_factory=list)
    restored: bool = False
    """A person took the newest reduction off."""

    def add(self, decision: Decision) -> None:
        if decision.action == "restore":
            undone = self.decisions.pop() if self.decisions else None
            by_hand = not decision.rule.startswith(PRUNE_RULE)
            self.restored = by_hand and (undone is None or undone.action != "pin")
        elif decision.action == "pin" or decision.action in REDUCTIONS:
            self.decisions.append(decision)
            self.restored = False

    @property
    def pinned(self) -> bool:
        return any(decision.action == "pin" for decision in self.decisions)

    def reduction(self, *, pinned: bool) -> Decision | None:
        """Return the newest reduction; a pin, of the part or of its message, lifts what hides."""
        for decision in reversed(self.decisions):
            if decision.action in REDUCTIONS and not (pinned and decision.action in LIFTED):
                return decision
        return None


def standing(decisions: tuple[Decision, ...]) -> dict[str, Decision]:
    """Return the reduction that holds for each part."""
    piles = _piles(decisions)
    pinned = {name for name, pile in piles.items() if pile.pinned}
    found = {}
    for part_id, pile in piles.items():
        own = next((one for one in pile.decisions if one.part_id), None)
        if own is None:
            continue
        reduction = pile.reduction(pinned=part_id in pinned or own.message_id in pinned)
        if reduction is not None:
            found[part_id] = reduction
    return found


def pinned_parts(messages: Messages, decisions: tuple[Decision, ...]) -> frozenset[str]:
    """Return the parts that nothing may reduce: those that a person pinned, alone or by message."""
    pinned = {name for name, pile in _piles(decisions).items() if pile.pinned}
    return frozenset(
        part.id
        for message in messages
        for part in message.parts
        if part.id in pinned or message.id in pinned or getattr(part, "pinned", False)
    )


def restored_parts(decisions: tuple[Decision, ...]) -> frozenset[str]:
    """Return the parts that a person made visible again; no rule hides them a second time."""
    return frozenset(name for name, pile in _piles(decisions).items() if pile.restored)


def _piles(decisions: tuple[Decision, ...]) -> dict[str, _Pile]:
    piles: dict[str, _Pile] = {}
    for decision in decisions:
        name = decision.part_id or decision.message_id
        if name is not None:
            piles.setdefault(name, _Pile()).add(decision)
    return piles
