"""How much a session read from the provider's cache, by the pause before, and whether an hour's cache would pay.

Fresh tokens are those of a prompt that were not read from the cache. Shares of input by pause are measured as in
TraceLab (arXiv 2606.30560).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import ceil, inf
from typing import Any

from palimpsest.context_policies.prompt_cache.cache_lifetime import (
    FIVE_MINUTES_SECONDS,
    HOUR_SECONDS,
    cache_lifetime,
)
from palimpsest.context_policies.prompt_cache.recorded_clock import behind_the_clock
from palimpsest.context_policies.prompt_cache.ruler import (
    PriceProfile,
    Ruler,
    amount_with_unit,
    with_writes_kept,
)
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn, table_of
from palimpsest.transcript.timeline import Timeline, TimelineRequest

FIRST_REQUEST = "first request"
NOT_KNOWN = "not known"
_PAUSE_LIMITS = (
    (60, "up to 1 minute"),
    (FIVE_MINUTES_SECONDS, "1 to 5 minutes"),
    (HOUR_SECONDS, "5 minutes to 1 hour"),
    (inf, "over 1 hour"),
)
"""The longest pause of each row in seconds, and its name."""
_PREFIX_KINDS = ("system", "tools")


@dataclass(frozen=True, slots=True)
class PauseRow:
    """The requests that came after pauses of about the same length."""

    pause: str
    """The name of the length, such as ``up to 1 minute``."""
    requests: int
    input: int
    """Tokens of the prompts of these requests."""
    read: int
    """Tokens of ``input`` that were read from the cache."""

    @property
    def fresh(self) -> int:
        """Tokens that were not read from the cache."""
        return self.input - self.read

    @property
    def hit(self) -> float | None:
        """Share of the input that was read from the cache."""
        return self.read / self.input if self.input else None


@dataclass(frozen=True, slots=True)
class HourCache:
    """Additional cost and gain of a cache that is kept for an hour instead of five minutes; both are estimates."""

    added_cost: float
    """The additional cost of all writes when they are kept for an hour."""
    pauses: int
    """Number of pauses of five minutes to an hour."""
    saved_cost: float
    """What an hour's cache saves: the cost of these pauses with one of five minutes, beyond reading the prefix."""

    def json(self) -> dict[str, Any]:
        """Return the costs as plain values."""
        return {
            "extra": self.added_cost,
            "pauses": self.pauses,
            "gain": self.saved_cost,
            "break_even": self.break_even,
        }

    @property
    def break_even(self) -> int | None:
        """Number of pauses of five minutes to an hour from which on an hour's cache pays; None where the session has none."""
        if not self.pauses or not self.saved_cost:
            return None
        return ceil(self.added_cost / (self.saved_cost / self.pauses))


@dataclass(frozen=True)
class CacheUse(ShownAsTable):
    """Use of the cache by the requests with reported usage."""

    rows: tuple[PauseRow, ...]
    appended: int
    """Tokens that were sent for the first time: the first prompt, and the growth of each later one."""
    beginning: float
    """Tokens of system prompt and tools at the beginning of each request; an estimate."""
    idle_compactions: int
    """Number of compactions after a pause in which the cache was lost."""
    hour: HourCache | None
    """What a cache kept for an hour would cost and save; None where the prices do not depend on the lifetime."""
    unit: str

    @property
    def requests(self) -> int:
        """Number of requests with reported usage."""
        return sum(row.requests for row in self.rows)

    @property
    def input(self) -> int:
        """Tokens of all prompts together."""
        return sum(row.input for row in self.rows)

    @property
    def fresh(self) -> int:
        """Tokens that were not read from the cache."""
        return sum(row.fresh for row in self.rows)

    @property
    def amplification(self) -> float | None:
        """Fresh tokens divided by ``appended`` tokens: 1 where each token is processed once; None for one request."""
        return self.fresh / self.appended if self.appended and self.requests > 1 else None

    @property
    def beginning_share(self) -> float | None:
        """Share of the input that is system prompt and tools; None for one request, whose parts are not known."""
        if not self.input or self.requests < 2:
            return None
        return min(self.beginning * self.requests / self.input, 1.0)

    @cached_property
    def table(self) -> ReportTable:
        """One row per length of pause before a request."""
        columns = (
            TableColumn("pause", "after a pause of"),
            TableColumn("requests", "requests", "count", "fact"),
            TableColumn("input", "input", "count", "fact"),
            TableColumn("fresh", "fresh", "count", "fact", "Tokens that the cache did not have."),
            TableColumn("hit", "read from the cache", "share", "fact"),
        )
        return table_of(
            "How the cache served it", columns, self.rows, tuple(self._note_sentences())
        )

    def _note_sentences(self) -> Iterator[str]:
        if self.input:
            amplified_text = ""
            if self.amplification is not None:
                amplified_text = (
                    f", {self.amplification:.1f} times the {self.appended:,} that were new"
                )
            share = self.fresh / self.input * 100
            yield f"{self.fresh:,} of {self.input:,} tokens were fresh ({share:.1f} %){amplified_text}."
        if self.beginning_share is not None:
            yield f"System prompt and tools are ~{self.beginning_share * 100:.0f} % of all input."
        if self.idle_compactions:
            yield f"{counted_noun(self.idle_compactions, 'compaction')} came after a pause that had lost the cache."
        if self.hour is not None:
            yield self._hour_sentence(self.hour)

    def _hour_sentence(self, hour: HourCache) -> str:
        added_text, saved_text = (
            amount_with_unit(cost, self.unit, "estimate")
            for cost in (hour.added_cost, hour.saved_cost)
        )
        if not hour.pauses:
            return f"A cache of an hour would cost {added_text} more than one of five minutes, and no pause needs it."
        min_pauses = hour.break_even
        pauses_text = "" if min_pauses is None else f" {counted_noun(min_pauses, 'such pause')}"
        verb = "pays" if hour.saved_cost > hour.added_cost else "would pay"
        return (
            f"A cache of an hour costs {added_text} more than one of five minutes, and saves {saved_text} in "
            f"{counted_noun(hour.pauses, 'pause')} of five minutes to an hour; it {verb} from{pauses_text} on."
        )

    def json(self) -> dict[str, Any]:
        """Return rows and figures as plain values."""
        return {
            "rows": self.table.records(),
            "requests": self.requests,
            "input": self.input,
            "fresh": self.fresh,
            "appended": self.appended,
            "amplification": self.amplification,
            "beginning_share": self.beginning_share,
            "idle_compactions": self.idle_compactions,
            "hour": None if self.hour is None else self.hour.json(),
            "unit": self.unit,
        }


def cache_use(timeline: Timeline, ruler: Ruler, price: PriceProfile) -> CacheUse:
    """Return the use of the cache by a session's requests, without rows where no request reports its usage."""
    requests = [request for request in timeline.requests if request.usage is not None]
    prefix_items = {item.index for item in timeline.items if item.kind in _PREFIX_KINDS}
    weights = timeline.weights(ruler.estimator) if prefix_items else ()
    prefix_tokens = sum(weights[item] for item in prefix_items) * ruler.factor
    prompt_tokens = [0, *(request.reported or 0 for request in requests)]
    return CacheUse(
        tuple(_pause_rows(timeline, requests)),
        sum(max(after - before, 0) for before, after in pairwise(prompt_tokens)),
        ruler.unseen_tokens + prefix_tokens,
        _idle_compactions(timeline),
        _hour_cache(timeline, requests, price),
        price.unit,
    )


def _pause_rows(timeline: Timeline, requests: Sequence[TimelineRequest]) -> Iterator[PauseRow]:
    requests_by_pause: dict[str, list[TimelineRequest]] = {
        FIRST_REQUEST: [],
        **{pause_name: [] for _, pause_name in _PAUSE_LIMITS},
        NOT_KNOWN: [],
    }
    for request in requests:
        requests_by_pause[_pause_name(timeline, request)].append(request)
    for pause_name, requests_of_pause in requests_by_pause.items():
        if requests_of_pause:
            usages = [request.usage for request in requests_of_pause if request.usage is not None]
            read_tokens = sum(usage.cache_read for usage in usages)
            yield PauseRow(
                pause_name,
                len(requests_of_pause),
                sum(usage.prompt for usage in usages),
                read_tokens,
            )


def _pause_name(timeline: Timeline, request: TimelineRequest) -> str:
    if not request.index:
        return FIRST_REQUEST
    seconds = _pause_before(timeline, request.index)
    if seconds is None:
        return NOT_KNOWN
    return next(name for max_seconds, name in _PAUSE_LIMITS if seconds <= max_seconds)


def _pause_before(timeline: Timeline, request: int) -> float | None:
    """Return the seconds since the request before; None where they are not known."""
    previous_request = timeline.requests[request - 1]
    if behind_the_clock(timeline) & {request, previous_request.index}:
        return None
    return timeline.requests[request].seconds_since(previous_request)


def _idle_compactions(timeline: Timeline) -> int:
    lifetime = cache_lifetime(timeline).seconds
    compaction_requests = {event.request for event in timeline.events if event.kind == "compact"}
    pauses = (
        _pause_before(timeline, request)
        for request in compaction_requests
        if 0 < request < len(timeline.requests)
    )
    return sum(pause is not None and pause > lifetime for pause in pauses)


def _hour_cache(
    timeline: Timeline, requests: Sequence[TimelineRequest], price: PriceProfile
) -> HourCache | None:
    five_minutes_price = with_writes_kept(price, hourly=False)
    hourly_price = with_writes_kept(price, hourly=True)
    added_cost, saved_cost, pauses = 0.0, 0.0, 0
    for request in requests:
        if request.usage is None:
            continue
        terms, prompt_tokens = request.terms, request.reported or 0
        written_tokens = request.usage.cache_write
        added_cost += hourly_price.cost(
            0, 0, written_tokens, 0, terms=terms, prompt_tokens=prompt_tokens
        )
        added_cost -= five_minutes_price.cost(
            0, 0, written_tokens, 0, terms=terms, prompt_tokens=prompt_tokens
        )
        seconds = _pause_before(timeline, request.index) if request.index else None
        if seconds is None or not FIVE_MINUTES_SECONDS < seconds <= HOUR_SECONDS:
            continue
        pauses += 1
        read_tokens = min(timeline.requests[request.index - 1].reported or 0, prompt_tokens)
        saved_cost += five_minutes_price.cost(
            0, 0, read_tokens, 0, terms=terms, prompt_tokens=prompt_tokens
        )
        saved_cost -= five_minutes_price.cost(
            0, read_tokens, 0, 0, terms=terms, prompt_tokens=prompt_tokens
        )
    return HourCache(added_cost, pauses, saved_cost) if added_cost > 0 else None
