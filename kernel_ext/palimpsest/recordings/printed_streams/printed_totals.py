"""Add up the totals that agents print: of several runs whose output is in one file, and those of Claude Code."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.recordings.format_parts.claude_code_blocks import usage_of
from palimpsest.recordings.reading.json_fields import JsonValue
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals
from palimpsest.transcript.values import Usage


@dataclass(slots=True)
class ClaudeTotals:
    """The totals of a session of Claude Code: of its newest run, and of the earlier runs in the file.

    A run prints its cost and tokens so far; older versions print the tokens of each turn.
    """

    _totals_before: RecordedTotals = NO_TOTALS
    _newest_totals: RecordedTotals = NO_TOTALS

    def totals_after(self, result: JsonValue) -> RecordedTotals:
        """Add the newest result, and return the totals up to it."""
        cost = result.cost("total_cost_usd")
        turn_usage = usage_of(result.at("usage"))
        turn_totals = totals_of_usages([turn_usage] if turn_usage else [])
        model_counts = [JsonValue(value) for value in result.fields("modelUsage").values()]
        usages = [
            Usage(
                input=counts.tokens("inputTokens"),
                output=counts.tokens("outputTokens"),
                cache_read=counts.tokens("cacheReadInputTokens"),
                cache_write=counts.tokens("cacheCreationInputTokens"),
            )
            for counts in model_counts
        ]
        newest_totals = totals_of_usages(usages, cost) if usages else NO_TOTALS
        if self._is_of_another_run(newest_totals, turn_totals, cost):
            self._totals_before = sum_of_totals(self._totals_before, self._newest_totals)
            self._newest_totals = NO_TOTALS
        if not usages:
            newest_totals = sum_of_totals(self._newest_totals, turn_totals)._replace(cost=cost)
        self._newest_totals = newest_totals
        return sum_of_totals(self._totals_before, self._newest_totals)

    def _is_of_another_run(
        self, newest_totals: RecordedTotals, turn_totals: RecordedTotals, cost: float | None
    ) -> bool:
        """Return whether the newest totals are another run's: the cost fell, or they grew by less than the turn's."""
        earlier_totals = self._newest_totals
        if cost is not None and cost < (earlier_totals.cost or 0):
            return True
        if NO_TOTALS in (earlier_totals, newest_totals):
            return False
        fields = ("input", "cached", "output")
        return any(
            (getattr(newest_totals, field) or 0) - (getattr(earlier_totals, field) or 0)
            < (getattr(turn_totals, field) or 0)
            for field in fields
        )


def totals_of_usages(usages: Sequence[Usage], cost: float | None = None) -> RecordedTotals:
    """Return the totals of requests with these usages."""
    return RecordedTotals(
        cost=cost,
        input=sum(usage.prompt for usage in usages) or None,
        cached=sum(usage.cache_read for usage in usages) or None,
        output=sum(usage.output for usage in usages) or None,
    )


def sum_of_totals(first: RecordedTotals, second: RecordedTotals) -> RecordedTotals:
    """Return the totals of two runs together; a total that neither has is unknown."""
    pairs: Iterator[tuple[Any, Any]] = zip(first, second, strict=True)
    known_pairs = ([total for total in pair if total is not None] for pair in pairs)
    return RecordedTotals(*(sum(k) if k else None for k in known_pairs))
