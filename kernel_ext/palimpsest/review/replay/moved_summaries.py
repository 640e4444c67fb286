"""Summaries that a policy would have had written, and nobody wrote: placeholders, recorded ones, or extracts.

A policy says where a summary stands and how large it is, not its text. What stands there is the same for all
policies of one table: a placeholder of stated size (``stub(1500)``), the nearest summary that was recorded
(``recorded``), or the first lines and names of what it covers (``extract(2000)``), which no model wrote.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, cast

from palimpsest.context.compaction.names import names_of
from palimpsest.review.policies.pipeline import Pipeline
from palimpsest.review.policies.policy import (
    Change,
    ContextPolicy,
    Decided,
    PolicyView,
    SessionFacts,
    When,
)
from palimpsest.review.policies.recorded_policy import RecordedPolicy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import Timeline

EXTRACT = "[An extract that no model wrote: the names and first lines of {items:,} items.]"
LINE_CHARS = 100
"""Of the first line of an item in an extract."""
NAMES_SHARE = 0.5
"""Of an extract that names may take; the rest is first lines."""
MOST_TOKENS = 1_000_000
_WRITTEN = re.compile(r"(stub|extract)\((\d[\d_]{0,9})\)|recorded")
SummaryText = Literal["stub", "recorded", "extract"]


@dataclass(frozen=True, slots=True)
class SummaryChoice:
    """What stands where a policy would have had a summary written."""

    text: SummaryText
    tokens: int = 0
    """The size of a placeholder, and the most of an extract; 0: as the policy says."""

    @classmethod
    def of(cls, written: str) -> "SummaryChoice":
        """Return the choice that is written ``stub(n)``, ``recorded`` or ``extract(n)``; raises UserError."""
        match = _WRITTEN.fullmatch(written.strip())
        tokens = int(match[2].replace("_", "")) if match is not None and match[2] else 0
        if match is None or tokens > MOST_TOKENS or (match[1] and not tokens):
            raise UserError(
                f"{written!r} is no way to fill summaries; write stub(1500), extract(2000) or recorded."
            )
        return cls(
            "recorded" if match[1] is None else "stub" if match[1] == "stub" else "extract", tokens
        )

    @property
    def words(self) -> str:
        """What stands there, in a sentence for a table."""
        match self.text:
            case "recorded":
                return (
                    "A policy's summary is the nearest one that was recorded, where there is one."
                )
            case "extract":
                return f"A policy's summary is an extract of at most {self.tokens:,} tokens that no model wrote: names and first lines."
            case _:
                return f"A policy's summary is a placeholder of {self.tokens:,} tokens; its content is not judged."


class FilledState(NamedTuple):
    """What is remembered between requests: the policy's state, and all items that summaries replaced."""

    inner: Any
    covered: tuple[int, ...] = ()


class WithSummaries:
    """A policy whose summaries have texts; it decides what the policy itself decides."""

    def __init__(self, policy: ContextPolicy, choice: SummaryChoice) -> None:
        self.name = policy.name
        self.source = policy.source
        self.estimator = policy.estimator
        self.when: When = policy.when
        self.sticky = getattr(policy, "sticky", True)
        self.policy = _sized(policy, choice.tokens) if choice.tokens else policy
        """The policy, whose summaries have the size of those texts."""
        self._choice = choice
        self._read: dict[int, tuple[str, tuple[str, ...]]] = {}
        """First line and names of items, which are read once."""

    def start(self, facts: SessionFacts) -> FilledState:
        """Return the policy's state, and that nothing is replaced."""
        return FilledState(self.policy.start(facts))

    def step(self, state: FilledState, view: PolicyView) -> Decided:
        """Return what the policy decides, with texts in its summaries."""
        decided = self.policy.step(state.inner, view)
        leaving = {one.item for one in decided.changes if one.state == "summarised"}
        covered = tuple(sorted({*state.covered, *leaving})) if leaving else state.covered
        changes = [
            self._filled(one, covered, view) if one.state == "summarised" and one.tokens else one
            for one in decided.changes
        ]
        return replace(decided, state=FilledState(decided.state, covered), changes=changes)

    def _filled(self, change: Change, covered: Sequence[int], view: PolicyView) -> Change:
        match self._choice.text:
            case "stub":
                return change._replace(tokens=self._choice.tokens)
            case "recorded":
                found = _nearest_summary(view.timeline, view.request.index)
                if found is None:
                    return change
                text = view.timeline.read(found)
                return change._replace(shown=text, tokens=view.timeline.weights()[found])
            case "extract":
                text = self._extract(covered, view)
                return change._replace(shown=text, tokens=-(-len(text) // 4))

    def _extract(self, covered: Sequence[int], view: PolicyView) -> str:
        """Return the newest names and first lines of items, as far as they fit."""
        limit = 4 * self._choice.tokens
        head = EXTRACT.format(items=len(covered))[:limit]
        read = [self._item(one, view) for one in covered]
        newest = dict.fromkeys(name for _, names in reversed(read) for name in reversed(names))
        names = ", ".join(_fitting(newest, round(NAMES_SHARE * (limit - len(head))), 2))
        left = limit - len(head) - len(names) - 2
        lines = list(_fitting((line for line, _ in reversed(read) if line), left, 1))
        return "\n".join(one for one in (head, *reversed(lines), names) if one)[:limit]

    def _item(self, index: int, view: PolicyView) -> tuple[str, tuple[str, ...]]:
        known = self._read.get(index)
        if known is None:
            text, item = view.read(index), view.item(index)
            line = next((one.strip() for one in text[:2_000].splitlines() if one.strip()), "")
            tool = f" {item.tool}" if item.kind == "output" else ""
            head = f"{item.kind}{tool}: {line[:LINE_CHARS]}"
            known = self._read[index] = (
                head if line else "",
                tuple(name for _, name in names_of(text)),
            )
        return known


def with_summaries(
    policy: ContextPolicy | None, choice: SummaryChoice | None
) -> ContextPolicy | None:
    """Return a policy whose summaries have texts; the recorded session, and one without policy, stay as they are."""
    if policy is None or choice is None or isinstance(policy, RecordedPolicy):
        return policy
    return WithSummaries(policy, choice)


def _sized(policy: ContextPolicy, tokens: int) -> ContextPolicy:
    """Return a policy that counts on summaries of so many tokens."""
    if isinstance(policy, Pipeline):
        return Pipeline(tuple(_sized(stage, tokens) for stage in policy.stages))
    is_value = hasattr(policy, "__dataclass_fields__")
    has_size = is_value and isinstance(getattr(policy, "summary", None), int)
    sized: ContextPolicy = replace(cast("Any", policy), summary=tokens) if has_size else policy
    return sized


def _nearest_summary(timeline: Timeline, request: int) -> int | None:
    """Return the recorded summary that came nearest to a request; None where none was recorded."""
    those = [one for one in timeline.items if one.kind == "summary" and one.covers]
    found = min(those, key=lambda one: abs(one.entered - request), default=None)
    return None if found is None else found.index


def _fitting(texts: Any, chars: int, between: int) -> Iterator[str]:
    """Yield texts as long as they fit into so many characters, with what stands between them."""
    for one in texts:
        chars -= len(one) + between
        if chars < 0:
            return
        yield one
