"""Choose what each request for one summary tells: everything, with outputs at some length, or a part.

Border: pure, and the same in the live loop and in review. What was chosen is written into a
decision before the request is made; the numbers follow spec/context-stability.md 1.16.
"""

import math
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.overflow import reserve, usable
from palimpsest.context.budget.token_estimate import Count
from palimpsest.context.compaction.plan import recorded_plan
from palimpsest.context.compaction.stages import StageProgress
from palimpsest.context.compaction.summary_request import RULE, messages_seen_at, project_summary
from palimpsest.context.conversion.transcript_text import serialize_message
from palimpsest.context.visible_messages.view import View
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.values import ModelInfo

RESULT_SHARES = (1, 4, 20)
"""Where the text to summarise does not fit, outputs are told at this fraction of their length."""
SEPARATOR_TOKENS = 2
"""Between two messages of a text; what a tokenizer makes of where they meet is within it."""
LEAST_SHARE = 0.25
"""Where words around it and the summary so far leave less than this share of a request to new text,
parts would hardly get on."""


@dataclass(frozen=True, slots=True)
class SummaryContents:
    """What a request would tell, and what that weighs."""

    numbers: dict[str, Any]
    tokens: int
    limit: int
    """Tokens, by our estimate, that one request may have."""

    @property
    def fits(self) -> bool:
        """One request holds it."""
        return self.tokens < self.limit

    @property
    def result_chars(self) -> int:
        """Characters told of each output."""
        return int(self.numbers["result_chars"])


@dataclass(frozen=True, slots=True)
class StageSelector:
    """One request for a summary that is about to be made."""

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
        """Return how everything would be told in one request; it may still not fit."""
        told = None
        for share in RESULT_SHARES:
            numbers = {"result_chars": self.policy.compact.result_chars // share}
            told = SummaryContents(numbers, self._tokens(view, numbers), self.limit)
            if told.fits:
                return told
        assert told is not None
        return told

    def parts(self, view: View, result_chars: int) -> StageProgress:
        """Return the history to be told part by part."""
        seen = messages_seen_at(view, self.marker_id, self.policy)
        head = recorded_plan(seen, self.policy.compact).head
        texts = (serialize_message(message, result_chars) for message in head)
        return StageProgress(head, tuple(self.count(text) + SEPARATOR_TOKENS for text in texts))

    def part(self, view: View, result_chars: int, parts: StageProgress) -> dict[str, Any] | None:
        """Return what the next request tells; None where parts would not get to the end."""
        limit = self.limit
        around = {"result_chars": result_chars, **parts.empty.numbers()}
        room = limit - self._tokens(view, around)
        if room < LEAST_SHARE * limit or parts.hopeless(room):
            return None
        if parts.requests(room) > self.policy.compact.stages:
            return None
        return {"result_chars": result_chars, **parts.next(room).numbers()}

    def decision(self, name: str, numbers: dict[str, Any]) -> Decision:
        """Return what was chosen as it is journaled."""
        return Decision(
            id=name, action="summarise", rule=RULE, message_id=self.marker_id, numbers=numbers
        )

    def _tokens(self, view: View, numbers: dict[str, Any]) -> int:
        """Return what the request would weigh if this were decided."""
        return project_summary(
            view.decided(self.decision("", numbers)),
            marker_id=self.marker_id,
            system=self.system,
            model=self.model.ref,
            policy=self.policy,
            count=self.count,
        ).total
