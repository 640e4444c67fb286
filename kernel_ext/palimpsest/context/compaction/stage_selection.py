"""Choose what each request for a summary contains: all messages, with outputs cut to a length, or one stage.

Border: pure, and the same in the live loop and in review. The choice is recorded as a decision before the request is
made. The numbers are OpenClaw's.
"""

import math
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import Count, reserved_tokens, usable_tokens
from palimpsest.context.compaction.plan import recorded_plan
from palimpsest.context.compaction.stages import StageProgress
from palimpsest.context.compaction.summary_request import (
    COMPACT_RULE,
    messages_seen_at,
    project_summary,
)
from palimpsest.context.conversion.transcript_text import serialize_message
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.values import ModelInfo

RESULT_DIVISORS = (1, 4, 20)
"""Where the text to summarise does not fit, the limit for each output is divided by these in turn."""
SEPARATOR_TOKENS = 2
"""Tokens between two messages of a text, including what a tokenizer makes of their boundary."""
MIN_NEW_TEXT_SHARE = 0.25
"""Where instructions and the summary so far leave less than this share of a request to new text,
summarising in stages would make too little progress."""


@dataclass(frozen=True, slots=True)
class SummaryContents:
    """The contents of a possible request for a summary, and its size in tokens."""

    numbers: dict[str, Any]
    tokens: int
    limit: int
    """Maximum tokens of one request, by our estimate."""

    @property
    def fits_one_request(self) -> bool:
        """Whether one request is enough."""
        return self.tokens < self.limit

    @property
    def result_chars(self) -> int:
        """Characters included of each output."""
        return int(self.numbers["result_chars"])


@dataclass(frozen=True, slots=True)
class StageSelector:
    """Selects the contents of the next request for one compaction's summary."""

    marker_id: str
    system: tuple[str, ...]
    model: ModelInfo
    policy: Policy
    count: Count
    calibration: float

    @property
    def limit(self) -> int:
        """Maximum tokens of one request, by our estimate."""
        if not self.model.window:
            return self.model.capacity
        max_tokens = self.model.window - reserved_tokens(self.policy, self.model)
        usable = usable_tokens(self.model, self.policy.overflow)
        return math.floor(min(usable, max_tokens) / self.calibration)

    def whole_history(self, view: View) -> SummaryContents:
        """Return the contents of one request for the whole history; it may still not fit."""
        contents = None
        for divisor in RESULT_DIVISORS:
            numbers = {"result_chars": self.policy.compact.result_chars // divisor}
            contents = SummaryContents(numbers, self._request_tokens(view, numbers), self.limit)
            if contents.fits_one_request:
                return contents
        assert contents is not None
        return contents

    def stage_progress(self, view: View, result_chars: int) -> StageProgress:
        """Return the history to be summarised in stages."""
        messages = messages_seen_at(view, self.marker_id, self.policy)
        head = recorded_plan(messages, self.policy.compact).summarised_messages
        texts = (serialize_message(message, result_chars) for message in head)
        return StageProgress(head, tuple(self.count(text) + SEPARATOR_TOKENS for text in texts))

    def next_stage_numbers(
        self, view: View, result_chars: int, stage_progress: StageProgress
    ) -> dict[str, Any] | None:
        """Return the numbers of the next stage; None where stages could not cover the whole history."""
        max_request_tokens = self.limit
        empty_stage_numbers = {"result_chars": result_chars, **stage_progress.empty_stage.numbers()}
        max_tokens = max_request_tokens - self._request_tokens(view, empty_stage_numbers)
        if max_tokens < MIN_NEW_TEXT_SHARE * max_request_tokens or stage_progress.nothing_fits(
            max_tokens
        ):
            return None
        if stage_progress.minimum_requests(max_tokens) > self.policy.compact.stages:
            return None
        return {"result_chars": result_chars, **stage_progress.next_stage(max_tokens).numbers()}

    def decision(self, decision_id: str, numbers: dict[str, Any]) -> Decision:
        """Return the choice as a decision for the journal."""
        return Decision(
            id=decision_id,
            action="summarise",
            rule=COMPACT_RULE,
            message_id=self.marker_id,
            numbers=numbers,
        )

    def _request_tokens(self, view: View, numbers: dict[str, Any]) -> int:
        """Return the tokens of the request under this choice."""
        return project_summary(
            view.with_decisions(self.decision("", numbers)),
            marker_id=self.marker_id,
            system=self.system,
            model=self.model.ref,
            policy=self.policy,
            count=self.count,
        ).total
