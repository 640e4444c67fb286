"""Choose what each request for a summary contains: all messages, with outputs at some length, or a stage.

Border: pure, and the same in the live loop and in review. The choice is recorded as a decision
before the request is made; the numbers follow spec/context-stability.md 1.16.
"""

import math
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import Count, reserve, usable
from palimpsest.context.compaction.plan import recorded_plan
from palimpsest.context.compaction.stages import StageProgress
from palimpsest.context.compaction.summary_request import RULE, messages_seen_at, project_summary
from palimpsest.context.conversion.transcript_text import serialize_message
from palimpsest.context.visible_messages import View
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.values import ModelInfo

RESULT_SHARES = (1, 4, 20)
"""Where the text to summarise does not fit, the limit for each output is divided by these in turn."""
SEPARATOR_TOKENS = 2
"""Tokens between two messages of a text, including what a tokenizer makes of their boundary."""
LEAST_SHARE = 0.25
"""Where instructions and the summary so far leave less than this share of a request to new text,
summarising in stages would make too little progress."""


@dataclass(frozen=True, slots=True)
class SummaryContents:
    """What a request for a summary would contain, and its size in tokens."""

    numbers: dict[str, Any]
    tokens: int
    limit: int
    """Tokens, by our estimate, that one request may have."""

    @property
    def fits(self) -> bool:
        """It fits in one request."""
        return self.tokens < self.limit

    @property
    def result_chars(self) -> int:
        """Characters included of each output."""
        return int(self.numbers["result_chars"])


@dataclass(frozen=True, slots=True)
class StageSelector:
    """Selects what the next request for one compaction's summary contains."""

    marker_id: str
    system: tuple[str, ...]
    model: ModelInfo
    policy: Policy
    count: Count
    calibration: float

    @property
    def limit(self) -> int:
        """The tokens, by our estimate, that one request may have."""
        if not self.model.window:
            return self.model.capacity
        room = self.model.window - reserve(self.policy, self.model)
        return math.floor(min(usable(self.model, self.policy.overflow), room) / self.calibration)

    def whole(self, view: View) -> SummaryContents:
        """Return the contents of one request for the whole history; it may still not fit."""
        told = None
        for share in RESULT_SHARES:
            numbers = {"result_chars": self.policy.compact.result_chars // share}
            told = SummaryContents(numbers, self._tokens(view, numbers), self.limit)
            if told.fits:
                return told
        assert told is not None
        return told

    def parts(self, view: View, result_chars: int) -> StageProgress:
        """Return the history to be summarised in stages."""
        seen = messages_seen_at(view, self.marker_id, self.policy)
        head = recorded_plan(seen, self.policy.compact).head
        texts = (serialize_message(message, result_chars) for message in head)
        return StageProgress(head, tuple(self.count(text) + SEPARATOR_TOKENS for text in texts))

    def part(self, view: View, result_chars: int, parts: StageProgress) -> dict[str, Any] | None:
        """Return the numbers of the next stage; None where stages would not get to the end."""
        limit = self.limit
        around = {"result_chars": result_chars, **parts.empty.numbers()}
        room = limit - self._tokens(view, around)
        if room < LEAST_SHARE * limit or parts.hopeless(room):
            return None
        if parts.requests(room) > self.policy.compact.stages:
            return None
        return {"result_chars": result_chars, **parts.next(room).numbers()}

    def decision(self, name: str, numbers: dict[str, Any]) -> Decision:
        """Return the choice as the decision that is journaled."""
        return Decision(
            id=name, action="summarise", rule=RULE, message_id=self.marker_id, numbers=numbers
        )

    def _tokens(self, view: View, numbers: dict[str, Any]) -> int:
        """Return the tokens that the request would have if this were decided."""
        return project_summary(
            view.decided(self.decision("", numbers)),
            marker_id=self.marker_id,
            system=self.system,
            model=self.model.ref,
            policy=self.policy,
            count=self.count,
        ).total
