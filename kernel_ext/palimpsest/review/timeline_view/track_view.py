"""One track of a view: a session under a policy, or as it was recorded."""

from collections.abc import Callable, Sequence

from palimpsest.render.reports.table import Cell
from palimpsest.review.comparison.explanation import transition_words
from palimpsest.review.comparison.policy_comparison import columns, reported_row
from palimpsest.review.comparison.policy_figures import PolicyFigures, policy_figures
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.replay.recorded_policy import RecordedPolicy
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.replay.simulation import RequestSize, Simulation, simulate
from palimpsest.review.timeline_view.view_values import (
    ProbeView,
    TrackFigures,
    TrackView,
    TransitionColumns,
)
from palimpsest.transcript.timeline import Timeline, Transition


def recorded_track(review: SessionReview, price: PriceProfile) -> TrackView:
    """Return the recording as a track, its figures estimated like a policy's, and beside them what was reported."""
    policy = RecordedPolicy(review.timeline)
    simulation = simulate(review.timeline, policy, review.ruler)
    return track_of(review, simulation, price, _reported(review.timeline, price))


def track_of(
    review: SessionReview,
    simulation: Simulation,
    price: PriceProfile,
    facts: TrackFigures | None = None,
) -> TrackView:
    """Return a replay as a track; ``facts`` are figures that were reported."""
    timeline, sizes = simulation.timeline, simulation.sizes
    words: dict[str, int] = {}
    recorded = {(one.item, one.request): one for one in review.timeline.transitions}
    is_recorded = simulation.policy == RecordedPolicy.name
    weights = timeline.weights(review.ruler.estimator)
    # A recorded decision is told with its own numbers, as `why` tells it.
    decided = [
        recorded.get((one.item, one.request), one) if is_recorded else one
        for one in timeline.transitions
    ]
    told = [
        transition_words(one, weights[one.item], one.tokens, review.ruler.factor) for one in decided
    ]
    for one in told:
        words.setdefault(one, len(words))
    figures = policy_figures(simulation, review.references, price) if sizes else None
    return TrackView(
        policy=simulation.policy,
        facts_until=simulation.facts_until,
        transitions=_columns(timeline.transitions, [words[one] for one in told]),
        words=tuple(words),
        total=_rounded(sizes, lambda one: one.total),
        prefix=_rounded(sizes, lambda one: one.prefix),
        read=_rounded(sizes, lambda one: one.read),
        output=_rounded(sizes, lambda one: one.output),
        cost=tuple(_cost(one, price) for one in sizes),
        fired=simulation.fired,
        first_changed=tuple(
            -1 if one.first_changed is None else one.first_changed for one in sizes
        ),
        probe=_probe(simulation),
        figures=None if figures is None else _figures(figures),
        facts=facts,
    )


def _columns(transitions: Sequence[Transition], words: Sequence[int]) -> TransitionColumns:
    return TransitionColumns(
        item=tuple(one.item for one in transitions),
        request=tuple(one.request for one in transitions),
        state=tuple(one.state for one in transitions),
        tokens=tuple(one.tokens or 0 for one in transitions),
        words=tuple(words),
    )


def _rounded(
    sizes: Sequence[RequestSize], value: Callable[[RequestSize], float]
) -> tuple[int, ...]:
    return tuple(round(value(one)) for one in sizes)


def _cost(one: RequestSize, price: PriceProfile) -> float:
    sent = price.cost(0, one.read, one.written, one.output)
    return round(sent + price.cost(0, one.summary_input, 0, one.summary_output), 6)


def _probe(simulation: Simulation) -> ProbeView | None:
    if not simulation.probes:
        return None
    last = simulation.probes[-1]
    return ProbeView(
        request=last.request,
        signal=last.probe.signal,
        value=last.probe.value,
        threshold=last.probe.threshold,
        unit=last.probe.unit,
    )


def _figures(one: PolicyFigures) -> TrackFigures:
    return TrackFigures(
        input=round(one.input),
        peak=round(one.peak),
        cached=one.cached,
        breaks=one.breaks,
        break_tokens=round(one.break_tokens),
        cost=one.cost,
        summaries=one.summaries,
        repair=one.repair,
        cost_uncached=one.cost_uncached,
        repeated=one.repeated,
        retention=one.retention,
        fired=one.fired,
        verdict=one.verdict,
    )


def _reported(timeline: Timeline, price: PriceProfile) -> TrackFigures | None:
    rows = reported_row(timeline, price)
    if not rows:
        return None
    cells: dict[str, Cell] = dict(
        zip((one.key for one in columns(price.unit)), rows[0], strict=True)
    )
    known = {name: cells.get(name) for name in TrackFigures.model_fields if name != "fired"}
    return TrackFigures.model_validate({**known, "fired": len(timeline.transitions)})
