"""Write the requests of a replay in their provider's format, and compute the prefix that they share.

Requests of one session share most of their messages, so each message is stored once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import (
    MESSAGE_TOKENS,
    Count,
    answer_tokens,
    tools_tokens,
)
from palimpsest.context.conversion.part_conversion import cache_mark_positions
from palimpsest.context.request_assembly.projection import Projection, tokens_by_kind
from palimpsest.context_policies.whatif.message_caches import MessageHashes, TokenCounts
from palimpsest.context_policies.whatif.request_fit import Fitted
from palimpsest.context_policies.whatif.simulated_session import StepInputs
from palimpsest.model.interface import ModelRequest
from palimpsest.model.wire.provider_messages import (
    ProviderMessage,
    prompt_text,
    provider_messages,
    request_hash,
    with_marks,
)
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.neutral_messages import NeutralMessages, ResultBlock
from palimpsest.transcript.messages import Messages, summaries
from palimpsest.transcript.provider_profile.older_profiles import profile_at


@dataclass(frozen=True, slots=True)
class Prefix:
    """The content of a provider's cache after a request: model and tools, then the messages."""

    model_and_tools: tuple[str, str] | None = None
    """Id of the model and hash of the tools; None in an empty prefix."""
    messages: tuple[tuple[str, int], ...] = ()
    """Hash and tokens of each message."""
    tools_tokens: int = 0

    def shared_tokens(self, previous: "Prefix") -> int:
        """Return the tokens of the beginning that two requests share."""
        if self.model_and_tools != previous.model_and_tools:
            return 0
        tokens = 0
        for (own_hash, message_tokens), (earlier_hash, _) in zip(
            self.messages, previous.messages, strict=False
        ):
            if own_hash != earlier_hash:
                break
            tokens += message_tokens
        return tokens + self.tools_tokens if tokens else 0


def prefix_of(
    request: StepRequest, messages: Sequence[tuple[str, int]], tools_tokens: int
) -> Prefix:
    """Return the prefix that a request leaves in the cache of its model."""
    return Prefix((request.model.ref.id, request.tools.sha256), tuple(messages), tools_tokens)


@dataclass(frozen=True, slots=True)
class ReplayedRequest:
    """One request in a provider's format."""

    inputs: StepInputs
    messages: tuple[dict[str, Any], ...]
    sha256: str
    prefix: tuple[tuple[str, int], ...]
    """Hash and tokens of each message."""
    tools_tokens: int
    tokens: int
    tokens_by_kind: dict[str, int]
    adds_cache_marks: bool = True
    """Whether cache marks are added; a hook that writes a request sets its own."""

    def request(self, recorded: StepRequest, fitted: Fitted, session_id: str) -> ModelRequest:
        """Return the request, with the recorded parameters and the answer tokens that fit the window."""
        model, overflow = self.inputs.model, self.inputs.policy.overflow
        max_tokens = answer_tokens(fitted.request.projection.total, fitted.facts, model, overflow)
        mark_positions = (
            cache_mark_positions([message["role"] for message in self.messages], model)
            if self.adds_cache_marks
            else ()
        )
        return ModelRequest(
            model=model,
            messages=with_marks(self.messages, mark_positions),
            tools=self.inputs.tools,
            parameters=dict(recorded.parameters) | {"max_tokens": max_tokens},
            session_id=session_id,
            purpose=recorded.purpose,
            refusals=overflow.refusals,
        )


class RequestWriter:
    """Writes requests, and stores each message once."""

    def __init__(self) -> None:
        self._bodies: dict[str, dict[str, Any]] = {}
        self._message_tokens: dict[str, int] = {}
        self._message_hashes = MessageHashes()

    def weight(self, sha256: str, default_tokens: int) -> int:
        """Return the tokens of a message of the newest request; ``default_tokens`` for other messages."""
        return self._message_tokens.get(sha256, default_tokens)

    def write(
        self,
        projection: Projection,
        inputs: StepInputs,
        count_tokens: Count,
        messages: Messages,
        token_counts: TokenCounts,
    ) -> ReplayedRequest:
        """Write a projection; ``count_tokens`` counts the tokens of both compared sides."""
        target_profile = profile_at(inputs.model.ref, inputs.version)
        written_messages = provider_messages(projection.messages, inputs.model, target_profile)
        hashes = self._message_hashes(written_messages)
        bodies = tuple(
            self._bodies.setdefault(sha256, message_sent.body)
            for sha256, message_sent in zip(hashes, written_messages, strict=True)
        )
        tool_tokens = tools_tokens(inputs.tools, count_tokens)
        neutral_messages = projection.messages
        block_tokens = [token_counts.blocks(message) for message in neutral_messages]
        part_tokens = _part_tokens(neutral_messages, block_tokens)
        self._message_tokens = {
            sha256: _message_tokens(message_sent, part_tokens, count_tokens)
            for sha256, message_sent in zip(hashes, written_messages, strict=True)
        }
        return ReplayedRequest(
            inputs=inputs,
            messages=bodies,
            sha256=request_hash(hashes),
            prefix=tuple((sha256, self._message_tokens[sha256]) for sha256 in hashes),
            tools_tokens=tool_tokens,
            tokens=sum(MESSAGE_TOKENS + sum(weights) for weights in block_tokens) + tool_tokens,
            tokens_by_kind=tokens_by_kind(
                neutral_messages, block_tokens, tool_tokens, summaries(messages)
            ),
        )


def _part_tokens(
    messages: NeutralMessages, blocks: Sequence[Sequence[int]]
) -> dict[tuple[bool, str], int]:
    """Return the tokens of each part, with results separate from calls."""
    weights: dict[tuple[bool, str], int] = {}
    for message, token_counts in zip(messages, blocks, strict=True):
        for block, tokens in zip(message.blocks, token_counts, strict=True):
            if block.part_id is not None:
                key = (isinstance(block, ResultBlock), block.part_id)
                weights[key] = weights.get(key, 0) + tokens
    return weights


def _message_tokens(
    message: ProviderMessage, part_tokens: dict[tuple[bool, str], int], count_tokens: Count
) -> int:
    """Return the tokens of a provider message, as the live loop records them."""
    role = str(message.body["role"])
    if role == "system":
        return MESSAGE_TOKENS + count_tokens(prompt_text((message.body,)))
    return MESSAGE_TOKENS + sum(
        part_tokens.get((role == "tool", part_id), 0) for part_id in message.part_ids
    )
