"""One track of a view: a session under a policy, or as it was recorded."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from palimpsest.context_policies.calibration.fit import recorded_simulation
from palimpsest.context_policies.interface.recorded_policy import RECORDED
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.review.comparison.policy_comparison import reported_figures
from palimpsest.review.comparison.policy_figures import policy_figures, request_costs
from palimpsest.review.session_review import PriceLike, SessionReview
from palimpsest.review.tables.explanation import transition_text
from palimpsest.review.tables.figures import PolicyFigures
from palimpsest.review.timeline_view.view_values import TrackView, TransitionColumns
from palimpsest.transcript.growing_lists import GrownColumns, GrownRows, common_beginning
from palimpsest.transcript.timeline import Timeline, Transition

REQUEST_OF = attrgetter("request")
"""The request of a transition, by which transitions are sorted."""


def recorded_track(
    review: SessionReview, price: PriceLike, *, has_figures: bool = True
) -> TrackView:
    """Return the recording as a track, with figures estimated like a policy's, and the reported ones."""
    simulation = recorded_simulation(review.timeline, review.ruler_at(price))
    reported_row = reported_figures(review.timeline, review.ruler, review.price(price))
    return track_of(
        review, simulation, review.replay_price(price), reported_row, has_figures=has_figures
    )


def track_of(
    review: SessionReview,
    simulation: Simulation,
    price: PriceProfile,
    reported_row: PolicyFigures | None = None,
    *,
    has_figures: bool = True,
) -> TrackView:
    """Return a replay as a track, with the provider's ``reported_row`` figures; without ``has_figures`` none are estimated."""
    timeline, sizes = simulation.timeline, simulation.sizes
    texts = _transition_texts(review, simulation)
    text_indexes = {text: index for index, text in enumerate(dict.fromkeys(texts))}
    columns: GrownColumns = timeline.earlier.setdefault("track", GrownColumns())
    costs, figures = request_costs(simulation, price), None
    if sizes and has_figures:
        figures = policy_figures(simulation, review.references, price)
    return TrackView.model_construct(
        policy=simulation.policy_name,
        facts_until=simulation.facts_until,
        transitions=TransitionColumns.model_construct(
            **_transition_columns(timeline), words=tuple(map(text_indexes.__getitem__, texts))
        ),
        words=tuple(text_indexes),
        fired=simulation.firing_requests,
        taken=tuple(request for request, size in enumerate(sizes) if request and size.is_taken),
        figures=figures,
        facts=reported_row,
        cost=tuple(
            round(cost + summary_cost, 6)
            for cost, summary_cost in zip(costs["cost"], costs["summaries"], strict=True)
        ),
        **columns.grown_columns(
            sizes,
            {
                "total": lambda size: round(size.total),
                "prefix": lambda size: round(size.prefix),
                "read": lambda size: round(size.read),
                "output": lambda size: round(size.output),
            },
        ),
    )


def _transition_columns(timeline: Timeline) -> Mapping[str, Any]:
    columns: GrownColumns = timeline.earlier.setdefault("transitions", GrownColumns())
    getters = {name: attrgetter(name) for name in ("item", "request", "state")}
    return columns.grown_columns(
        timeline.transitions, {**getters, "tokens": lambda transition: transition.tokens or 0}
    )


def _transition_texts(review: SessionReview, simulation: Simulation) -> tuple[str, ...]:
    """Return the phrase of each transition; a recorded transition's phrase has its recorded numbers."""
    timeline = simulation.timeline
    transitions, weights = timeline.transitions, timeline.weights(review.ruler.estimator)
    is_recorded = simulation.policy_name == RECORDED
    described_transitions = (
        _recorded_counterparts(timeline, review.timeline.transitions)
        if is_recorded
        else transitions
    )
    tokens_before = [*map(weights.__getitem__, _transition_columns(timeline)["item"])]
    factor = review.ruler.factor
    texts: GrownRows[str] = timeline.earlier.setdefault("words", GrownRows())
    return texts.grown_rows(
        lambda index, _: transition_text(
            described_transitions[index],
            tokens_before[index],
            described_transitions[index].tokens,
            factor,
        ),
        described_transitions,
        tokens_before,
        subject=factor,
    )


def _recorded_counterparts(
    replayed_timeline: Timeline, recorded_transitions: Sequence[Transition]
) -> Sequence[Transition]:
    """Return, for each transition of a replay, the last recorded transition of the same item at the same request.

    A transition without a recorded one is returned itself.
    """
    transitions, request_count = replayed_timeline.transitions, len(replayed_timeline.requests)
    earlier_values: tuple[Sequence[Transition], ...] = replayed_timeline.earlier.get(
        "as recorded", ((), (), ())
    )
    earlier_transitions, earlier_recorded, earlier_matched = earlier_values
    same_count = common_beginning(earlier_recorded, recorded_transitions)
    first_different = *earlier_recorded[same_count:][:1], *recorded_transitions[same_count:][:1]
    first_changed_request = min(map(REQUEST_OF, first_different), default=request_count)
    unchanged_count = min(
        common_beginning(earlier_transitions, transitions),
        bisect_left(transitions, first_changed_request, key=REQUEST_OF),
    )
    new_transitions = transitions[unchanged_count:]
    first_new_request = new_transitions[0].request if new_transitions else request_count
    first_new = bisect_left(recorded_transitions, first_new_request, key=REQUEST_OF)
    new_recorded = recorded_transitions[first_new:]
    recorded_by_item = {(recorded.item, recorded.request): recorded for recorded in new_recorded}
    matched_transitions = (
        *earlier_matched[:unchanged_count],
        *(
            recorded_by_item.get((transition.item, transition.request), transition)
            for transition in new_transitions
        ),
    )
    replayed_timeline.earlier["as recorded"] = (
        transitions,
        recorded_transitions,
        matched_transitions,
    )
    return matched_transitions
