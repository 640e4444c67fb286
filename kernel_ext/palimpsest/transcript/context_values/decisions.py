"""Decisions that reduce or restore a part or range for the model, and the record of each request's contents.

Decisions about a part form a stack: ``restore`` undoes the newest reduction or pin, so that a cleared
output is again as it was before: whole, or truncated as when its tool ended. A pin or an exclusion
may be about a whole message. If there are several decisions about a part, the newest applies.
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
    "truncate", "recover/oversized", "limit/pictures", "limit/tools", "remind/steered",
    "remind/mode", "compact", "compact/aside", "compact/plan", "import",
]  # fmt: skip
OwnRule = EngineRule | PersonRule
"""Rules besides those of pruning (``transcript/context_values/prune_policy.py``) and of a user's hooks."""

OWN_RULES: tuple[str, ...] = (*get_args(EngineRule), *get_args(PersonRule))

PIN: PersonRule = "user/pin"
UNPIN: PersonRule = "user/unpin"
EXCLUDE: PersonRule = "user/exclude"
RESTORE: PersonRule = "user/restore"
UNDO: PersonRule = "user/undo-compaction"
REDO: PersonRule = "user/redo-compaction"
"""Rules of decisions that the user makes by hand."""

ANOTHER = "another"
"""Key in the numbers of an undone compaction: the user requested another summary in its place."""

OLDER_SUMMARY_KEY = "older"
"""Key in the numbers of an undone compaction: the earlier summary that the user restored in its place."""

PICTURES_RULE: EngineRule = "limit/pictures"
TOOLS_RULE: EngineRule = "limit/tools"
"""Rules for pictures and tools that are shrunk or left out, since the provider would refuse the larger request."""

PICTURES = "pictures"
"""Key in the numbers of a decision: the changed pictures of its part, by their index in it."""

LEFT_OUT = "out"
"""Key of a picture that is left out: the text that replaces it."""

OWN_POLICY = "policy/"
"""Prefix of the rule of every decision that the user's own policy made; its name follows."""

Purpose = Literal["step", "title", "turn-summary", "compaction", "subagent"]
"""The purpose of a model request."""

BESIDE_PURPOSES: frozenset[str] = frozenset({"title", "turn-summary"})
"""Purposes of requests outside of the turns: their answers become no messages, and they share no content with steps."""


class Decision(Value):
    """One reduction or repair, reversible, made once and applied in every later request."""

    id: str
    action: DecisionAction
    rule: str
    """The name of the rule that made the decision, such as ``truncate``; with ``policy/`` before a user's policy."""
    message_id: str | None = None
    part_id: str | None = None
    until_part_id: str | None = None
    numbers: dict[str, Any] = {}
    """The rule's inputs and results, enough to apply it again: limits, kept lines, kept bytes."""
    tokens_before: int = 0
    tokens_after: int = 0
    words: str | None = None
    """Explanation for the user, generated from rule and numbers when a page shows the decision; never in a log."""


def pictures_of(decision: Decision) -> dict[str, dict[str, Any]]:
    """Return the pictures that a decision changes or leaves out, by index; empty for a damaged record."""
    pictures = decision.numbers.get(PICTURES) if decision.rule == PICTURES_RULE else None
    if not isinstance(pictures, dict):
        return {}
    return {str(index): picture for index, picture in pictures.items() if isinstance(picture, dict)}


def undone_compactions(decisions: Iterable[Decision]) -> frozenset[str]:
    """Return the message ids of the summaries whose compaction the user undid and did not redo."""
    undone_ids: set[str] = set()
    for decision in decisions:
        if decision.message_id is None:
            continue
        if decision.action == "restore" and decision.rule == UNDO:
            undone_ids.add(decision.message_id)
        elif decision.rule == REDO:
            undone_ids.discard(decision.message_id)
    return frozenset(undone_ids)


class Facts(Value):
    """The inputs of the rules that decide, recorded so that the same decisions can be made again."""

    now: int
    """Milliseconds since 1970."""
    estimator: str
    calibration: float = 1.0
    """Ratio of real to estimated tokens, from the usage the provider reported."""
    window: int
    """0 where the model has no limit."""
    reserve: int
    cache_age_seconds: float | None = None
    """Seconds since the provider's prompt cache was last used; None where that is unknown, or there is no cache."""
    used_tokens: int | None = None
    """Estimated tokens of the request before any further reduction, not calibrated."""
    versions: dict[str, str] = {}

    @property
    def capacity(self) -> int:
        """The tokens that the window holds; a very large number where it has no limit."""
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
    "system", "tools", "instructions", "summary", "user", "notebook", "assistant", "reasoning",
    "output",
)  # fmt: skip
"""The kinds of content by which a request's tokens are counted, in the order of the gauge."""


class StepRequest(Value):
    """Everything needed to rebuild one model request from the log."""

    id: str
    """``req_...``"""
    purpose: Purpose = "step"
    message_id: str | None = None
    """The assistant message that this request fills."""
    turns: tuple[str, ...] = ()
    """Ids of the prompts whose turns a request for a turn summary includes, oldest first; the last turn is summarised."""
    model: ModelInfo
    parameters: dict[str, Any] = {}
    """The parameters passed to the adapter: temperature, max_tokens, reasoning_effort, tool_choice."""
    policy: Policy | None = None
    """The context policy, in older logs that store it with each request."""
    policy_blob: BlobRef | None = None
    """The context policy as JSON in a blob: it seldom changes, so it is stored once."""
    projection: int
    """Version of the projection code."""
    facts: Facts
    system: BlobRef
    """The system prompt: a JSON list of its parts."""
    tools: BlobRef
    """The tool specs, as JSON."""
    same: int = 0
    """Number of the first items, which equal those of the request before and are not repeated here."""
    items: tuple[ContextItem, ...] = ()
    """The items after the first ``same`` ones."""
    marks: tuple[int, ...] = ()
    """Positions of the messages that carry a cache mark."""
    sha256: str
    """Hash over the hashes of all provider messages."""
    tokens: int = 0
    """Estimated tokens of the whole request."""
    kinds: dict[str, int] = {}
    """Estimated tokens by kind; the kinds are those of ``REQUEST_KINDS``."""
    opaque: BlobRef | None = None
    """The whole request, stored in a blob because a hook rewrote it."""
    opaque_by: str | None = None
    """The rule of the hook that rewrote the request."""


def is_of_own_policy(decision: Decision) -> bool:
    """Return whether the user's own policy made a decision."""
    return decision.rule.startswith(OWN_POLICY)


REDUCTIONS = frozenset({"truncate", "clear", "drop"})
LIFTED_BY_PIN = frozenset({"clear", "drop"})
"""Reductions that do not apply to a pinned part; ``truncate`` does."""
USER_EDITS = frozenset({"pin", "drop"})
"""Actions of the user about a part or a whole message."""


@dataclass(slots=True)
class _DecisionStack:
    decisions: list[tuple[int, Decision]] = field(default_factory=list)
    """Decisions about one part or message, each with its position among all decisions."""
    is_restored: bool = False
    """Whether the user undid the newest reduction."""

    def add(self, position: int, decision: Decision) -> None:
        if decision.action == "restore":
            undone_decision = self._pop_decision(decision.rule)
            is_by_user = not decision.rule.startswith((PRUNE_RULE, OWN_POLICY))
            self.is_restored = is_by_user and (
                undone_decision is None or undone_decision.action != "pin"
            )
        elif decision.action == "pin" or decision.action in REDUCTIONS:
            if is_of_own_policy(decision):
                # A policy's new decision about a part replaces its earlier one.
                self._pop_decision(decision.rule)
            self.decisions.append((position, decision))
            # A decision about pictures does not undo what the user restored.
            self.is_restored = self.is_restored and decision.rule == PICTURES_RULE

    def _pop_decision(self, rule: str) -> Decision | None:
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
        """Return the pictures that are sent changed or left out; the newest decision about each counts."""
        pictures: dict[str, Any] = {}
        for _, decision in self.decisions:
            pictures |= pictures_of(decision)
        return pictures

    def edits(self) -> list[tuple[int, Decision]]:
        return [
            (position, decision)
            for position, decision in self.decisions
            if decision.action in USER_EDITS
        ]

    def reduction(self, *, is_pinned: bool) -> Decision | None:
        """Return the newest reduction; a pin, of the part or of its message, lifts those that hide it."""
        actions = REDUCTIONS - LIFTED_BY_PIN if is_pinned else REDUCTIONS
        newest_first = (decision for _, decision in reversed(self.decisions))
        return next((decision for decision in newest_first if decision.action in actions), None)


class EffectiveDecisions:
    """The effect of all decisions together on each part."""

    def __init__(self, decisions: tuple[Decision, ...]) -> None:
        self._stacks: dict[str, _DecisionStack] = {}
        for position, decision in enumerate(decisions):
            subject_id = decision.part_id or decision.message_id
            if subject_id is not None:
                self._stacks.setdefault(subject_id, _DecisionStack()).add(position, decision)
        stacks = self._stacks.items()
        self.edited_ids = frozenset(subject_id for subject_id, stack in stacks if stack.edits())
        """Ids of the parts and messages that the user pinned or excluded."""
        self.restored_ids = frozenset(
            subject_id for subject_id, stack in stacks if stack.is_restored
        )
        """Ids of the parts and messages that the user restored."""

    def reduction(self, part_id: str, message_id: str | None) -> Decision | None:
        """Return the reduction that applies to a part."""
        edit = self._edit_of(part_id, message_id)
        if edit is not None and edit.action == "drop":
            return edit
        stack = self._stacks.get(part_id)
        return stack.reduction(is_pinned=edit is not None) if stack is not None else None

    def pictures(self, part_id: str) -> dict[str, Any]:
        """Return the pictures of a part that are sent changed or left out, by index."""
        stack = self._stacks.get(part_id)
        return stack.pictures() if stack is not None else {}

    def is_pinned(self, part_id: str, message_id: str | None) -> bool:
        """Return whether the user pinned a part, so that nothing reduces it."""
        edit = self._edit_of(part_id, message_id)
        return edit is not None and edit.action == "pin"

    def edit(self, part_or_message_id: str) -> Decision | None:
        """Return the newest pin or exclusion of exactly this part or message."""
        stack = self._stacks.get(part_or_message_id)
        edits = stack.edits() if stack is not None else []
        return edits[-1][1] if edits else None

    def _edit_of(self, part_id: str, message_id: str | None) -> Decision | None:
        """Return the newest pin or exclusion that applies to a part."""
        if part_id not in self.edited_ids and message_id not in self.edited_ids:
            return None
        stacks = (
            self._stacks.get(part_or_message_id)
            for part_or_message_id in (part_id, message_id)
            if part_or_message_id is not None
        )
        edits = [edit for stack in stacks if stack is not None for edit in stack.edits()]
        return max(edits, key=lambda edit: edit[0])[1] if edits else None


def effective_reductions(decisions: tuple[Decision, ...]) -> dict[str, Decision]:
    """Return the reduction that applies to each part about which there is a decision."""
    effective = EffectiveDecisions(decisions)
    message_ids: dict[str, str | None] = {}
    for decision in decisions:
        if decision.part_id is not None:
            message_ids[decision.part_id] = decision.message_id or message_ids.get(decision.part_id)
    return {
        part_id: reduction
        for part_id, message_id in message_ids.items()
        if (reduction := effective.reduction(part_id, message_id)) is not None
    }


def pinned_part_ids(messages: Messages, decisions: tuple[Decision, ...]) -> frozenset[str]:
    """Return the ids of the parts that nothing may reduce: those that the user pinned, alone or by message."""
    effective = EffectiveDecisions(decisions)
    edited_ids = effective.edited_ids
    return frozenset(
        part.id
        for message in messages
        for part in message.parts
        if (
            effective.is_pinned(part.id, message.id)
            if part.id in edited_ids or message.id in edited_ids
            else is_marked_pinned(part)
        )
    )


def is_marked_pinned(part: Part) -> bool:
    """Return whether a part itself is marked as pinned, without a decision."""
    if part.type == "text" or part.type == "tool":
        return part.pinned
    # A newer version may pin more: unknown fields are kept.
    unknown_fields = part.__pydantic_extra__
    return bool(unknown_fields and unknown_fields.get("pinned"))
