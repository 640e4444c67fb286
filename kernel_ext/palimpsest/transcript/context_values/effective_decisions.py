"""What all decisions about a part come to: a pile for each part and each message.

Border: pure, for whoever reads decisions. A reduction or a pin is put on the pile, and ``restore``
takes the newest one off, so that a cleared output is again as it was before, whole or as it was cut
when its tool ended. A pin or an exclusion may be about a whole message; of those that reach a
part, the newest holds.
"""

from dataclasses import dataclass, field

from palimpsest.transcript.context_values.decisions import RESTORE, UNPIN, Decision
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE as PRUNE_RULE
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Part

REDUCTIONS = frozenset({"truncate", "clear", "drop"})
LIFTED_BY_PIN = frozenset({"clear", "drop"})
"""What a pin shows again while it stands; how an output was cut stays."""
USER_EDITS = frozenset({"pin", "drop"})
"""What a person decides about a part or a whole message."""


@dataclass(slots=True)
class _DecisionStack:
    decisions: list[tuple[int, Decision]] = field(default_factory=list)
    """Each with its place among all decisions."""
    restored: bool = False
    """A person took the newest reduction off."""

    def add(self, at: int, decision: Decision) -> None:
        if decision.action == "restore":
            undone = self._take(decision.rule)
            by_hand = not decision.rule.startswith(PRUNE_RULE)
            self.restored = by_hand and (undone is None or undone.action != "pin")
        elif decision.action == "pin" or decision.action in REDUCTIONS:
            self.decisions.append((at, decision))
            self.restored = False

    def _take(self, rule: str) -> Decision | None:
        """Take off the newest decision that a restoring rule is about."""
        for position in range(len(self.decisions) - 1, -1, -1):
            decision = self.decisions[position][1]
            is_pin = decision.action == "pin"
            if (rule == UNPIN and not is_pin) or (rule == RESTORE and is_pin):
                continue
            del self.decisions[position]
            return decision
        return None

    def edits(self) -> list[tuple[int, Decision]]:
        return [(at, decision) for at, decision in self.decisions if decision.action in USER_EDITS]

    def reduction(self, *, pinned: bool) -> Decision | None:
        """Return the newest reduction; a pin, of the part or of its message, lifts what hides."""
        for _, decision in reversed(self.decisions):
            if decision.action in REDUCTIONS and not (pinned and decision.action in LIFTED_BY_PIN):
                return decision
        return None


class EffectiveDecisions:
    """What all decisions together say of each part."""

    def __init__(self, decisions: tuple[Decision, ...]) -> None:
        self._stacks = _stacks(decisions)
        self.edited = frozenset(name for name, pile in self._stacks.items() if pile.edits())
        """Parts and messages that a person pinned or left out."""
        self.restored = frozenset(name for name, pile in self._stacks.items() if pile.restored)
        """Parts and messages that a person brought back."""

    def reduction(self, part_id: str, message_id: str | None) -> Decision | None:
        """Return the reduction that holds for a part."""
        wish = self._wish(part_id, message_id)
        if wish is not None and wish.action == "drop":
            return wish
        pile = self._stacks.get(part_id)
        return pile.reduction(pinned=wish is not None) if pile is not None else None

    def pinned(self, part_id: str, message_id: str | None) -> bool:
        """Tell whether a person keeps a part from every reduction."""
        wish = self._wish(part_id, message_id)
        return wish is not None and wish.action == "pin"

    def edit(self, name: str) -> Decision | None:
        """Return the newest pin or exclusion of exactly this part or message."""
        pile = self._stacks.get(name)
        wishes = pile.edits() if pile is not None else []
        return wishes[-1][1] if wishes else None

    def _wish(self, part_id: str, message_id: str | None) -> Decision | None:
        """Return the newest pin or exclusion that reaches a part."""
        piles = (self._stacks.get(name) for name in (part_id, message_id) if name is not None)
        reaching = [wish for pile in piles if pile is not None for wish in pile.edits()]
        return max(reaching, key=lambda wish: wish[0])[1] if reaching else None


def _stacks(decisions: tuple[Decision, ...]) -> dict[str, _DecisionStack]:
    piles: dict[str, _DecisionStack] = {}
    for at, decision in enumerate(decisions):
        name = decision.part_id or decision.message_id
        if name is not None:
            piles.setdefault(name, _DecisionStack()).add(at, decision)
    return piles


def effective_reductions(decisions: tuple[Decision, ...]) -> dict[str, Decision]:
    """Return the reduction that holds for each part that was decided about by itself."""
    holding = EffectiveDecisions(decisions)
    homes: dict[str, str | None] = {}
    for one in decisions:
        if one.part_id is not None:
            homes[one.part_id] = one.message_id or homes.get(one.part_id)
    found = {}
    for part_id, message_id in homes.items():
        reduction = holding.reduction(part_id, message_id)
        if reduction is not None:
            found[part_id] = reduction
    return found


def pinned_parts(messages: Messages, decisions: tuple[Decision, ...]) -> frozenset[str]:
    """Return the parts that nothing may reduce: those that a person pinned, alone or by message."""
    holding = EffectiveDecisions(decisions)
    edited = holding.edited
    return frozenset(
        part.id
        for message in messages
        for part in message.parts
        if (
            holding.pinned(part.id, message.id)
            if part.id in edited or message.id in edited
            else says_pinned(part)
        )
    )


def says_pinned(part: Part) -> bool:
    """Say whether a part itself says that it is pinned, without a decision."""
    if part.type == "text" or part.type == "tool":
        return part.pinned
    # A newer version may pin more: unknown fields are kept.
    unknown = part.__pydantic_extra__
    return bool(unknown and unknown.get("pinned"))
