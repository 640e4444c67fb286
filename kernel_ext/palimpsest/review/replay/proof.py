"""How well a replay of the recording itself gives what the provider reported, before anything is said of a policy.

The function that replays every policy replays the recording here; no request's own report is an input to it. What
is taken from the recording is counted apart: what the first request read, and losses of the cache of which nothing else
says how large they are. Why something is not reproduced is told by ``proof_reasons.py``.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import DOUBTFUL
from palimpsest.review.replay.cache_walk import RequestSize
from palimpsest.review.replay.fit import recorded
from palimpsest.review.replay.proof_reasons import (
    Outcome,
    Pairs,
    ReplayedRead,
    missed_reasons,
    money_reasons,
    taken_words,
    why_missed,
    why_taken,
)
from palimpsest.review.replay.request_rulers import is_same_read
from palimpsest.review.replay.ruler import PriceProfile, Ruler, money_words
from palimpsest.transcript.timeline import Timeline, TimelineRequest

LEAST_SHARE = 0.95
"""Of the requests; what rests on a replay that reproduces fewer is marked."""
MOST_APART = 0.03
"""Share by which the replayed money may differ from the reported."""


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

    def words(self, unit: str) -> str:
        """Return the row in a few words; the unit is that of its money."""
        name = self.model or "a model without a name"
        lost = f", {some(self.taken, 'break')} taken" if self.taken else ""
        read = f"{self.reproduced:,} of {self.requests:,}{lost}"
        money = f"{_amount(self.cost, unit)} of {money_words(self.reported_cost, unit)}"
        return f"{name}, kept for {self.lifetime_seconds:,.0f} s: {read}, {money}"


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
            taken = taken_words(self.reads)
            told += f", {taken}" if taken else ""
            told += f", {money}"
        beside = f"; {self.own_rule}" if self.own_rule else ""
        several = (
            f" By model and lifetime: {'; '.join(one.words(self.unit) for one in self.rows)}."
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
            "taken_causes": dict(
                Counter(one.reason for one in self.reads if one.outcome == "taken").most_common()
            ),
            "cost": self.cost,
            "reported_cost": self.reported_cost,
            "money_apart": self.money_apart,
            "unit": self.unit,
            "sentence": self.sentence,
            "reasons": list(self.reasons),
            "own_rule": self.own_rule or None,
            "models": [asdict(one) for one in self.rows],
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
    found = Proof(_rows(ruler, price, pairs, reads), reads, price.unit, own_rule=own_rule)
    reasons = missed_reasons(timeline, reads)
    if abs(found.money_apart or 0.0) > MOST_APART:
        reasons += money_reasons(timeline, ruler, price, pairs)
    return replace(found, reasons=tuple(reasons))


def _reads(timeline: Timeline, ruler: Ruler, pairs: Pairs) -> tuple[ReplayedRead, ...]:
    plain = recorded(timeline, ruler.without_taken).sizes
    found: list[ReplayedRead] = []
    before: TimelineRequest | None = None
    for request, size in pairs:
        told = request.usage.cache_read if request.usage is not None else 0
        replayed = plain[request.index].read
        outcome: Outcome = "reproduced"
        reason = ""
        if before is None:
            outcome = "first"
        elif size.is_taken:
            outcome, reason = "taken", why_taken(timeline, request)
        elif not is_same_read(size.read, told):
            outcome, reason = "missed", why_missed(timeline, ruler, before, request, size)
        found.append(ReplayedRead(request.index, replayed, told, outcome, reason))
        before = request
    return tuple(found)


def _rows(
    ruler: Ruler,
    price: PriceProfile,
    pairs: Pairs,
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


def _amount(value: float, unit: str) -> str:
    return money_words(value, unit).removesuffix(f" {unit}")
