"""Count what an agent would have forgotten under a policy: repeated calls, and used names that were no longer shown.

The recorded actions are counted, so the counts are a lower bound: an agent that saw less might have read more again.
No model judges anything.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, compress
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
    refetching: float
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
        and timeline.transition_at(result, request) is not None
        for request, result in timeline.of_items("repeated calls", _repeated_calls)
    )
    lost_uses = [*chain.from_iterable(_lost_uses(timeline, references, first_not_whole))]
    lost_by_kind = Counter(kind_of_name(use.name) for use in lost_uses)
    fetched: dict[int, int] = {}
    fetched_names: set[str] = set()
    for use in lost_uses:
        # Once a name was fetched, its later uses need nothing more, since the items that contain it only grow.
        if use.name not in fetched_names and fetched.keys().isdisjoint(use.sources):
            fetched[use.newest_source] = use.request
        fetched_names.add(use.name)
    uses = len(references.uses)
    costs = (fetch_cost(simulation, request, item, price) for item, request in fetched.items())
    return Forgotten(
        repeated=repeated,
        retention=(uses - len(lost_uses)) / uses if uses else None,
        retention_by_kind={
            kind: (use_count - lost_by_kind[kind]) / use_count
            for kind, use_count in references.uses_by_kind.items()
        },
        refetching=sum(costs),
    )


def _lost_uses(
    timeline: Timeline, references: References, first_not_whole: Mapping[int, int]
) -> Sequence[Sequence[NameUse]]:
    """Return, by request, the uses of names that the request no longer showed.

    ``first_not_whole`` is the first request at which each item was no longer whole. Each request of a growing session is
    checked once.
    """
    transitions = timeline.transitions
    texts_again: dict[int, dict[str | None, None]] = {}
    for transition in transitions:
        if transition.shown or transition.state == "whole":
            shown_text = None if transition.state == "whole" else transition.shown
            texts_again.setdefault(transition.item, {})[shown_text] = None
    summaries = dict.fromkeys(
        transition.item
        for transition in transitions
        if transition.state == "summarised" and transition.shown
    )
    uses = references.by_request
    after_all = len(timeline.requests)
    names = _NamesShown(timeline, first_not_whole, texts_again)

    rows: GrownRows[Sequence[NameUse]] = timeline.earlier.setdefault("lost uses", GrownRows())
    return rows.grown_rows(
        lambda request, _: [
            use
            for newest_source, use in uses.get(request, ())
            # Most names are still in their newest item.
            if request >= first_not_whole.get(newest_source, after_all)
            and not (names.shows(use) or _any_summary_contains(timeline, summaries, use))
        ],
        timeline.requests,
        [uses.get(timeline_request.index) for timeline_request in timeline.requests],
        [timeline.by_request.get(timeline_request.index) for timeline_request in timeline.requests],
    )


@dataclass(slots=True)
class _Sources:
    """What is known of the items that contain a name, as far as they were looked at."""

    count: int = 0
    whole_until: int = 0
    """The first request at which all of them had been changed."""
    shown_again: list[int] = field(default_factory=list)
    """Those that may show the name after they were changed."""


@dataclass(slots=True)
class _NamesShown:
    """Answers whether requests show names; the uses of a name come in the order of requests, so its items only grow."""

    timeline: Timeline
    first_not_whole: Mapping[int, int]
    texts_again: Mapping[int, Iterable[str | None]]
    """The texts that replace an item; None where it is whole again."""
    sources: dict[str, _Sources] = field(default_factory=dict)

    def shows(self, use: NameUse) -> bool:
        """Return whether the request of a use shows its name in one of the items that contain it."""
        after_all = len(self.timeline.requests)
        sources = self.sources.setdefault(use.name, _Sources())
        for item in use.sources[sources.count :]:
            first_not_whole = self.first_not_whole.get(item, after_all)
            sources.whole_until = max(sources.whole_until, first_not_whole)
            if any(text is None or use.name in text for text in self.texts_again.get(item, ())):
                sources.shown_again.append(item)
        sources.count = len(use.sources)
        return use.request < sources.whole_until or any(
            shows_name(self.timeline, item, use.request, use.name) for item in sources.shown_again
        )


def _any_summary_contains(timeline: Timeline, summaries: Iterable[int], use: NameUse) -> bool:
    states = (timeline.transition_at(summary, use.request) for summary in summaries)
    return any(state is not None and state.shown and use.name in state.shown for state in states)


def _repeated_calls(timeline: Timeline) -> tuple[tuple[int, int], ...]:
    """Return, for each call that repeats the input of an earlier one, its request and the earlier call's result."""
    items = timeline.items
    kinds: GrownColumns = timeline.earlier.setdefault("results and calls", GrownColumns())
    columns = kinds.grown_columns(
        items,
        {
            "result": lambda item: item.kind == "output",
            "call": lambda item: item.index if item.kind == "call" else -1,
        },
    )
    results = {item.group: item.index for item in compress(items, columns["result"])}
    newest_result: dict[str, str] = {}
    repeats: list[tuple[int, int]] = []
    calls = columns["call"]
    for request in timeline.requests:
        for index in calls[slice(*request.answer)]:
            if index < 0:
                continue
            item = items[index]
            before = results.get(newest_result.get(item.input_hash, ""))
            if before is not None and before < request.items:
                repeats.append((request.index, before))
            newest_result[item.input_hash] = item.group
    return tuple(repeats)
