"""What a decider did to one part or range, with its rule and numbers; and what a request was made of."""

from collections.abc import Iterable
from typing import Any, Literal, get_args

from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.values import BlobRef, ModelInfo, Value, capacity

DecisionAction = Literal[
    "keep", "truncate", "clear", "summarise", "drop", "repair", "wrap", "pin", "restore"
]


PersonRule = Literal[
    "user/pin", "user/unpin", "user/exclude", "user/restore", "user/undo-compaction"
]
EngineRule = Literal[
    "truncate",
    "recover/oversized",
    "remind/steered",
    "remind/mode",
    "compact",
    "compact/aside",
    "compact/plan",
    "import",
]
OwnRule = EngineRule | PersonRule
"""Who decides, beside the rules of pruning (``transcript/context_values/prune_policy.py``) and a user's hooks."""

OWN_RULES: tuple[str, ...] = (*get_args(EngineRule), *get_args(PersonRule))

PIN: PersonRule = "user/pin"
UNPIN: PersonRule = "user/unpin"
EXCLUDE: PersonRule = "user/exclude"
RESTORE: PersonRule = "user/restore"
UNDO: PersonRule = "user/undo-compaction"
"""Rules of decisions that a person makes by hand."""

Purpose = Literal["step", "title", "turn-summary", "compaction", "subagent"]
"""What a model request is for."""

BESIDE: frozenset[str] = frozenset({"title", "turn-summary"})
"""Purposes of requests that stand beside the turns: they fill no message and share nothing with the steps."""


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
    """What a reader is told of it, made for a page from rule and numbers; a log holds none."""


def undone(decisions: Iterable[Decision]) -> frozenset[str]:
    """Return the summaries whose compaction a person undid, by message id."""
    return frozenset(
        one.message_id
        for one in decisions
        if one.action == "restore" and one.rule == UNDO and one.message_id is not None
    )


class Facts(Value):
    """What a decider was told, recorded, so that it can decide the same again."""

    now: int
    estimator: str
    calibration: float = 1.0
    """Real over estimated tokens, from the usage the provider reported."""
    window: int
    """0 where the model has no limit."""
    reserve: int
    cache_age_seconds: float | None = None
    """Since the provider's prompt cache was last touched; None where it is unknown, or there is none."""
    used_tokens: int | None = None
    """Estimate of the request before anything more is taken out of it, not calibrated."""
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


class StepRequest(Value):
    """Everything needed to rebuild one model request from the log."""

    id: str
    """``req_...``"""
    purpose: Purpose = "step"
    message_id: str | None = None
    """The assistant message that this request fills."""
    turns: tuple[str, ...] = ()
    """The prompts whose turns a request for a turn summary tells, oldest first; it asks about the last."""
    model: ModelInfo
    parameters: dict[str, Any] = {}
    """As handed to the adapter: temperature, max_tokens, reasoning_effort, tool_choice."""
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
    """The same by kind: system, tools, instructions, summary, user, assistant, reasoning, output."""
    opaque: BlobRef | None = None
    """The whole request, stored because a hook rewrote it."""
    opaque_by: str | None = None
    """The rule of that hook."""
