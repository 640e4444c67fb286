"""One track of a view: a session under a policy, or as it was recorded."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any

from palimpsest.review.comparison.explanation import transition_words
from palimpsest.review.comparison.figures import PolicyFigures
from palimpsest.review.comparison.policy_comparison import reported_figures
from palimpsest.review.comparison.policy_figures import policy_figures
from palimpsest.review.comparison.session_review import PriceLike, SessionReview
from palimpsest.review.policies.recorded_policy import RECORDED
from palimpsest.review.replay.fit import recorded
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.timeline_view.view_values import (
    TrackView,
    TransitionColumns,
)
from palimpsest.transcript.growing_lists import GrownColumns, GrownRows, common_beginning
from palimpsest.transcript.timeline import Timeline, Transition


def recorded_track(review: SessionReview, price: PriceLike) -> TrackView:
    """Return the recording as a track, its figures estimated like a policy's, and beside them what was reported."""
    simulation = recorded(review.timeline, review.ruler_at(price))
    facts = reported_figures(review.timeline, review.ruler, review.price(price))
    return track_of(review, simulation, review.replay_price(price), facts)


def track_of(
    review: SessionReview,
    simulation: Simulation,
    price: PriceProfile,
    facts: PolicyFigures | None = None,
) -> TrackView:
    """Return a replay as a track; ``facts`` are figures that were reported."""
    timeline, sizes = simulation.timeline, simulation.sizes
    told = _told(review, simulation)
    words = {one: place for place, one in enumerate(dict.fromkeys(told))}
    grown: GrownColumns = timeline.earlier.setdefault("track", GrownColumns())
    return TrackView.model_construct(
        policy=simulation.policy,
        facts_until=simulation.facts_until,
        transitions=TransitionColumns.model_construct(
            **_moves(timeline), words=tuple(map(words.__getitem__, told))
        ),
        words=tuple(words),
        fired=simulation.fired,
        taken=tuple(at for at, one in enumerate(sizes) if at and one.is_taken),
        figures=policy_figures(simulation, review.references, price) if sizes else None,
        facts=facts,
        **grown.of(
            sizes,
            {
                "total": lambda one: round(one.total),
                "prefix": lambda one: round(one.prefix),
                "read": lambda one: round(one.read),
                "output": lambda one: round(one.output),
                "cost": lambda one: round(one.cost(price) + one.summaries_cost(price), 6),
            },
            price,
        ),
    )


def _moves(timeline: Timeline) -> Mapping[str, Any]:
    """Return the columns of a track's transitions."""
    grown: GrownColumns = timeline.earlier.setdefault("transitions", GrownColumns())
    own = {name: attrgetter(name) for name in ("item", "request", "state")}
    return grown.of(timeline.transitions, {**own, "tokens": lambda one: one.tokens or 0})


def _told(review: SessionReview, simulation: Simulation) -> tuple[str, ...]:
    """Return the words of each transition; a recorded one is told with its own numbers, as ``why`` tells it."""
    timeline = simulation.timeline
    moves, weights = timeline.transitions, timeline.weights(review.ruler.estimator)
    is_recorded = simulation.policy == RECORDED
    decided = _as_recorded(timeline, review.timeline.transitions) if is_recorded else moves
    before = [*map(weights.__getitem__, _moves(timeline)["item"])]
    factor = review.ruler.factor
    told: GrownRows[str] = timeline.earlier.setdefault("words", GrownRows())
    return told.of(
        lambda at, _: transition_words(decided[at], before[at], decided[at].tokens, factor),
        decided,
        before,
        about=factor,
    )


def _as_recorded(replayed: Timeline, recorded: Sequence[Transition]) -> Sequence[Transition]:
    """Return for each transition of a replay the last recorded one of the same item at the same request."""
    moves = replayed.transitions
    empty: tuple[Sequence[Transition], ...] = ((), (), ())
    known_moves, known_recorded, known = replayed.earlier.get("as recorded", empty)
    same = common_beginning(known_recorded, recorded)
    first = min(
        (one.request for one in (*known_recorded[same : same + 1], *recorded[same : same + 1])),
        default=len(replayed.requests),
    )
    kept = min(
        common_beginning(known_moves, moves),
        bisect_left(moves, first, key=lambda one: one.request),
    )
    since = moves[kept].request if kept < len(moves) else len(replayed.requests)
    late = recorded[bisect_left(recorded, since, key=lambda one: one.request) :]
    newest = {(one.item, one.request): one for one in late}
    found = (*known[:kept], *(newest.get((one.item, one.request), one) for one in moves[kept:]))
    replayed.earlier["as recorded"] = moves, recorded, found
    return found
