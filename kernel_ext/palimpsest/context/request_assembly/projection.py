"""From a session to the request that is sent: the one pure road, taken live and in review.

fold -> apply decisions -> convert -> history limit -> repair -> turns -> pairing -> system ->
transform -> estimate; the presets of recorded agents repair in their own order (``hygiene``).
Cache marks come last, on the provider's messages. Versioned: a change that alters any request's
bytes raises ``PROJECTION_VERSION`` and keeps the older road.
"""

from collections.abc import Callable
from dataclasses import dataclass

from palimpsest.context.budget.token_estimate import Count, message_tokens, tools_tokens
from palimpsest.context.conversion.model_transform import transform
from palimpsest.context.conversion.part_conversion import neutral_messages
from palimpsest.context.message_repair.pairing import pair
from palimpsest.context.message_repair.rule_order import repaired_in_order
from palimpsest.context.reduction.applied_decisions import apply_decisions
from palimpsest.context.request_assembly.pinned_parts import with_pinned_parts
from palimpsest.context.request_assembly.turn_limit import with_turn_limit
from palimpsest.context.visible_messages.fold import fold
from palimpsest.context.visible_messages.view import View
from palimpsest.transcript.context_values.neutral_messages import (
    NeutralMessage,
    NeutralMessages,
    TextBlock,
)
from palimpsest.transcript.context_values.policies import ConvertPolicy, Policy
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.provider_profile.older_profiles import profile_at
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

PROJECTION_VERSION = 3
VERSIONS = (1, 2, PROJECTION_VERSION)
"""1 converted alike under every policy, and repaired nothing but missing and orphaned results; 2 knew
a model's provider by two tables that disagreed (``provider_versions``)."""

Convert = Callable[[Messages, ModelRef, ConvertPolicy], NeutralMessages]
"""``convert``, or what remembers its results."""


@dataclass(frozen=True, slots=True)
class Projection:
    """A request before it is put into a provider's words."""

    messages: NeutralMessages
    """System messages first."""
    tokens: tuple[int, ...]
    """Estimated tokens of each message."""
    tools_tokens: int

    @property
    def total(self) -> int:
        """Estimated tokens of the whole request."""
        return sum(self.tokens) + self.tools_tokens


def project(
    view: View,
    *,
    system: tuple[str, ...],
    tools: tuple[ToolSpec, ...],
    model: ModelInfo,
    policy: Policy,
    count: Count,
    version: int = PROJECTION_VERSION,
    flatten: Convert = neutral_messages,
    weigh: Callable[[NeutralMessage], int] | None = None,
) -> Projection:
    """Project a session to one request; an older version gives what that version gave.

    Whoever projects a session again and again may hand in what remembers how messages are flattened
    and weighed.
    """
    everything = (
        _project_v1(view, head(system), model, policy)
        if version == 1
        else _project_v2(view, head(system), model, policy, flatten, version)
    )
    return Projection(
        messages=everything,
        tokens=tuple(
            weigh(message) if weigh is not None else message_tokens(message, count)
            for message in everything
        ),
        tools_tokens=tools_tokens(tools, count),
    )


def head(system: tuple[str, ...]) -> NeutralMessages:
    """Return the system messages, which stand before all others."""
    return tuple(
        NeutralMessage(role="system", blocks=(TextBlock(text=text),)) for text in system if text
    )


def _project_v1(
    view: View, opening: NeutralMessages, model: ModelInfo, policy: Policy
) -> NeutralMessages:
    flat = neutral_messages(apply_decisions(fold(view.messages), view), model.ref)
    return opening + pair(with_turn_limit(flat, policy.history_limit, policy.limit))


def _project_v2(
    view: View,
    opening: NeutralMessages,
    model: ModelInfo,
    policy: Policy,
    flatten: Convert,
    version: int,
) -> NeutralMessages:
    messages = apply_decisions(view.folded(policy.compact), view)
    flat = repaired_in_order(
        flatten(messages, model.ref, policy.convert),
        lambda newest: with_pinned_parts(
            with_turn_limit(newest, policy.history_limit, policy.limit), view
        ),
        policy.hygiene.rule,
        profile_at(model.ref, version),
    )
    return transform(opening + flat, model, policy.transform)
