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
    """Number of calls with the same tool and input as an earlier one whose result was no longer whole."""
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
    request_count = len(timeline.requests)
    first_not_whole_by_item = {item: group[0].request for item, group in timeline.by_item.items()}
    repeated = sum(
        request >= first_not_whole_by_item.get(result, request_count)
        and timeline.transition_at(result, request) is not None
        for request, result in timeline.of_items("repeated calls", _repeated_calls)
    )
    lost_uses = [*chain.from_iterable(_lost_uses(timeline, references, first_not_whole_by_item))]
    lost_by_kind = Counter(kind_of_name(use.name) for use in lost_uses)
    request_by_fetched_item: dict[int, int] = {}
    fetched_names: set[str] = set()
    for use in lost_uses:
        # Once a name was fetched, its later uses need nothing more, since the items that contain it only grow.
        if use.name not in fetched_names and request_by_fetched_item.keys().isdisjoint(use.sources):
            request_by_fetched_item[use.newest_source] = use.request
        fetched_names.add(use.name)
    total_uses = len(references.uses)
    costs = (
        fetch_cost(simulation, request, item, price)
        for item, request in request_by_fetched_item.items()
    )
    return Forgotten(
        repeated=repeated,
        retention=(total_uses - len(lost_uses)) / total_uses if total_uses else None,
        retention_by_kind={
            kind: (use_count - lost_by_kind[kind]) / use_count
            for kind, use_count in references.uses_by_kind.items()
        },
        refetching=sum(costs),
    )


def _lost_uses(
    timeline: Timeline, references: References, first_not_whole_by_item: Mapping[int, int]
) -> Sequence[Sequence[NameUse]]:
    """Return, by request, the uses of names that the request no longer showed.

    ``first_not_whole_by_item`` is the first request at which each item was no longer whole. Each request of a growing session is
    checked once.
    """
    transitions = timeline.transitions
    replacement_texts: dict[int, dict[str | None, None]] = {}
    for transition in transitions:
        if transition.shown or transition.state == "whole":
            shown_text = None if transition.state == "whole" else transition.shown
            replacement_texts.setdefault(transition.item, {})[shown_text] = None
    summary_items = dict.fromkeys(
        transition.item
        for transition in transitions
        if transition.state == "summarised" and transition.shown
    )
    uses = references.uses_by_request
    request_count = len(timeline.requests)
    names_shown = _NamesShown(timeline, first_not_whole_by_item, replacement_texts)

    rows: GrownRows[Sequence[NameUse]] = timeline.earlier.setdefault("lost uses", GrownRows())
    return rows.grown_rows(
        lambda request, _: [
            use
            for newest_source, use in uses.get(request, ())
            # Most names are still in their newest item.
            if request >= first_not_whole_by_item.get(newest_source, request_count)
            and not (
                names_shown.is_name_shown(use)
                or _any_summary_contains(timeline, summary_items, use)
            )
        ],
        timeline.requests,
        [uses.get(timeline_request.index) for timeline_request in timeline.requests],
        [timeline.by_request.get(timeline_request.index) for timeline_request in timeline.requests],
    )


@dataclass(slots=True)
class _NameSources:
    """The items that contain a name: how many were looked at, and what is known of them."""

    seen_count: int = 0
    whole_until: int = 0
    """The first request at which all of these items had been changed."""
    shown_again: list[int] = field(default_factory=list)
    """The items that may show the name after they were changed."""


@dataclass(slots=True)
class _NamesShown:
    """Answers whether requests show names. It must be asked in the order of requests, in which the items of a name only grow."""

    timeline: Timeline
    first_not_whole_by_item: Mapping[int, int]
    replacement_texts: Mapping[int, Iterable[str | None]]
    """The texts that replace an item; None where it is whole again."""
    sources: dict[str, _NameSources] = field(default_factory=dict)

    def is_name_shown(self, use: NameUse) -> bool:
        """Return whether the request of a use shows its name in one of the items that contain it."""
        request_count = len(self.timeline.requests)
        sources = self.sources.setdefault(use.name, _NameSources())
        for item in use.sources[sources.seen_count :]:
            first_not_whole = self.first_not_whole_by_item.get(item, request_count)
            sources.whole_until = max(sources.whole_until, first_not_whole)
            if any(
                text is None or use.name in text for text in self.replacement_texts.get(item, ())
            ):
                sources.shown_again.append(item)
        sources.seen_count = len(use.sources)
        return use.request < sources.whole_until or any(
            shows_name(self.timeline, item, use.request, use.name) for item in sources.shown_again
        )


def _any_summary_contains(timeline: Timeline, summary_items: Iterable[int], use: NameUse) -> bool:
    transitions = (timeline.transition_at(item, use.request) for item in summary_items)
    return any(
        transition is not None and transition.shown and use.name in transition.shown
        for transition in transitions
    )


def _repeated_calls(timeline: Timeline) -> tuple[tuple[int, int], ...]:
    """Return for each call with the input of an earlier call the index of its request and that of the earlier call's result."""
    items = timeline.items
    column_cache: GrownColumns = timeline.earlier.setdefault("results and calls", GrownColumns())
    columns = column_cache.grown_columns(
        items,
        {
            "result": lambda item: item.kind == "output",
            "call": lambda item: item.index if item.kind == "call" else -1,
        },
    )
    results = {item.group: item.index for item in compress(items, columns["result"])}
    newest_call_id_by_input: dict[str, str] = {}
    repeats: list[tuple[int, int]] = []
    calls = columns["call"]
    for request in timeline.requests:
        for index in calls[slice(*request.answer)]:
            if index < 0:
                continue
            item = items[index]
            earlier_result = results.get(newest_call_id_by_input.get(item.input_hash, ""))
            if earlier_result is not None and earlier_result < request.items:
                repeats.append((request.index, earlier_result))
            newest_call_id_by_input[item.input_hash] = item.group
    return tuple(repeats)
