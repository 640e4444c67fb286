"""Measure how well a replay of the recorded session reproduces the usage that the provider reported.

The function that replays every policy is used; no request's own report is an input to it. Values that have to be taken
from the recording are counted separately: the read of the first request, and cache losses of unknown size.
``proof_reasons.py`` explains what is not reproduced.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from palimpsest.context_policies.calibration.fit import recorded_simulation
from palimpsest.context_policies.calibration.proof_reasons import (
    MeasuredRequests,
    Outcome,
    ReplayedRead,
    losses_taken_text,
    missed_reasons,
    money_reasons,
    why_missed,
    why_taken,
)
from palimpsest.context_policies.calibration.request_rulers import is_same_read
from palimpsest.context_policies.prompt_cache.cache_walk import RequestSize
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler, amount_with_unit
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import DOUBTFUL
from palimpsest.transcript.timeline import Timeline, TimelineRequest

MIN_REPRODUCED_SHARE = 0.95
"""Minimum share of requests that a replay must reproduce; results of one that reproduces fewer are marked doubtful."""
MAX_COST_DIFFERENCE = 0.03
"""Maximum share by which the replayed cost of a reliable replay differs from the reported."""


@dataclass(frozen=True, slots=True)
class ProofRow:
    """Reproduced requests and money of one model, for one lifetime of its cache."""

    model: str
    lifetime_seconds: float
    requests: int
    """Requests that follow another request with reported usage."""
    reproduced: int
    taken: int
    """Cache losses whose size was taken from the recording."""
    cost: float
    """The replayed cost of all requests with usage, including the first."""
    reported_cost: float

    def row_text(self, unit: str) -> str:
        """Return the row in a few words; ``unit`` is the unit of its costs."""
        name = self.model or "a model without a name"
        lost = f", {counted_noun(self.taken, 'break')} taken" if self.taken else ""
        read = f"{self.reproduced:,} of {self.requests:,}{lost}"
        money = f"{_amount(self.cost, unit)} of {amount_with_unit(self.reported_cost, unit)}"
        return f"{name}, kept for {self.lifetime_seconds:,.0f} s: {read}, {money}"


@dataclass(frozen=True, slots=True)
class Proof:
    """How well a recording is reproduced."""

    rows: tuple[ProofRow, ...] = ()
    replayed_reads: tuple[ReplayedRead, ...] = ()
    unit: str = "USD"
    reasons: tuple[str, ...] = ()
    """Why parts of the recording are not reproduced, a sentence each."""
    own_rule: str = ""
    """How many recorded compactions the agent's own rule predicts, as the end of a sentence."""

    @property
    def requests(self) -> int:
        """Requests with reported usage that follow another one."""
        return sum(row.requests for row in self.rows)

    @property
    def reproduced(self) -> int:
        """Requests that read what was reported, within 2 per cent, without a cache loss taken from the recording."""
        return sum(row.reproduced for row in self.rows)

    @property
    def taken_losses(self) -> int:
        """Cache losses whose size was taken from the recording."""
        return sum(row.taken for row in self.rows)

    @property
    def cost(self) -> float:
        """Cost of the replay."""
        return sum(row.cost for row in self.rows)

    @property
    def reported_cost(self) -> float:
        """Cost of the reported usage, at the same prices."""
        return sum(row.reported_cost for row in self.rows)

    @property
    def share(self) -> float | None:
        """Share of reproduced requests among those without a taken cache loss; None where there are none."""
        compared_count = self.requests - self.taken_losses
        return self.reproduced / compared_count if compared_count else None

    @property
    def money_apart(self) -> float | None:
        """Relative difference of the replayed money to the reported; None where nothing was reported."""
        return self.cost / self.reported_cost - 1 if self.reported_cost else None

    @property
    def is_reliable(self) -> bool | None:
        """Whether replays of this recording are reliable; None where nothing can be compared."""
        if self.share is None:
            return None
        return (
            self.share >= MIN_REPRODUCED_SHARE
            and abs(self.money_apart or 0.0) <= MAX_COST_DIFFERENCE
        )

    @property
    def is_doubtful(self) -> bool:
        """Whether results of replays of this recording are marked as doubtful."""
        return self.is_reliable is False

    @property
    def sentence(self) -> str:
        """How well the recording is reproduced, in a sentence."""
        if not self.rows:
            return "Replayed as recorded: the recording reports no usage to compare with."
        if not self.requests:
            text = f"only 1 request reports usage, so no read of the cache can be compared, and {self._only_request_text}"
        else:
            text = f"{self.reproduced:,} of {counted_noun(self.requests, 'request')} read what the provider reported"
            taken_text = losses_taken_text(self.replayed_reads)
            text += f", {taken_text}" if taken_text else ""
            text += f", {_amount(self.cost, self.unit)} of {amount_with_unit(self.reported_cost, self.unit)}"
        own_rule_part = f"; {self.own_rule}" if self.own_rule else ""
        rows_text = ""
        if len(self.rows) > 1:
            rows_text = f" By model and lifetime: {'; '.join(row.row_text(self.unit) for row in self.rows)}."
        return f"Replayed as recorded: {text}{own_rule_part}.{rows_text}"

    @property
    def _only_request_text(self) -> str:
        """What the tokens of the only request with usage come from, as the end of a sentence."""
        if abs(self.cost - self.reported_cost) <= MAX_COST_DIFFERENCE * self.reported_cost:
            return "its tokens are taken from that report"
        replayed, reported = (
            amount_with_unit(cost, self.unit) for cost in (self.cost, self.reported_cost)
        )
        return f"by its texts it would cost {replayed} instead of the reported {reported}"

    @property
    def doubt_sentences(self) -> str:
        """Why results of the replay are marked as doubtful, in sentences; empty where they are not."""
        if not self.is_doubtful:
            return ""
        limits = f"below {100 * MIN_REPRODUCED_SHARE:.0f} % of the requests or beyond {100 * MAX_COST_DIFFERENCE:.0f} % of the money"
        reasons_text = " ".join(self.reasons)
        return f"{DOUBTFUL} The replay does not reproduce this recording ({limits}), so what rests on it is doubtful. {reasons_text}".strip()

    @property
    def sentences(self) -> tuple[str, ...]:
        """The first sentences of a report: how well the recording is reproduced, and why not better."""
        reasons = self.doubt_sentences or " ".join(self.reasons)
        return (self.sentence, *((reasons,) if reasons else ()))

    def json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        taken_causes = Counter(
            read.reason for read in self.replayed_reads if read.outcome == "taken"
        )
        return {
            "share": self.share,
            "holds": self.is_reliable,
            "requests": self.requests,
            "reproduced": self.reproduced,
            "taken": self.taken_losses,
            "taken_causes": dict(taken_causes.most_common()),
            "cost": self.cost,
            "reported_cost": self.reported_cost,
            "money_apart": self.money_apart,
            "unit": self.unit,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
            "own_rule": self.own_rule or None,
            "models": [asdict(row) for row in self.rows],
        }


NO_PROOF = Proof()
"""The proof of a recording without reported usage."""


def proof_of(timeline: Timeline, ruler: Ruler, price: PriceProfile, own_rule: str = "") -> Proof:
    """Return how well a replay with a ruler reproduces a session, with money at these prices."""
    sizes = recorded_simulation(timeline, ruler).sizes
    pairs = [
        (request, size)
        for request, size in zip(timeline.requests, sizes, strict=True)
        if request.reported is not None
    ]
    reads = _replayed_reads(timeline, ruler, pairs)
    proof = Proof(_rows(ruler, price, pairs, reads), reads, price.unit, own_rule=own_rule)
    reasons = missed_reasons(timeline, reads)
    if abs(proof.money_apart or 0.0) > MAX_COST_DIFFERENCE:
        reasons += money_reasons(timeline, ruler, price, pairs)
    return replace(proof, reasons=tuple(reasons))


def _replayed_reads(
    timeline: Timeline, ruler: Ruler, pairs: MeasuredRequests
) -> tuple[ReplayedRead, ...]:
    reads: list[ReplayedRead] = []
    previous: TimelineRequest | None = None
    for request, size in pairs:
        reported_read = request.usage.cache_read if request.usage is not None else 0
        outcome: Outcome = "reproduced"
        reason = ""
        if previous is None:
            outcome = "first"
        elif size.is_taken:
            outcome, reason = "taken", why_taken(timeline, request)
        elif not is_same_read(size.read, reported_read):
            outcome, reason = "missed", why_missed(timeline, ruler, previous, request, size)
        reads.append(ReplayedRead(request.index, outcome, reason))
        previous = request
    return tuple(reads)


def _rows(
    ruler: Ruler, price: PriceProfile, pairs: MeasuredRequests, reads: Sequence[ReplayedRead]
) -> tuple[ProofRow, ...]:
    groups: dict[tuple[str, float], list[tuple[TimelineRequest, RequestSize, ReplayedRead]]] = {}
    for (request, size), read in zip(pairs, reads, strict=True):
        key = (request.model, ruler.request_ruler(request.index).lifetime_seconds)
        groups.setdefault(key, []).append((request, size, read))
    return tuple(
        ProofRow(
            model=model,
            lifetime_seconds=seconds,
            requests=sum(read.outcome != "first" for _, _, read in group),
            reproduced=sum(read.outcome == "reproduced" for _, _, read in group),
            taken=sum(read.outcome == "taken" for _, _, read in group),
            cost=sum(size.cost(price) for _, size, _ in group),
            reported_cost=sum(price.cost_of(request) for request, _, _ in group),
        )
        for (model, seconds), group in groups.items()
    )


def _amount(value: float, unit: str) -> str:
    return amount_with_unit(value, unit).removesuffix(f" {unit}")
