"""Which stretch of a history one request for a summary tells, where all of it is too long for one.

Rules follow spec/context-stability.md 1.16: parts by tokens, each with the summary of those before
it. A part ends between messages, and a call and its result are one part of one message here, so
nothing is torn apart. What was chosen is written into a decision, and read from there in review.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from palimpsest.transcript.messages import Messages

DRAFT = "draft"
"""Key in the metadata of a text: the request whose summary it was, which later requests went on with."""
REJECTED = "rejected"
"""Key in the metadata of a text: what a summary lacked, so that it was written again."""

NOTE_TOKENS = 24
"""What the sentence in the place of a message that is left out weighs."""


@dataclass(frozen=True, slots=True)
class SummaryStage:
    """What one request tells, and what it goes on with."""

    number: int
    """1 for the first request."""
    first: str
    """Id of the first message it tells; empty when it tells none."""
    last: str
    """Id of the last message it tells."""
    final: bool
    """Nothing is left to tell after it."""
    prior: str | None = None
    """The request that wrote the summary to go on with; None for the one before the compaction."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the messages that no request can hold, by id."""

    def numbers(self) -> dict[str, Any]:
        """Return what a decision holds of it."""
        return {
            "stage": self.number,
            "first": self.first,
            "last": self.last,
            "final": self.final,
            "prior": self.prior,
            "left_out": dict(self.left_out),
        }

    @classmethod
    def of(cls, numbers: Mapping[str, Any]) -> "SummaryStage | None":
        """Read a decision's numbers; None when everything is told at once."""
        if "stage" not in numbers:
            return None
        return cls(
            number=numbers["stage"],
            first=numbers["first"],
            last=numbers["last"],
            final=numbers["final"],
            prior=numbers["prior"],
            left_out=numbers["left_out"],
        )

    def told(self, messages: Messages) -> Messages:
        """Return the messages of this stretch."""
        ids = [message.id for message in messages]
        if self.first not in ids or self.last not in ids:
            return ()
        return messages[ids.index(self.first) : ids.index(self.last) + 1]


@dataclass(frozen=True, slots=True)
class StageProgress:
    """How far a history was told, part by part."""

    messages: Messages
    weights: tuple[int, ...]
    """Tokens of each message as it is told."""
    told: int = 0
    """Messages that were told, or left out."""
    number: int = 0
    """Requests that were made."""
    prior: str | None = None
    """The newest of them."""

    @property
    def total(self) -> int:
        """Tokens of the whole history."""
        return sum(self.weights)

    @property
    def empty(self) -> SummaryStage:
        """The next request without a word of the history: what stands around it."""
        return SummaryStage(self.number + 1, "", "", final=False, prior=self.prior)

    def requests(self, room: int) -> int:
        """Return the least number of requests that all of it takes."""
        left = sum(min(weight, room) for weight in self.weights[self.told :])
        return self.number + math.ceil(left / room)

    def hopeless(self, room: int) -> bool:
        """Tell whether no message is small enough to be told."""
        return all(weight > room for weight in self.weights)

    def next(self, room: int) -> SummaryStage:
        """Return what the next request tells."""
        end, left_out = stage_end(self.weights, self.told, room)
        return SummaryStage(
            self.number + 1,
            self.messages[self.told].id,
            self.messages[end - 1].id,
            final=end == len(self.messages),
            prior=self.prior,
            left_out={self.messages[at].id: self.weights[at] for at in left_out},
        )

    def after(self, stretch: SummaryStage, request_id: str) -> "StageProgress":
        """Return how far the history was told after a request."""
        ids = [message.id for message in self.messages]
        return replace(
            self, told=ids.index(stretch.last) + 1, number=stretch.number, prior=request_id
        )


def stage_end(weights: Sequence[int], start: int, room: int) -> tuple[int, tuple[int, ...]]:
    """Return where the stretch from ``start`` ends, and what in it is too large for any stretch.

    The tokens of each message are given; a stretch holds at least one message, left out or told.
    """
    used = 0
    left_out: list[int] = []
    for at in range(start, len(weights)):
        too_large = weights[at] > room
        weight = NOTE_TOKENS if too_large else weights[at]
        if used + weight > room and at > start:
            return at, tuple(left_out)
        if too_large:
            left_out.append(at)
        used += weight
    return len(weights), tuple(left_out)
