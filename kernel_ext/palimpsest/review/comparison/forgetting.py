"""What a policy made the agent forget: calls that were repeated, and names that it needed and no longer saw.

Counted over the recorded actions, so it is a lower bound: the real agent, which saw less, might have read
more again. No model judges anything.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import compress

from palimpsest.context.compaction.names import kind_of_name
from palimpsest.review.comparison.references import NameUse, References
from palimpsest.review.replay.fetch_cost import fetch_cost
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.request_contents.shown_items import shows_name
from palimpsest.transcript.growing_lists import GrownColumns
from palimpsest.transcript.timeline import Timeline, Transition


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
        """The same for each kind of names, as far as some were used."""
        return {kind: kept / needed for kind, (kept, needed) in self.by_kind.items()}


def forgotten(simulation: Simulation, references: References) -> Forgotten:
    """Return what was forgotten."""
    timeline = simulation.timeline
    never = len(timeline.requests)
    judged = _judged(timeline, references)
    until, lost = judged.until, judged.lost
    repeated = tuple(
        (request, call)
        for request, call, result in timeline.of_items("repeated calls", _repeated)
        if request >= until.get(result, never) and timeline.at(result, request) is not None
    )
    return Forgotten(
        repeated_calls=len(repeated),
        repeated_at=repeated,
        needed=len(references.uses),
        kept=len(references.uses) - lost.total(),
        fetched_again=tuple((request, item) for item, request in judged.fetched.items()),
        by_kind={kind: (needed - lost[kind], needed) for kind, needed in references.needed.items()},
    )


@dataclass(slots=True)
class _JudgedUses:
    """What is known of the first uses of names, by the first transitions."""

    uses: tuple[NameUse, ...] = ()
    transitions: tuple[Transition, ...] = ()
    done: int = 0
    """Uses and transitions of the requests before this one are taken."""
    until: dict[int, int] = field(default_factory=dict)
    """Where each item was shown otherwise first."""
    told: set[int] = field(default_factory=set)
    """The items that may be whole again, or in whose place a text stands."""
    summaries: dict[int, None] = field(default_factory=dict)
    """The items in whose places texts of summaries stand."""
    lost: Counter[str] = field(default_factory=Counter)
    fetched: dict[int, int] = field(default_factory=dict)

    def is_beginning_of(self, timeline: Timeline, uses: tuple[NameUse, ...]) -> bool:
        """Return whether what was taken is how a timeline and its uses begin."""
        moves, count = timeline.transitions, len(self.transitions)
        is_all = len(moves) == count or (len(moves) > count and moves[count].request >= self.done)
        own = len(self.uses)
        is_all = is_all and (
            len(uses) == own or (len(uses) > own and uses[own].request >= self.done)
        )
        return is_all and moves[:count] == self.transitions and uses[:own] == self.uses

    def taken_on(self, timeline: Timeline, references: References, done: int) -> "_JudgedUses":
        """Return what is known with the uses and transitions of all requests before one."""
        moves, uses = timeline.transitions, references.uses
        moved = bisect_left(moves, done, key=lambda one: one.request)
        used = bisect_left(uses, done, key=lambda one: one.request)
        made = _JudgedUses(
            uses[:used],
            moves[:moved],
            done,
            {**self.until},
            {*self.told},
            {**self.summaries},
            Counter(self.lost),
            {**self.fetched},
        )
        for one in moves[len(self.transitions) : moved]:
            made.until.setdefault(one.item, one.request)
            if one.shown or one.state == "whole":
                made.told.add(one.item)
            if one.state == "summarised" and one.shown:
                made.summaries[one.item] = None
        never = len(timeline.requests)
        for use in uses[len(self.uses) : used]:
            # Most names are still where they came last.
            if use.request < made.until.get(use.newest, never):
                continue
            if not _any_shows(timeline, use, made.until, made.told):
                made.lose(timeline, use)
        return made

    def lose(self, timeline: Timeline, use: NameUse) -> None:
        """Note a use of a name that no item shows any more, unless a summary tells it."""
        if self.summaries and _any_tells(timeline, self.summaries, use):
            return
        self.lost[kind_of_name(use.name)] += 1
        if self.fetched.keys().isdisjoint(use.sources):
            self.fetched[max(use.sources)] = use.request


def _judged(timeline: Timeline, references: References) -> _JudgedUses:
    """Return what is known of all uses; what does not change any more is taken once in a session that grows."""
    known: _JudgedUses = timeline.earlier.get("judged uses", _JudgedUses())
    if not known.is_beginning_of(timeline, references.uses):
        known = _JudgedUses()
    never = len(timeline.requests)
    settled = known.taken_on(timeline, references, max(never - 1, known.done))
    timeline.earlier["judged uses"] = settled
    return settled.taken_on(timeline, references, never)


def _any_tells(timeline: Timeline, summaries: Iterable[int], use: NameUse) -> bool:
    """Return whether a summary that a request showed holds a name, wherever that came from."""
    shown = (timeline.at(one, use.request) for one in summaries)
    return any(one is not None and one.shown and use.name in one.shown for one in shown)


def _repeated(timeline: Timeline) -> tuple[tuple[int, int, int], ...]:
    """Return the calls that were made before with the same input: request, call, and the result of that before."""
    items = timeline.items
    kinds: GrownColumns = timeline.earlier.setdefault("results and calls", GrownColumns())
    columns = kinds.of(
        items,
        {
            "result": lambda item: item.kind == "output",
            "call": lambda item: item.index if item.kind == "call" else -1,
        },
    )
    results = {item.group: item.index for item in compress(items, columns["result"])}
    newest: dict[str, str] = {}
    found: list[tuple[int, int, int]] = []
    calls = columns["call"]
    for request in timeline.requests:
        for index in calls[slice(*request.answer)]:
            if index < 0:
                continue
            item = items[index]
            before = results.get(newest.get(item.input_hash, ""))
            if before is not None and before < request.items:
                found.append((request.index, index, before))
            newest[item.input_hash] = item.group
    return tuple(found)


def _any_shows(timeline: Timeline, use: NameUse, until: Mapping[int, int], told: set[int]) -> bool:
    """Return whether a request showed a name somewhere.

    ``until`` is where each item was shown otherwise first, ``told`` those that may be whole again, or in whose
    place a text stands.
    """
    for one in use.sources:
        if use.request < until.get(one, use.request + 1):
            return True
        if one in told and shows_name(timeline, one, use.request, use.name):
            return True
    return False


def repair_cost(simulation: Simulation, forgot: Forgotten, price: PriceProfile) -> float:
    """Return what it would cost to fetch again what was needed and gone: one more request for each result."""
    return sum(
        fetch_cost(simulation, request, item, price) for request, item in forgot.fetched_again
    )
