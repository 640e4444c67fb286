"""What a policy made the agent forget: calls that were repeated, and names that it needed and no longer saw.

Counted over the recorded actions, so it is a lower bound: the real agent, which saw less, might have read
more again. No model judges anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, groupby
from operator import attrgetter
from typing import NamedTuple

from palimpsest.context.compaction.names import kind_of_name
from palimpsest.review.comparison.references import NameUse, References
from palimpsest.review.replay.fetch_cost import fetch_cost
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.request_contents.shown_items import shows_name
from palimpsest.transcript.growing_lists import GrownColumns, GrownRows
from palimpsest.transcript.timeline import Timeline


class Forgotten(NamedTuple):
    """What was forgotten in a simulated session, by the names of its figures."""

    repeated: int
    """Calls with the same tool and input as an earlier one whose result was no longer whole."""
    retention: float | None
    """Share of the uses of names in the context whose name was still shown; None where no name was used."""
    retention_by_kind: Mapping[str, float]
    """The same for each kind of names, as far as some were used."""
    repair: float
    """What it would cost to fetch again what was needed and gone: one more request for each result."""


def forgotten(simulation: Simulation, references: References, price: PriceProfile) -> Forgotten:
    """Return what was forgotten."""
    timeline = simulation.timeline
    never = len(timeline.requests)
    until = {item: those[0].request for item, those in timeline.by_item.items()}
    repeated = sum(
        request >= until.get(result, never) and timeline.at(result, request) is not None
        for request, result in timeline.of_items("repeated calls", _repeated)
    )
    missed = [*chain.from_iterable(_lost_uses(timeline, references, until))]
    lost = Counter(kind_of_name(use.name) for use in missed)
    fetched: dict[int, int] = {}
    for use in missed:
        if fetched.keys().isdisjoint(use.sources):
            fetched[max(use.sources)] = use.request
    uses = len(references.uses)
    return Forgotten(
        repeated=repeated,
        retention=(uses - len(missed)) / uses if uses else None,
        retention_by_kind={
            kind: (needed - lost[kind]) / needed for kind, needed in references.needed.items()
        },
        repair=sum(
            fetch_cost(simulation, request, item, price) for item, request in fetched.items()
        ),
    )


def _lost_uses(
    timeline: Timeline, references: References, until: Mapping[int, int]
) -> Sequence[Sequence[NameUse]]:
    """Return, by request, the uses of names that it did not show any more; judged once in a session that grows.

    ``until`` is where each item was shown otherwise first.
    """
    moves = timeline.transitions
    told = {one.item for one in moves if one.shown or one.state == "whole"}
    summaries = dict.fromkeys(one.item for one in moves if one.state == "summarised" and one.shown)
    by_request = groupby(references.uses, key=attrgetter("request"))
    uses = {request: tuple(those) for request, those in by_request}
    never = len(timeline.requests)

    def is_shown(use: NameUse) -> bool:
        # Most names are still where they came last; of the others few are whole again, or in what stands for an item.
        return (
            use.request < until.get(use.newest, never)
            or any(
                use.request < until.get(one, never)
                or (one in told and shows_name(timeline, one, use.request, use.name))
                for one in use.sources
            )
            or _any_tells(timeline, summaries, use)
        )

    grown: GrownRows[Sequence[NameUse]] = timeline.earlier.setdefault("lost uses", GrownRows())
    return grown.of(
        lambda at, _: [use for use in uses.get(at, ()) if not is_shown(use)],
        timeline.requests,
        [uses.get(one.index) for one in timeline.requests],
        [timeline.by_request.get(one.index) for one in timeline.requests],
    )


def _any_tells(timeline: Timeline, summaries: Iterable[int], use: NameUse) -> bool:
    """Return whether a summary that a request showed holds a name, wherever that came from."""
    shown = (timeline.at(one, use.request) for one in summaries)
    return any(one is not None and one.shown and use.name in one.shown for one in shown)


def _repeated(timeline: Timeline) -> tuple[tuple[int, int], ...]:
    """Return for each call that was made before with the same input its request, and the result of that before."""
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
    found: list[tuple[int, int]] = []
    calls = columns["call"]
    for request in timeline.requests:
        for index in calls[slice(*request.answer)]:
            if index < 0:
                continue
            item = items[index]
            before = results.get(newest.get(item.input_hash, ""))
            if before is not None and before < request.items:
                found.append((request.index, before))
            newest[item.input_hash] = item.group
    return tuple(found)
