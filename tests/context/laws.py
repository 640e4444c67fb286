"""The laws of a valid context, each with a check that finds violations.

They hold after the projection of the default policy; tests check them there and on generated transcripts. A
violation is a sentence, so that a law can explain itself to a learner.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from palimpsest.transcript.context_values.neutral_messages import (
    CallBlock,
    NeutralMessages,
    ResultBlock,
)
from palimpsest.transcript.provider_profile.recorded_agents import ProviderFamily


class Law(Protocol):
    """Contract: ``broken`` is pure and returns one sentence for each violation."""

    def broken(self, messages: NeutralMessages) -> list[str]:
        """Return the violations of the law."""
        ...


class CallsHaveResults:
    """Every tool call is followed by exactly one result, before any other message."""

    def broken(self, messages: NeutralMessages) -> list[str]:
        """Return the violations of the law."""
        faults = []
        for position, message in enumerate(messages):
            calls = [b.call_id for b in message.blocks if isinstance(b, CallBlock)]
            following = messages[position + 1] if position + 1 < len(messages) else None
            given = (
                [b.call_id for b in following.blocks if isinstance(b, ResultBlock)]
                if following is not None and following.role == "tool"
                else []
            )
            if calls != given and (calls or message.role == "assistant"):
                faults.append(f"Message {position} calls {calls} and is answered by {given}.")
        return faults


class NoOrphans:
    """Every result answers a call of the message before it."""

    def broken(self, messages: NeutralMessages) -> list[str]:
        """Return the violations of the law."""
        faults: list[str] = []
        for position, message in enumerate(messages):
            if message.role != "tool":
                continue
            before = messages[position - 1] if position else None
            calls = (
                {b.call_id for b in before.blocks if isinstance(b, CallBlock)} if before else set()
            )
            faults.extend(
                f"Result {block.call_id} in message {position} answers no call."
                for block in message.blocks
                if isinstance(block, ResultBlock) and block.call_id not in calls
            )
        return faults


class NothingEmpty:
    """No message is empty."""

    def broken(self, messages: NeutralMessages) -> list[str]:
        """Return the violations of the law."""
        return [
            f"Message {i} is empty." for i, message in enumerate(messages) if not message.blocks
        ]


class SystemFirst:
    """System messages come before all others."""

    def broken(self, messages: NeutralMessages) -> list[str]:
        """Return the violations of the law."""
        roles = [message.role for message in messages]
        first_other = next((i for i, role in enumerate(roles) if role != "system"), len(roles))
        return [
            f"System message {i} stands after message {first_other}."
            for i, role in enumerate(roles)
            if role == "system" and i > first_other
        ]


class OwnIds:
    """No two calls have the same id."""

    def broken(self, messages: NeutralMessages) -> list[str]:
        """Return the violations of the law."""
        uses = Counter(
            block.call_id
            for message in messages
            for block in message.blocks
            if isinstance(block, CallBlock)
        )
        return [
            f"Id {name!r} stands for {count} calls." for name, count in uses.items() if count > 1
        ]


@dataclass(frozen=True, slots=True)
class TurnOrder:
    """Roles follow each other in an order that the provider accepts.

    OpenAI accepts any order. For all others the first message is a user's, and no assistant message follows
    another. Anthropic, Google and Mistral do not continue an assistant message, so it is not the last; and
    Google accepts no user message after a user message.
    """

    family: ProviderFamily

    def broken(self, messages: NeutralMessages) -> list[str]:
        """Return the violations of the law."""
        spoken = [message for message in messages if message.role != "system"]
        roles = [message.role for message in spoken]
        if self.family == "openai" or not roles:
            return []
        faults = [
            f"Turn {at} is another one of the {role}'s."
            for at, role in enumerate(roles)
            if at and role == roles[at - 1] and role in self._once()
        ]
        if roles[0] != "user":
            faults.append(f"The {roles[0]} opens the conversation.")
        # An answer that the provider paused goes back last, and goes on with just that.
        paused = spoken[-1].stop == "paused"
        if roles[-1] == "assistant" and not paused and self.family != "compatible":
            faults.append("The assistant speaks last.")
        return faults

    def _once(self) -> frozenset[str]:
        return frozenset({"assistant", "user"} if self.family == "google" else {"assistant"})


LAWS: tuple[Law, ...] = (
    CallsHaveResults(),
    NoOrphans(),
    OwnIds(),
    NothingEmpty(),
    SystemFirst(),
)


def laws(family: ProviderFamily) -> tuple[Law, ...]:
    """Return the laws that hold for requests to a family of providers."""
    return (*LAWS, TurnOrder(family))
