"""Decisions about what the model is shown of a part or range; and the record of what a request was made of.

All decisions about a part add up: ``restore`` undoes the newest reduction or pin, so that a cleared
output is again as it was before, whole or as it was truncated when its tool ended. A pin or an exclusion
may be about a whole message; of those that apply to a part, the newest holds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.prune_policy import PRUNE_RULE as PRUNE_RULE
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import Part
from palimpsest.transcript.values import BlobRef, ModelInfo, Value, capacity

DecisionAction = Literal[
    "keep", "truncate", "clear", "summarise", "drop", "repair", "wrap", "pin", "restore"
]


PersonRule = Literal[
    "user/pin",
    "user/unpin",
    "user/exclude",
    "user/restore",
    "user/undo-compaction",
    "user/redo-compaction",
]
EngineRule = Literal[
    "truncate",
    "recover/oversized",
    "limit/pictures",
    "limit/tools",
    "remind/steered",
    "remind/mode",
    "compact",
    "compact/aside",
    "compact/plan",
    "import",
]
OwnRule = EngineRule | PersonRule
"""Rules besides those of pruning (``transcript/context_values/prune_policy.py``) and of a user's hooks."""

OWN_RULES: tuple[str, ...] = (*get_args(EngineRule), *get_args(PersonRule))

PIN: PersonRule = "user/pin"
UNPIN: PersonRule = "user/unpin"
EXCLUDE: PersonRule = "user/exclude"
RESTORE: PersonRule = "user/restore"
UNDO: PersonRule = "user/undo-compaction"
REDO: PersonRule = "user/redo-compaction"
"""Rules of decisions that a person makes by hand."""

ANOTHER = "another"
"""Key in the numbers of an undone compaction: the person wanted another summary in its place."""

OLDER = "older"
"""Key in the numbers of an undone compaction: the summary put aside before, which the person took back for it."""

PICTURES_RULE: EngineRule = "limit/pictures"
TOOLS_RULE: EngineRule = "limit/tools"
"""Rules of what is not sent, or smaller, since a request with it would be larger than its provider takes."""

PICTURES = "pictures"
"""Key in the numbers of a decision: the pictures of its part that are sent otherwise, by their place in it."""

LEFT_OUT = "out"
"""Key of such a picture: the words that stand in its place."""

OWN_POLICY = "policy/"
"""Prefix of the rule of every decision that a person's own policy made; its name follows."""

Purpose = Literal["step", "title", "turn-summary", "compaction", "subagent"]
"""What a model request is for."""

BESIDE: frozenset[str] = frozenset({"title", "turn-summary"})
"""Purposes of requests outside of the turns: they fill no message and share nothing with steps' requests."""


class Decision(Value):
    """One reduction or repair, reversible, made once and applied in every later request."""

    id: str
    action: DecisionAction
    rule: str
    """The decider's name and policy, such as ``truncate``."""
    message_id: str | None = None
    part_id: str | None = None
    until_part_id: str | None = None
    numbers: dict[str, Any] = {}
    """What the rule looked at and chose, enough to apply it again: limits, kept lines, kept bytes."""
    tokens_before: int = 0
    tokens_after: int = 0
    words: str | None = None
    """Explanation for the user, generated for a page from rule and numbers; a log holds none."""


def pictures_of(decision: Decision) -> dict[str, dict[str, Any]]:
    """Return the pictures that a decision has sent otherwise, by their place; what a log holds in another form is none."""
    given = decision.numbers.get(PICTURES) if decision.rule == PICTURES_RULE else None
    if not isinstance(given, dict):
        return {}
    return {str(place): told for place, told in given.items() if isinstance(told, dict)}


def undone(decisions: Iterable[Decision]) -> frozenset[str]:
    """Return the summaries whose compaction a person undid and did not take back, by message id."""
    found: set[str] = set()
    for one in decisions:
        if one.message_id is None:
            continue
        if one.action == "restore" and one.rule == UNDO:
            found.add(one.message_id)
        elif one.rule == REDO:
            found.discard(one.message_id)
    return frozenset(found)


class Facts(Value):
    """The inputs of a decider, recorded so that it can decide the same again."""

    now: int
    estimator: str
    calibration: float = 1.0
    """Ratio of real to estimated tokens, from the usage the provider reported."""
    window: int
    """0 where the model has no limit."""
    reserve: int
    cache_age_seconds: float | None = None
    """Since the provider's prompt cache was last touched; None where it is unknown, or there is none."""
    used_tokens: int | None = None
    """Estimated tokens of the request before any further reduction, not calibrated."""
    versions: dict[str, str] = {}

    @property
    def capacity(self) -> int:
        """The tokens that the window holds, also where it has no limit."""
        return capacity(self.window)


class ContextItem(Value):
    """One message of a request, by reference."""

    role: str
    message_id: str | None = None
    part_ids: tuple[str, ...] = ()
    sha256: str
    """Hash of the provider message, without cache marks."""
    tokens: int = 0


REQUEST_KINDS = (
    "system",
    "tools",
    "instructions",
    "summary",
    "user",
    "notebook",
    "assistant",
    "reasoning",
    "output",
)
"""What the tokens of a request are of, in the order in which a gauge draws them."""


class StepRequest(Value):
    """Everything needed to rebuild one model request from the log."""

    id: str
    """``req_...``"""
    purpose: Purpose = "step"
    message_id: str | None = None
    """The assistant message that this request fills."""
    turns: tuple[str, ...] = ()
    """The prompts whose turns a request for a turn summary includes, oldest first; it asks about the last."""
    model: ModelInfo
    parameters: dict[str, Any] = {}
    """As passed to the adapter: temperature, max_tokens, reasoning_effort, tool_choice."""
    policy: Policy | None = None
    """The context policy, in logs that hold it whole."""
    policy_blob: BlobRef | None = None
    """The context policy as JSON: it seldom changes, and a blob holds it once."""
    projection: int
    """Version of the projection code."""
    facts: Facts
    system: BlobRef
    """The system prompt: a JSON list of its parts."""
    tools: BlobRef
    """The tool specs, as JSON."""
    same: int = 0
    """The first n items equal those of the request before."""
    items: tuple[ContextItem, ...] = ()
    """The items after those."""
    marks: tuple[int, ...] = ()
    """Positions of the messages that carry a cache mark."""
    sha256: str
    """Hash over the hashes of all provider messages."""
    tokens: int = 0
    """Estimated tokens of the whole request."""
    kinds: dict[str, int] = {}
    """The same by kind, one of ``REQUEST_KINDS``."""
    opaque: BlobRef | None = None
    """The whole request, stored because a hook rewrote it."""
    opaque_by: str | None = None
    """The rule of that hook."""


def is_of_own_policy(decision: Decision) -> bool:
    """Tell whether a person's own policy made a decision."""
    return decision.rule.startswith(OWN_POLICY)


REDUCTIONS = frozenset({"truncate", "clear", "drop"})
LIFTED_BY_PIN = frozenset({"clear", "drop"})
"""Reductions that a pin lifts while it holds; an output stays truncated."""
USER_EDITS = frozenset({"pin", "drop"})
"""What a person decides about a part or a whole message."""


@dataclass(slots=True)
class _DecisionStack:
    decisions: list[tuple[int, Decision]] = field(default_factory=list)
    """Each with its place among all decisions."""
    restored: bool = False
    """A person undid the newest reduction."""

    def add(self, at: int, decision: Decision) -> None:
        if decision.action == "restore":
            undone = self._take(decision.rule)
            by_hand = not decision.rule.startswith((PRUNE_RULE, OWN_POLICY))
            self.restored = by_hand and (undone is None or undone.action != "pin")
        elif decision.action == "pin" or decision.action in REDUCTIONS:
            if is_of_own_policy(decision):
                # What such a policy says of a part takes the place of what one said before.
                self._take(decision.rule)
            self.decisions.append((at, decision))
            # A picture's size says nothing about the text that a person brought back.
            self.restored = self.restored and decision.rule == PICTURES_RULE

    def _take(self, rule: str) -> Decision | None:
        """Remove and return the newest decision that a restoring rule applies to."""
        for position in range(len(self.decisions) - 1, -1, -1):
            decision = self.decisions[position][1]
            is_pin = decision.action == "pin"
            if (rule == UNPIN and not is_pin) or (rule == RESTORE and is_pin):
                continue
            if rule.startswith(OWN_POLICY) and not is_of_own_policy(decision):
                continue
            del self.decisions[position]
            return decision
        return None

    def pictures(self) -> dict[str, Any]:
        """Return the pictures that are sent otherwise; what was decided of each last holds."""
        found: dict[str, Any] = {}
        for _, decision in self.decisions:
            found |= pictures_of(decision)
        return found

    def edits(self) -> list[tuple[int, Decision]]:
        return [(at, decision) for at, decision in self.decisions if decision.action in USER_EDITS]

    def reduction(self, *, pinned: bool) -> Decision | None:
        """Return the newest reduction; a pin, of the part or of its message, lifts those that hide it."""
        for _, decision in reversed(self.decisions):
            if decision.action in REDUCTIONS and not (pinned and decision.action in LIFTED_BY_PIN):
                return decision
        return None


class EffectiveDecisions:
    """The effect of all decisions together on each part."""

    def __init__(self, decisions: tuple[Decision, ...]) -> None:
        self._stacks = _stacks(decisions)
        self.edited = frozenset(name for name, pile in self._stacks.items() if pile.edits())
        """Parts and messages that a person pinned or excluded."""
        self.restored = frozenset(name for name, pile in self._stacks.items() if pile.restored)
        """Parts and messages that a person restored."""

    def reduction(self, part_id: str, message_id: str | None) -> Decision | None:
        """Return the reduction that holds for a part."""
        wish = self._wish(part_id, message_id)
        if wish is not None and wish.action == "drop":
            return wish
        pile = self._stacks.get(part_id)
        return pile.reduction(pinned=wish is not None) if pile is not None else None

    def pictures(self, part_id: str) -> dict[str, Any]:
        """Return the pictures of a part that are sent otherwise, by their place in it."""
        pile = self._stacks.get(part_id)
        return pile.pictures() if pile is not None else {}

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
        """Return the newest pin or exclusion that applies to a part."""
        if part_id not in self.edited and message_id not in self.edited:
            return None
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
    """Return the reduction that holds for each part that has a decision of its own."""
    effective = EffectiveDecisions(decisions)
    homes: dict[str, str | None] = {}
    for one in decisions:
        if one.part_id is not None:
            homes[one.part_id] = one.message_id or homes.get(one.part_id)
    found = {}
    for part_id, message_id in homes.items():
        reduction = effective.reduction(part_id, message_id)
        if reduction is not None:
            found[part_id] = reduction
    return found


def pinned_parts(messages: Messages, decisions: tuple[Decision, ...]) -> frozenset[str]:
    """Return the parts that nothing may reduce: those that a person pinned, alone or by message."""
    effective = EffectiveDecisions(decisions)
    edited = effective.edited
    return frozenset(
        part.id
        for message in messages
        for part in message.parts
        if (
            effective.pinned(part.id, message.id)
            if part.id in edited or message.id in edited
            else says_pinned(part)
        )
    )


def says_pinned(part: Part) -> bool:
    """Tell whether a part itself is marked as pinned, without a decision."""
    if part.type == "text" or part.type == "tool":
        return part.pinned
    # A newer version may pin more: unknown fields are kept.
    unknown = part.__pydantic_extra__
    return bool(unknown and unknown.get("pinned"))
