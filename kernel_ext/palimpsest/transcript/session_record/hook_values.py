"""The inputs that hooks receive, and the answers that they may return.

Border: pure, frozen values; other packages call hooks and apply their answers. The input is a copy:
a hook that changes it does not change the session, which only the answer changes.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Messages

HookName = Literal[
    "prompt", "system", "tool_before", "tool_after", "compacting", "decide", "request"
]
HOOK_NAMES: tuple[HookName, ...] = get_args(HookName)

HOOK_RULE_PREFIX = "hook/"
"""Prefix of the rule of every decision that a hook made."""


@dataclass(frozen=True, slots=True)
class PromptEvent:
    """The user's prompt, before it is sent; the answer is text that is sent with it."""

    session_id: str
    message_id: str
    text: str
    agent: str
    model: str


@dataclass(frozen=True, slots=True)
class SystemEvent:
    """The system prompt of a session, before its first request; the hook's answer is added to it, or replaces it."""

    session_id: str
    agent: str
    model: str
    texts: tuple[str, ...]
    """Header and body of the prompt, as changed by the earlier hooks."""


@dataclass(frozen=True, slots=True)
class ToolBefore:
    """A tool call, before its permission is checked; the answer is other arguments, or ``Refuse``."""

    session_id: str
    message_id: str
    call_id: str
    agent: str
    tool: str
    arguments: dict[str, Any]


@dataclass(frozen=True, slots=True)
class ToolAfter(ToolBefore):
    """A tool call that returned; the answer is another output."""

    title: str
    output: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CompactingEvent:
    """A summary is about to be requested; the answer has further information to keep, or another prompt."""

    session_id: str
    messages: Messages
    focus: str
    auto: bool


@dataclass(frozen=True, slots=True)
class DecideEvent:
    """A request is about to be made; the answer has decisions about parts to leave out or to keep."""

    session_id: str
    model: str
    messages: Messages
    decisions: tuple[Decision, ...]
    policy: Policy
    window: int
    """Tokens; 0 where the model has no limit."""
    used_tokens: int
    """Estimated tokens of the newest request."""


@dataclass(frozen=True, slots=True)
class RequestEvent:
    """A request as it would be sent; the answer replaces all of its messages, so that it is stored whole."""

    session_id: str
    model: str
    messages: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Refuse:
    """The answer of a hook that refuses a tool call."""

    reason: str
    """Shown to the model."""


@dataclass(frozen=True, slots=True)
class SystemPrompt:
    """The answer of a hook that writes the whole system prompt."""

    texts: Sequence[str]
    """Texts that are each sent as a separate message; after an unchanged header all others become one message."""


@dataclass(frozen=True, slots=True)
class Compacting:
    """The answer of a hook to a compaction."""

    context: tuple[str, ...] = ()
    """Further information for the summary to keep."""
    prompt: str | None = None
    """The instructions for the summary, which replace those of the policy."""


@dataclass(frozen=True, slots=True)
class HookDecision:
    """A decision that a hook requests, checked in form only."""

    rule: str
    action: Literal["clear", "truncate", "drop", "pin", "restore"]
    part_id: str | None = None
    message_id: str | None = None
    text: str | None = None
    """The text that replaces a cleared output."""
    limits: dict[str, int] = field(default_factory=dict)
    """``max_lines`` and ``max_bytes`` of an output that is truncated."""
