"""Divide a history that is too long for one request for a summary into stages, one request each.

As in OpenClaw, stages are cut by tokens, and each is sent with the summary of the earlier stages. A stage ends between
messages; here a call and its result are one part of one message, so they are never separated. Each stage is recorded as
a decision, which review reads.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from palimpsest.transcript.messages import Messages

DRAFT_KEY = "draft"
"""Key in a text part's metadata: the request that wrote this intermediate summary for the next stage."""
REJECTED_KEY = "rejected"
"""Key in a text part's metadata: the defects of a summary that was written again."""
NOTE_TOKENS = 24
"""Tokens of the note that replaces a message that is left out."""


@dataclass(frozen=True, slots=True)
class SummaryStage:
    """The messages that one request summarises, and the earlier summary that it continues."""

    number: int
    """1 for the first request."""
    first_message_id: str
    """Id of the first message it covers; empty when it covers none."""
    last_message_id: str
    """Id of the last message it covers."""
    is_final: bool
    """Whether the stage reaches the end of the history."""
    prior_request_id: str | None = None
    """The request that wrote the summary to continue; None for the summary of the previous compaction."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """Tokens of the messages that are too large for any request, by id."""

    def numbers(self) -> dict[str, Any]:
        """Return the stage as the numbers of a decision."""
        fields = asdict(self)
        return {"stage": fields.pop("number"), **fields}

    @classmethod
    def from_numbers(cls, numbers: Mapping[str, Any]) -> "SummaryStage | None":
        """Return the stage in a decision's numbers; None when one request covers everything."""
        if "stage" not in numbers:
            return None
        return cls(
            numbers["stage"], **{field.name: numbers[field.name] for field in fields(cls)[1:]}
        )

    def messages_of(self, messages: Messages) -> Messages:
        """Return the messages of this stage."""
        ids = [message.id for message in messages]
        if self.first_message_id not in ids or self.last_message_id not in ids:
            return ()
        return messages[ids.index(self.first_message_id) : ids.index(self.last_message_id) + 1]


@dataclass(frozen=True, slots=True)
class StageProgress:
    """How much of a history has been summarised, stage by stage."""

    messages: Messages
    message_tokens: tuple[int, ...]
    """Tokens of each message in the text to summarise."""
    processed_count: int = 0
    """Number of messages that were summarised, or left out."""
    number: int = 0
    """Number of requests made so far, which is the number of the newest stage."""
    newest_request_id: str | None = None
    """Id of the newest request."""

    @property
    def total(self) -> int:
        """Tokens of the whole history."""
        return sum(self.message_tokens)

    @property
    def empty_stage(self) -> SummaryStage:
        """The next stage without messages, to measure the rest of its request."""
        return SummaryStage(
            self.number + 1, "", "", is_final=False, prior_request_id=self.newest_request_id
        )

    def minimum_requests(self, max_tokens: int) -> int:
        """Return the minimum number of requests for the whole history."""
        remaining_tokens = self.message_tokens[self.processed_count :]
        tokens_left = sum(min(tokens, max_tokens) for tokens in remaining_tokens)
        return self.number + math.ceil(tokens_left / max_tokens)

    def nothing_fits(self, max_tokens: int) -> bool:
        """Return whether every message is too large for a request."""
        return all(tokens > max_tokens for tokens in self.message_tokens)

    def next_stage(self, max_tokens: int) -> SummaryStage:
        """Return the stage of the next request."""
        end, left_out_indexes = stage_end(self.message_tokens, self.processed_count, max_tokens)
        return SummaryStage(
            self.number + 1,
            self.messages[self.processed_count].id,
            self.messages[end - 1].id,
            is_final=end == len(self.messages),
            prior_request_id=self.newest_request_id,
            left_out={
                self.messages[index].id: self.message_tokens[index] for index in left_out_indexes
            },
        )

    def after_request(self, stage: SummaryStage, request_id: str) -> "StageProgress":
        """Return the progress after a request."""
        ids = [message.id for message in self.messages]
        return replace(
            self,
            processed_count=ids.index(stage.last_message_id) + 1,
            number=stage.number,
            newest_request_id=request_id,
        )


def stage_end(
    message_tokens: Sequence[int], start: int, max_tokens: int
) -> tuple[int, tuple[int, ...]]:
    """Return the index after the stage from ``start``, and the indexes of its messages that are too large for any.

    ``message_tokens`` are the tokens of each message; a stage holds at least one message, summarised or left out.
    """
    used_tokens = 0
    left_out_indexes: list[int] = []
    for index in range(start, len(message_tokens)):
        is_too_large = message_tokens[index] > max_tokens
        tokens = NOTE_TOKENS if is_too_large else message_tokens[index]
        if used_tokens + tokens > max_tokens and index > start:
            return index, tuple(left_out_indexes)
        if is_too_large:
            left_out_indexes.append(index)
        used_tokens += tokens
    return len(message_tokens), tuple(left_out_indexes)
