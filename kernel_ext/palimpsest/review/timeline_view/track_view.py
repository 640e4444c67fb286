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
from palimpsest.review.tables.explanation import transition_words
from palimpsest.review.tables.figures import PolicyFigures
from palimpsest.review.timeline_view.view_values import (
    TrackView,
    TransitionColumns,
)
from palimpsest.transcript.growing_lists import GrownColumns, GrownRows, common_beginning
from palimpsest.transcript.timeline import Timeline, Transition


def recorded_track(
    review: SessionReview, price: PriceLike, *, has_figures: bool = True
) -> TrackView:
    """Return the recording as a track, with figures estimated like a policy's, and the reported ones."""
    simulation = recorded_simulation(review.timeline, review.ruler_at(price))
    facts = reported_figures(review.timeline, review.ruler, review.price(price))
    return track_of(review, simulation, review.replay_price(price), facts, has_figures=has_figures)


def track_of(
    review: SessionReview,
    simulation: Simulation,
    price: PriceProfile,
    facts: PolicyFigures | None = None,
    *,
    has_figures: bool = True,
) -> TrackView:
    """Return a replay as a track; ``facts`` are reported figures, ``has_figures`` is False to leave out the estimated."""
    timeline, sizes = simulation.timeline, simulation.sizes
    texts = _transition_texts(review, simulation)
    words = {word: place for place, word in enumerate(dict.fromkeys(texts))}
    grown: GrownColumns = timeline.earlier.setdefault("track", GrownColumns())
    costs = request_costs(simulation, price)
    return TrackView.model_construct(
        policy=simulation.policy,
        facts_until=simulation.facts_until,
        transitions=TransitionColumns.model_construct(
            **_moves(timeline), words=tuple(map(words.__getitem__, texts))
        ),
        words=tuple(words),
        fired=simulation.fired,
        taken=tuple(at for at, size in enumerate(sizes) if at and size.is_taken),
        figures=policy_figures(simulation, review.references, price)
        if sizes and has_figures
        else None,
        facts=facts,
        cost=tuple(
            round(cost + of_summaries, 6)
            for cost, of_summaries in zip(costs["cost"], costs["summaries"], strict=True)
        ),
        **grown.grown_columns(
            sizes,
            {
                "total": lambda size: round(size.total),
                "prefix": lambda size: round(size.prefix),
                "read": lambda size: round(size.read),
                "output": lambda size: round(size.output),
            },
        ),
    )


def _moves(timeline: Timeline) -> Mapping[str, Any]:
    """Return the columns of a track's transitions."""
    grown: GrownColumns = timeline.earlier.setdefault("transitions", GrownColumns())
    getters = {name: attrgetter(name) for name in ("item", "request", "state")}
    return grown.grown_columns(
        timeline.transitions, {**getters, "tokens": lambda move: move.tokens or 0}
    )


def _transition_texts(review: SessionReview, simulation: Simulation) -> tuple[str, ...]:
    """Return the phrase of each transition; a recorded transition's phrase has its recorded numbers."""
    timeline = simulation.timeline
    moves, weights = timeline.transitions, timeline.weights(review.ruler.estimator)
    is_recorded = simulation.policy == RECORDED
    decisions = _as_recorded(timeline, review.timeline.transitions) if is_recorded else moves
    before = [*map(weights.__getitem__, _moves(timeline)["item"])]
    factor = review.ruler.factor
    texts: GrownRows[str] = timeline.earlier.setdefault("words", GrownRows())
    return texts.grown_rows(
        lambda at, _: transition_words(decisions[at], before[at], decisions[at].tokens, factor),
        decisions,
        before,
        about=factor,
    )


def _as_recorded(replayed: Timeline, recorded: Sequence[Transition]) -> Sequence[Transition]:
    """Return, for each transition of a replay, the last recorded transition of the same item at the same request.

    A transition without a recorded one is returned itself.
    """
    moves = replayed.transitions
    empty: tuple[Sequence[Transition], ...] = ((), (), ())
    known_moves, known_recorded, words_before = replayed.earlier.get("as recorded", empty)
    same_count = common_beginning(known_recorded, recorded)
    first = min(
        (
            transition.request
            for transition in (
                *known_recorded[same_count : same_count + 1],
                *recorded[same_count : same_count + 1],
            )
        ),
        default=len(replayed.requests),
    )
    unchanged = min(
        common_beginning(known_moves, moves),
        bisect_left(moves, first, key=lambda transition: transition.request),
    )
    first_new_request = (
        moves[unchanged].request if unchanged < len(moves) else len(replayed.requests)
    )
    newer_recorded = recorded[
        bisect_left(recorded, first_new_request, key=lambda transition: transition.request) :
    ]
    newest = {(transition.item, transition.request): transition for transition in newer_recorded}
    matched = (
        *words_before[:unchanged],
        *(
            newest.get((transition.item, transition.request), transition)
            for transition in moves[unchanged:]
        ),
    )
    replayed.earlier["as recorded"] = moves, recorded, matched
    return matched
