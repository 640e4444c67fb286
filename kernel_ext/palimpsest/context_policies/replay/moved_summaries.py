"""Texts for summaries that a policy would have requested in a replay: placeholders, recorded summaries, or extracts.

A policy decides the place and size of a summary, not its text. The choice is the same for all policies of one table: a
placeholder of stated size (``stub(1500)``), the nearest recorded summary (``recorded``), or the first lines and names
of the covered items (``extract(2000)``), which no model wrote.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

from palimpsest.context.compaction.names import names_of
from palimpsest.context_policies.interface.pipeline import Pipeline
from palimpsest.context_policies.interface.policy import (
    Change,
    ContextPolicy,
    PolicyResult,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.context_policies.interface.recorded_policy import RecordedPolicy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline
from palimpsest.transcript.values import CHARS_PER_TOKEN

EXTRACT_NOTE = "[An extract that no model wrote: the names and first lines of {items:,} items.]"
MAX_LINE_CHARS = 100
"""Maximum characters of an item's first line in an extract."""
MAX_NAMES_SHARE = 0.5
"""Maximum share of an extract for names; the rest is first lines."""
MAX_SEARCHED_CHARS = 2_000
"""Maximum characters of an item in which its first line is looked for."""
MAX_SUMMARY_TOKENS = 1_000_000
"""Maximum size of a summary that a user may state."""
_CHOICE_PATTERN = re.compile(r"(stub|extract)\((\d[\d_]{0,9})\)|recorded")
SummaryKind = Literal["stub", "recorded", "extract"]


@dataclass(frozen=True, slots=True)
class SummaryChoice:
    """The kind of text that is used for a policy's summaries."""

    kind: SummaryKind
    tokens: int = 0
    """The size of a placeholder, or the largest size of an extract; 0: the policy's own size."""

    @classmethod
    def parse(cls, text: str) -> "SummaryChoice":
        """Return the choice for the text ``stub(n)``, ``recorded`` or ``extract(n)``; raises UserError."""
        match = _CHOICE_PATTERN.fullmatch(text.strip())
        tokens = int(match[2].replace("_", "")) if match is not None and match[2] else 0
        if match is None or tokens > MAX_SUMMARY_TOKENS or (match[1] and not tokens):
            raise UserError(
                f"{text!r} is no way to fill summaries; write stub(1500), extract(2000) or recorded."
            )
        return cls(
            "recorded" if match[1] is None else "stub" if match[1] == "stub" else "extract", tokens
        )

    @property
    def sentence(self) -> str:
        """The choice in a sentence for a table."""
        match self.kind:
            case "recorded":
                return (
                    "A policy's summary is the nearest one that was recorded, where there is one."
                )
            case "extract":
                return f"A policy's summary is an extract of at most {self.tokens:,} tokens that no model wrote: names and first lines."
            case _:
                return f"A policy's summary is a placeholder of {self.tokens:,} tokens; its content is not judged."


class FilledState(NamedTuple):
    """The state between requests: the policy's own state, and all items that summaries replaced."""

    policy_state: Any
    covered_items: tuple[int, ...] = ()


class WithSummaries:
    """A policy that decides as another one, but whose summaries have texts."""

    def __init__(self, policy: ContextPolicy, choice: SummaryChoice) -> None:
        self.name = policy.name
        self.source = policy.source
        self.estimator = policy.estimator
        self.when: When = policy.when
        self.sticky = getattr(policy, "sticky", True)
        self.policy = _with_summary_size(policy, choice.tokens) if choice.tokens else policy
        """The policy, with the size of these texts as its summary size."""
        self._choice = choice
        self._descriptions: dict[int, tuple[str, tuple[str, ...]]] = {}
        """First line and names of items, computed once."""

    def start(self, facts: SessionFacts) -> FilledState:
        """Return the policy's initial state, with nothing replaced."""
        return FilledState(self.policy.start(facts))

    def step(self, state: FilledState, view: PolicyView) -> PolicyResult:
        """Return the policy's decisions, with texts in its summaries."""
        policy_result = self.policy.step(state.policy_state, view)
        summarised_items = {
            change.item for change in policy_result.changes if change.state == "summarised"
        }
        covered_items = state.covered_items
        if summarised_items:
            covered_items = tuple(sorted({*covered_items, *summarised_items}))
        changes = [
            self._with_text(change, covered_items, view)
            if change.state == "summarised" and change.tokens
            else change
            for change in policy_result.changes
        ]
        return replace(
            policy_result, state=FilledState(policy_result.state, covered_items), changes=changes
        )

    def _with_text(self, change: Change, covered_items: Sequence[int], view: PolicyView) -> Change:
        match self._choice.kind:
            case "stub":
                return change._replace(tokens=self._choice.tokens)
            case "recorded":
                summary_item = _nearest_summary(view.timeline, view.request.index)
                if summary_item is None:
                    return change
                text = view.timeline.read(summary_item)
                return change._replace(
                    replacement=text, tokens=view.timeline.weights()[summary_item]
                )
            case "extract":
                text = self._extract(covered_items, view)
                return change._replace(replacement=text, tokens=-(-len(text) // CHARS_PER_TOKEN))

    def _extract(self, covered_items: Sequence[int], view: PolicyView) -> str:
        """Return the newest names and first lines of items, as far as they fit."""
        max_chars = CHARS_PER_TOKEN * self._choice.tokens
        note = EXTRACT_NOTE.format(items=len(covered_items))[:max_chars]
        descriptions = [self._described_item(item, view) for item in covered_items]
        newest_names = dict.fromkeys(
            name for _, names in reversed(descriptions) for name in reversed(names)
        )
        names = ", ".join(
            _texts_that_fit(newest_names, round(MAX_NAMES_SHARE * (max_chars - len(note))), 2)
        )
        remaining_chars = max_chars - len(note) - len(names) - 2
        lines = list(
            _texts_that_fit(
                (line for line, _ in reversed(descriptions) if line), remaining_chars, 1
            )
        )
        return "\n".join(text for text in (note, *reversed(lines), names) if text)[:max_chars]

    def _described_item(self, index: int, view: PolicyView) -> tuple[str, tuple[str, ...]]:
        description = self._descriptions.get(index)
        if description is None:
            text, item = view.read(index), view.item(index)
            line = next(
                (row.strip() for row in text[:MAX_SEARCHED_CHARS].splitlines() if row.strip()), ""
            )
            tool = f" {item.tool}" if item.kind == "output" else ""
            description_text = f"{item.kind}{tool}: {line[:MAX_LINE_CHARS]}" if line else ""
            description = (description_text, tuple(name for _, name in names_of(text)))
            self._descriptions[index] = description
        return description


def with_summaries(
    policy: ContextPolicy | None, choice: SummaryChoice | None
) -> ContextPolicy | None:
    """Return a policy whose summaries have texts; None (``raw``) and the recorded policy are returned unchanged."""
    if policy is None or choice is None or isinstance(policy, RecordedPolicy):
        return policy
    return WithSummaries(policy, choice)


def _with_summary_size(policy: ContextPolicy, tokens: int) -> ContextPolicy:
    """Return a policy that expects summaries of ``tokens`` tokens."""
    if isinstance(policy, Pipeline):
        return Pipeline(tuple(_with_summary_size(stage, tokens) for stage in policy.stages))
    is_value = hasattr(policy, "__dataclass_fields__")
    has_size = is_value and isinstance(getattr(policy, "summary", None), int)
    resized: ContextPolicy = replace(cast("Any", policy), summary=tokens) if has_size else policy
    return resized


def _nearest_summary(timeline: Timeline, request: int) -> int | None:
    """Return the item of the recorded summary nearest to a request; None where none was recorded."""
    summaries = [item for item in timeline.items if item.kind == "summary" and item.covers]
    nearest = min(summaries, key=lambda summary: abs(summary.entered - request), default=None)
    return None if nearest is None else nearest.index


def _texts_that_fit(texts: Iterable[str], chars: int, separator_chars: int) -> Iterator[str]:
    """Yield texts as long as they fit into ``chars`` characters, with separators of ``separator_chars`` characters."""
    for text in texts:
        chars -= len(text) + separator_chars
        if chars < 0:
            return
        yield text
