"""Count what an agent would have forgotten under a policy: repeated calls, and used names that were no longer shown.

The recorded actions are counted, so the counts are a lower bound: an agent that saw less might have read more again.
No model judges anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain, compress, groupby
from operator import attrgetter
from typing import NamedTuple

from palimpsest.context.compaction.names import kind_of_name
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.context_policies.replay.fetch_cost import fetch_cost
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.review.request_contents.shown_items import shows_name
from palimpsest.review.tables.references import NameUse, References
from palimpsest.transcript.growing_lists import GrownColumns, GrownRows
from palimpsest.transcript.timeline import Timeline


class Forgotten(NamedTuple):
    """Counts of what was forgotten in a simulated session; the fields are named like those of ``PolicyFigures``."""

    repeated: int
    """Calls with the same tool and input as an earlier one whose result was no longer whole."""
    retention: float | None
    """Share of the uses of names at which the name was still shown; None where no name was used."""
    retention_by_kind: Mapping[str, float]
    """The retention of each kind of used names."""
    repair: float
    """Cost of fetching needed results that are no longer shown: one more request for each result."""


def find_forgotten(
    simulation: Simulation, references: References, price: PriceProfile
) -> Forgotten:
    """Return the counts of what the agent would have forgotten under the policy of a replay."""
    timeline = simulation.timeline
    after_all = len(timeline.requests)
    first_not_whole = {item: group[0].request for item, group in timeline.by_item.items()}
    repeated = sum(
        request >= first_not_whole.get(result, after_all)
        and timeline.at(result, request) is not None
        for request, result in timeline.of_items("repeated calls", _repeated_calls)
    )
    lost_uses = [*chain.from_iterable(_lost_uses(timeline, references, first_not_whole))]
    lost_by_kind = Counter(kind_of_name(use.name) for use in lost_uses)
    fetched: dict[int, int] = {}
    for use in lost_uses:
        if fetched.keys().isdisjoint(use.sources):
            fetched[use.newest] = use.request
    uses = len(references.uses)
    return Forgotten(
        repeated=repeated,
        retention=(uses - len(lost_uses)) / uses if uses else None,
        retention_by_kind={
            kind: (needed - lost_by_kind[kind]) / needed
            for kind, needed in references.needed.items()
        },
        repair=sum(
            fetch_cost(simulation, request, item, price) for item, request in fetched.items()
        ),
    )


def _lost_uses(
    timeline: Timeline, references: References, first_not_whole: Mapping[int, int]
) -> Sequence[Sequence[NameUse]]:
    """Return, by request, the uses of names that the request no longer showed.

    ``first_not_whole`` is the first request at which each item was no longer whole. Each request of a growing session is
    checked once.
    """
    transitions = timeline.transitions
    readable_again = {
        transition.item
        for transition in transitions
        if transition.shown or transition.state == "whole"
    }
    summaries = dict.fromkeys(
        transition.item
        for transition in transitions
        if transition.state == "summarised" and transition.shown
    )
    by_request = groupby(references.uses, key=attrgetter("request"))
    uses = {request: tuple(group) for request, group in by_request}
    after_all = len(timeline.requests)

    def is_shown(use: NameUse) -> bool:
        # Most names are still in their newest item; few of the others are whole again, or in a placeholder.
        return (
            use.request < first_not_whole.get(use.newest, after_all)
            or any(
                use.request < first_not_whole.get(holder, after_all)
                or (
                    holder in readable_again and shows_name(timeline, holder, use.request, use.name)
                )
                for holder in use.sources
            )
            or _any_summary_contains(timeline, summaries, use)
        )

    rows: GrownRows[Sequence[NameUse]] = timeline.earlier.setdefault("lost uses", GrownRows())
    return rows.of(
        lambda request, _: [use for use in uses.get(request, ()) if not is_shown(use)],
        timeline.requests,
        [uses.get(timeline_request.index) for timeline_request in timeline.requests],
        [timeline.by_request.get(timeline_request.index) for timeline_request in timeline.requests],
    )


def _any_summary_contains(timeline: Timeline, summaries: Iterable[int], use: NameUse) -> bool:
    """Return whether any summary in the request contains the name."""
    states = (timeline.at(summary, use.request) for summary in summaries)
    return any(state is not None and state.shown and use.name in state.shown for state in states)


def _repeated_calls(timeline: Timeline) -> tuple[tuple[int, int], ...]:
    """Return, for each call that repeats the input of an earlier one, its request and the earlier call's result."""
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
    repeats: list[tuple[int, int]] = []
    calls = columns["call"]
    for request in timeline.requests:
        for index in calls[slice(*request.answer)]:
            if index < 0:
                continue
            item = items[index]
            before = results.get(newest.get(item.input_hash, ""))
            if before is not None and before < request.items:
                repeats.append((request.index, before))
            newest[item.input_hash] = item.group
    return tuple(repeats)
