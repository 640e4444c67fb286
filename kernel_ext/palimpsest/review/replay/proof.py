"""How well a replay of the recording itself gives what the provider reported, before anything is said of a policy.

The function that replays every policy replays the recording here; no request's own report is an input to it. What
is taken from the recording is counted apart: what the first request read, and losses of the cache without a known cause.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import DOUBTFUL
from palimpsest.review.replay.break_causes import BreakCause
from palimpsest.review.replay.cache_losses import cache_losses, unexplained_losses
from palimpsest.review.replay.cache_walk import RequestSize, gap_seconds
from palimpsest.review.replay.fit import recorded
from palimpsest.review.replay.request_rulers import (
    has_too_many_losses,
    is_same_read,
)
from palimpsest.review.replay.ruler import PriceProfile, Ruler, money_words
from palimpsest.transcript.timeline import Timeline, TimelineRequest

LEAST_SHARE = 0.95
"""Of the requests; what rests on a replay that reproduces fewer is marked."""
MOST_APART = 0.03
"""Share by which the replayed money may differ from the reported."""
MOST_NAMED = 5
"""Requests that a reason names."""
LOST_AFTER: Mapping[BreakCause, str] = {
    "model": "another model had answered",
    "tools": "the tool definitions had changed",
    "system prompt": "the system prompt had changed",
    "rewritten": "the agent's program had sent earlier messages otherwise",
    "client": "the agent's program had become another version",
    "effort": "the reasoning effort had changed",
    "late": "the provider's cache had fallen behind",
}
"""Causes of lost caches that a recording tells of, without how much of the cache they leave."""
Outcome = Literal["first", "reproduced", "taken", "missed"]


@dataclass(frozen=True, slots=True)
class ReplayedRead:
    """One request with reported usage: what the replay says that it read, and what was reported."""

    request: int
    replayed: float
    """Tokens, without what was taken from the recording."""
    reported: int
    outcome: Outcome
    reason: str = ""
    """Why it was missed, the end of a sentence that begins with how many requests."""


@dataclass(frozen=True, slots=True)
class ProofRow:
    """The requests of one model whose cache is kept for the same time."""

    model: str
    lifetime_seconds: float
    requests: int
    """Those that follow another one with reported usage."""
    reproduced: int
    taken: int
    """Losses of the cache that were taken from the recording."""
    cost: float
    """As replayed, of all with usage, the first one too."""
    reported_cost: float

    @property
    def words(self) -> str:
        """The row in a few words."""
        name = self.model or "a model without a name"
        lost = f", {some(self.taken, 'break')} taken" if self.taken else ""
        return f"{name}, kept for {self.lifetime_seconds:,.0f} s: {self.reproduced:,} of {self.requests:,}{lost}"


@dataclass(frozen=True, slots=True)
class Proof:
    """How well a recording is reproduced."""

    rows: tuple[ProofRow, ...] = ()
    reads: tuple[ReplayedRead, ...] = ()
    unit: str = "USD"
    reasons: tuple[str, ...] = ()
    """Why not all of it is, a sentence each."""
    own_rule: str = ""
    """What the recording agent's own rule finds of the recorded compactions, the end of the sentence."""

    @property
    def requests(self) -> int:
        """Requests with reported usage that follow another one."""
        return sum(one.requests for one in self.rows)

    @property
    def reproduced(self) -> int:
        """Those that read what was reported, within 2 per cent, and lost nothing that had to be taken."""
        return sum(one.reproduced for one in self.rows)

    @property
    def taken(self) -> int:
        """Losses of the cache that were taken from the recording."""
        return sum(one.taken for one in self.rows)

    @property
    def cost(self) -> float:
        """What the replay costs."""
        return sum(one.cost for one in self.rows)

    @property
    def reported_cost(self) -> float:
        """What the reported usage costs at the same prices."""
        return sum(one.reported_cost for one in self.rows)

    @property
    def share(self) -> float | None:
        """Reproduced requests of those that were not taken; None where there are none."""
        known = self.requests - self.taken
        return self.reproduced / known if known else None

    @property
    def money_apart(self) -> float | None:
        """Share by which the replayed money is above the reported (or below, negative); None where nothing was reported."""
        return self.cost / self.reported_cost - 1 if self.reported_cost else None

    @property
    def holds(self) -> bool | None:
        """Whether replays of this recording can be built upon; None where nothing can be compared."""
        if self.share is None:
            return None
        return self.share >= LEAST_SHARE and abs(self.money_apart or 0.0) <= MOST_APART

    @property
    def is_doubtful(self) -> bool:
        """Whether what rests on a replay is marked."""
        return self.holds is False

    @property
    def sentence(self) -> str:
        """How well the recording is reproduced, in a sentence."""
        if not self.rows:
            return "Replayed as recorded: the recording reports no usage to compare with."
        money = f"{_amount(self.cost, self.unit)} of {money_words(self.reported_cost, self.unit)}"
        if not self.requests:
            told = f"only {some(1, 'request')} reports usage, so no read of the cache can be compared, {money}"
        else:
            told = f"{self.reproduced:,} of {some(self.requests, 'request')} read what the provider reported"
            if self.taken:
                told += f", {some(self.taken, 'break')} taken from the recording"
            told += f", {money}"
        beside = f"; {self.own_rule}" if self.own_rule else ""
        several = (
            f" By model and lifetime: {'; '.join(one.words for one in self.rows)}."
            if len(self.rows) > 1
            else ""
        )
        return f"Replayed as recorded: {told}{beside}.{several}"

    @property
    def doubt(self) -> str:
        """Why what rests on the replay is marked, in sentences; empty where it is not."""
        if not self.is_doubtful:
            return ""
        limits = f"below {100 * LEAST_SHARE:.0f} % of the requests or beyond {100 * MOST_APART:.0f} % of the money"
        why = " ".join(self.reasons)
        return f"{DOUBTFUL} The replay does not reproduce this recording ({limits}), so what rests on it is doubtful. {why}".strip()

    @property
    def sentences(self) -> tuple[str, ...]:
        """What a report opens with."""
        told = self.doubt or " ".join(self.reasons)
        return (self.sentence, *((told,) if told else ()))

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "share": self.share,
            "holds": self.holds,
            "requests": self.requests,
            "reproduced": self.reproduced,
            "taken": self.taken,
            "cost": self.cost,
            "reported_cost": self.reported_cost,
            "money_apart": self.money_apart,
            "unit": self.unit,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
            "own_rule": self.own_rule or None,
            "models": [
                {
                    "model": one.model,
                    "lifetime_seconds": one.lifetime_seconds,
                    "requests": one.requests,
                    "reproduced": one.reproduced,
                    "taken": one.taken,
                    "cost": one.cost,
                    "reported_cost": one.reported_cost,
                }
                for one in self.rows
            ],
        }


NO_PROOF = Proof()
"""Of what reports no usage."""


def proof_of(timeline: Timeline, ruler: Ruler, price: PriceProfile, own_rule: str = "") -> Proof:
    """Return how well a session is reproduced by a ruler, with money at these prices."""
    sizes = recorded(timeline, ruler).sizes
    pairs = [
        (one, size)
        for one, size in zip(timeline.requests, sizes, strict=True)
        if one.reported is not None
    ]
    reads = _reads(timeline, ruler, pairs)
    return Proof(
        rows=_rows(ruler, price, pairs, reads),
        reads=reads,
        unit=price.unit,
        reasons=(*_missed(reads), *_lost(timeline, reads), *_money(price, pairs)),
        own_rule=own_rule,
    )


def _reads(
    timeline: Timeline, ruler: Ruler, pairs: Sequence[tuple[TimelineRequest, RequestSize]]
) -> tuple[ReplayedRead, ...]:
    alone = ruler.without_taken
    plain = recorded(timeline, alone).sizes
    found: list[ReplayedRead] = []
    before: TimelineRequest | None = None
    for request, size in pairs:
        told = request.usage.cache_read if request.usage is not None else 0
        replayed = plain[request.index].read
        if before is None:
            outcome: Outcome = "first"
        elif size.is_taken:
            outcome = "taken"
        else:
            outcome = "reproduced" if is_same_read(size.read, told) else "missed"
        reason = ""
        if outcome == "missed" and before is not None:
            reason = _reason(timeline, ruler, before, request, size)
        found.append(ReplayedRead(request.index, replayed, told, outcome, reason))
        before = request
    return tuple(found)


def _reason(
    timeline: Timeline,
    ruler: Ruler,
    before: TimelineRequest,
    request: TimelineRequest,
    size: RequestSize,
) -> str:
    """Return why a request read something else than the replay, as far as its numbers say it."""
    usage, last = request.usage, before.usage
    told = 0 if usage is None else usage.cache_read
    sent = 0 if last is None else last.prompt + last.output + last.reasoning
    gap = gap_seconds(before, request)
    if size.first_changed is not None or _is_changed(timeline, request, size):
        return "read otherwise after what was sent before had changed"
    lost = next(
        (one for one in cache_losses(timeline) if one is not None and one.request == request.index),
        None,
    )
    after = None if lost is None else LOST_AFTER.get(lost.causes[0].cause)
    if after is not None:
        return f"lost the cache after {after}"
    if told > sent:
        return "read more than the request before had sent, which no cache of this session explains"
    if before.model != request.model:
        return "read otherwise after another model had answered"
    if gap is not None and gap > ruler.of(request.index).lifetime_seconds:
        return "read something after a pause longer than the cache is known to be kept"
    if told < size.read:
        return "read less than the request before had left in the cache"
    return "read more than the request before was known to leave in the cache"


def _is_changed(timeline: Timeline, request: TimelineRequest, size: RequestSize) -> bool:
    kinds = {one.kind for one in timeline.events if one.request == request.index}
    return size.first_changed is not None or bool(kinds & {"compact", "undo"})


def _rows(
    ruler: Ruler,
    price: PriceProfile,
    pairs: Sequence[tuple[TimelineRequest, RequestSize]],
    reads: Sequence[ReplayedRead],
) -> tuple[ProofRow, ...]:
    groups: dict[tuple[str, float], list[tuple[TimelineRequest, RequestSize, ReplayedRead]]] = {}
    for (request, size), read in zip(pairs, reads, strict=True):
        key = (request.model, ruler.of(request.index).lifetime_seconds)
        groups.setdefault(key, []).append((request, size, read))
    return tuple(
        ProofRow(
            model=model,
            lifetime_seconds=seconds,
            requests=sum(read.outcome != "first" for _, _, read in those),
            reproduced=sum(read.outcome == "reproduced" for _, _, read in those),
            taken=sum(read.outcome == "taken" for _, _, read in those),
            cost=sum(size.cost(price) for _, size, _ in those),
            reported_cost=sum(price.cost_of(request) for request, _, _ in those),
        )
        for (model, seconds), those in groups.items()
    )


def _missed(reads: Sequence[ReplayedRead]) -> list[str]:
    """Return for each reason the requests that were missed for it."""
    by_reason: dict[str, list[int]] = {}
    for one in reads:
        if one.outcome == "missed":
            by_reason.setdefault(one.reason, []).append(one.request + 1)
    return [
        f"{some(len(those), 'request')} {reason} ({_named(those)})."
        for reason, those in sorted(by_reason.items(), key=lambda one: -len(one[1]))
    ]


def _lost(timeline: Timeline, reads: Sequence[ReplayedRead]) -> list[str]:
    """Return that too many losses have no known cause to be taken from the recording."""
    missed = {one.request for one in reads if one.outcome == "missed"}
    lost = sum(one.request in missed for one in unexplained_losses(timeline))
    if not lost or not has_too_many_losses(timeline):
        return []
    followers = sum(one.outcome != "first" for one in reads)
    told = f"{lost:,} of {some(followers, 'request')} lost the cache for no known cause"
    return [
        f"{told}, too many to be taken from the recording: its cache follows rules that are not known here."
    ]


def _money(price: PriceProfile, pairs: Sequence[tuple[TimelineRequest, RequestSize]]) -> list[str]:
    """Return what makes the replayed money differ from the reported, where it is too far away."""
    cost = sum(size.cost(price) for _, size in pairs)
    told = sum(price.cost_of(request) for request, _ in pairs)
    if not told or abs(cost / told - 1) <= MOST_APART:
        return []
    parts: Mapping[str, tuple[float, float]] = {
        "prompts": (
            sum(size.total for _, size in pairs),
            sum(request.reported or 0 for request, _ in pairs),
        ),
        "reads from the cache": (
            sum(size.read for _, size in pairs),
            sum(one.cache_read for one in _usages(pairs)),
        ),
        "writes to the cache": (
            sum(size.written for _, size in pairs),
            sum(one.cache_write for one in _usages(pairs)),
        ),
        "answers": (
            sum(size.output for _, size in pairs),
            sum(one.output + one.reasoning for one in _usages(pairs)),
        ),
    }
    apart = [
        f"{name} {replayed:,.0f} for {reported:,.0f} tokens"
        for name, (replayed, reported) in parts.items()
        if abs(replayed - reported) > MOST_APART * reported
    ]
    named = f": {', '.join(apart)}" if apart else ""
    side = "above" if cost > told else "below"
    away = f"{100 * abs(cost / told - 1):.1f} %"
    return [f"The money of {some(len(pairs), 'request')} is {away} {side} the reported{named}."]


def _usages(pairs: Sequence[tuple[TimelineRequest, RequestSize]]) -> list[Any]:
    return [request.usage for request, _ in pairs if request.usage is not None]


def _named(requests: Sequence[int]) -> str:
    named = ", ".join(f"{one:,}" for one in requests[:MOST_NAMED])
    more = len(requests) - MOST_NAMED
    return f"{named} and {more:,} more" if more > 0 else named


def _amount(value: float, unit: str) -> str:
    return money_words(value, unit).removesuffix(f" {unit}")
