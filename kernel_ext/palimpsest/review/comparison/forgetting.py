"""What a policy made the agent forget: calls that were repeated, and names that it needed and no longer saw.

Counted over the recorded actions, so it is a lower bound: the real agent, which saw less, might have read
more again. No model judges anything.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from palimpsest.review.comparison.references import NameUse, References
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import Simulation
from palimpsest.transcript.timeline import Timeline

CALL_TOKENS = 60
"""Tokens of a call that fetches something again: the mean of short calls in recorded sessions."""


@dataclass(frozen=True, slots=True)
class Forgotten:
    """What was forgotten in a simulated session."""

    repeated_calls: int
    """Calls with the same tool and input as an earlier one whose result was no longer whole."""
    repeated_at: tuple[tuple[int, int], ...]
    """Request and call item of each."""
    needed: int
    """Uses of names that were in the context before."""
    kept: int
    """Of these the uses whose name was still shown."""
    fetched_again: tuple[tuple[int, int], ...]
    """Request and item of each result that would have to be fetched again, once."""
    by_kind: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Uses whose name was still shown, and all uses, by the kind of the name."""

    @property
    def retention(self) -> float | None:
        """Share of the uses whose name was still shown; None where no name was used."""
        return self.kept / self.needed if self.needed else None

    @property
    def retention_by_kind(self) -> dict[str, float]:
        """The same for paths, errors, identifiers and numbers, as far as some were used."""
        return {kind: kept / needed for kind, (kept, needed) in self.by_kind.items()}


def forgotten(simulation: Simulation, references: References) -> Forgotten:
    """Return what was forgotten."""
    timeline = simulation.timeline
    repeated = tuple(_repeated(timeline))
    until = {item: those[0].request for item, those in timeline.by_item.items()}
    told = {
        item
        for item, those in timeline.by_item.items()
        if any(one.state == "whole" or one.shown for one in those)
    }
    summaries = _summaries(timeline)
    lost: Counter[str] = Counter()
    fetched: dict[int, int] = {}
    for use in references.uses:
        # Most names are still where they came last.
        if use.request < until.get(use.newest, use.request + 1) or _any_shows(
            timeline, use, until, told
        ):
            continue
        if summaries and _any_tells(timeline, summaries, use):
            continue
        lost[references.kinds[use.name]] += 1
        if fetched.keys().isdisjoint(use.sources):
            fetched[max(use.sources)] = use.request
    return Forgotten(
        repeated_calls=len(repeated),
        repeated_at=repeated,
        needed=len(references.uses),
        kept=len(references.uses) - lost.total(),
        fetched_again=tuple((request, item) for item, request in fetched.items()),
        by_kind={kind: (needed - lost[kind], needed) for kind, needed in references.needed.items()},
    )


def _summaries(timeline: Timeline) -> tuple[int, ...]:
    """Return the items in whose places texts of summaries stand."""
    those = (one.item for one in timeline.transitions if one.state == "summarised" and one.shown)
    return tuple(dict.fromkeys(those))


def _any_tells(timeline: Timeline, summaries: tuple[int, ...], use: NameUse) -> bool:
    """Return whether a summary that a request showed holds a name, wherever that came from."""
    shown = (timeline.at(one, use.request) for one in summaries)
    return any(one is not None and one.shown and use.name in one.shown for one in shown)


def _repeated(timeline: Timeline) -> list[tuple[int, int]]:
    results = {item.group: item.index for item in timeline.items if item.kind == "output"}
    newest: dict[str, str] = {}
    found: list[tuple[int, int]] = []
    for request in timeline.requests:
        for index in range(*request.answer):
            item = timeline.items[index]
            if item.kind != "call":
                continue
            before = results.get(newest.get(item.input_hash, ""))
            if before is not None and before < request.items:
                shown = timeline.at(before, request.index)
                if shown is not None:
                    found.append((request.index, index))
            newest[item.input_hash] = item.group
    return found


def _any_shows(timeline: Timeline, use: NameUse, until: Mapping[int, int], told: set[int]) -> bool:
    """Return whether a request showed a name somewhere.

    ``until`` is where each item was shown otherwise first, ``told`` those that may be whole again, or in whose
    place a text stands.
    """
    for one in use.sources:
        if use.request < until.get(one, use.request + 1):
            return True
        if one in told and _shows(timeline, one, use.request, use.name):
            return True
    return False


def _shows(timeline: Timeline, item: int, request: int, name: str) -> bool:
    """Return whether a request showed a name in an item: whole, or in what stood in its place."""
    found = timeline.at(item, request)
    if found is None:
        return True
    return found.shown is not None and name in found.shown


def repair_cost(simulation: Simulation, forgot: Forgotten, price: PriceProfile) -> float:
    """Return what it would cost to fetch again what was needed and gone: one more request for each result."""
    ruler = simulation.ruler
    weights = simulation.timeline.weights(ruler.estimator)
    return sum(
        price.cost(
            0,
            simulation.sizes[request].total,
            weights[item] * ruler.factor + CALL_TOKENS,
            CALL_TOKENS,
        )
        for request, item in forgot.fetched_again
    )
