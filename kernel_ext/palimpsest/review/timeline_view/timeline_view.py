"""The whole view of a session: items and requests as columns, the recorded track, breaks, wastes and choices."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from operator import attrgetter

from palimpsest.render.content.phrases import some
from palimpsest.review.comparison.break_avoidance import avoided_by
from palimpsest.review.comparison.cache_breaks import CacheBreak
from palimpsest.review.comparison.problem_sentences import problem_sentences
from palimpsest.review.comparison.recorded_words import recorded_words
from palimpsest.review.comparison.request_totals import (
    RequestCost,
    RequestTotals,
    recorded_costs,
    request_totals,
    session_costs,
)
from palimpsest.review.comparison.session_review import PriceLike, SessionReview
from palimpsest.review.comparison.subagents import SubagentRun
from palimpsest.review.replay.recorded_clock import clock_sentence
from palimpsest.review.replay.ruler import PriceProfile, money_words
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.review.timeline_view.track_view import recorded_track
from palimpsest.review.timeline_view.view_values import (
    VIEW_VERSION,
    BreakView,
    ComingColumns,
    EventView,
    ItemColumns,
    ProofView,
    PruneView,
    RequestColumns,
    RulerView,
    SubagentView,
    TimelineView,
    TrackView,
)
from palimpsest.transcript.growing_lists import GrownColumns, GrownRows
from palimpsest.transcript.timeline import Timeline, TimelineRequest
from palimpsest.transcript.values import Usage

KINDS = (
    "system",
    "tools",
    "instructions",
    "summary",
    "user",
    "notebook",
    "assistant",
    "reasoning",
    "call",
    "output",
    "media",
)
"""In the order in which a window is stacked; kinds that are not among these follow."""
AS_THEY_ARE = (
    *("id", "turn", "items", "started", "ended"),
    *("model", "effort", "reserve", "status", "seen", "reported"),
)
"""Columns of requests that are their fields; the model is told by its place."""
REDUCED = frozenset({"truncated", "cleared", "masked", "offloaded"})
"""States of an item that a rule shortened."""


def timeline_view(
    review: SessionReview,
    price: PriceLike = None,
    *,
    own: bool = False,
    seq: int = 0,
    epoch: str = "",
) -> TimelineView:
    """Return everything that an inspector shows of a session besides texts; shapes in ``view_values``.

    ``price`` is that of ``SessionReview.price``. Raises UserError for an unknown price.
    """
    timeline, profile, ruler = review.timeline, review.price(price), review.ruler
    kinds, items = _items(timeline, timeline.weights(ruler.estimator))
    limits = review.listed_limits()
    costs = session_costs(timeline, ruler, profile)
    models, requests = _requests(timeline, costs, limits.by_model)
    breaks = review.breaks(profile)
    track = recorded_track(review, price)
    proof = review.proof(price, engine=False)
    subagents = review.subagent_runs(price)
    wastes = review.wastes(profile, runs=subagents)
    # The last that was decided of each item for the request that comes next.
    coming = {one.item: one.state for one in timeline.coming}
    # What was made of the same values before is not looked at again.
    return TimelineView.model_construct(
        version=VIEW_VERSION,
        session=timeline.session,
        title=timeline.title,
        origin=timeline.origin,
        own=own,
        parent=timeline.parent,
        seq=seq,
        epoch=epoch,
        kinds=kinds,
        models=models,
        limit_words=limits.words,
        items=items,
        requests=requests,
        ruler=RulerView.model_validate(ruler, from_attributes=True),
        price=profile,
        recorded=track,
        proof=ProofView.model_validate(proof, from_attributes=True) if proof.rows else None,
        events=_events(timeline),
        breaks=_breaks(timeline, breaks.breaks, profile),
        break_notes=breaks.table.notes,
        wastes=wastes.wastes,
        waste_kinds=wastes.kinds,
        used=review.references.used_by(len(timeline.requests)),
        subagents=tuple(_subagents(subagents)),
        totals=_totals(timeline, track, request_totals(timeline, ruler, profile), profile),
        gaps=(*timeline.gaps, *problem_sentences(review.problems)),
        pruned=_pruned(track, items),
        coming=ComingColumns(item=tuple(coming), state=tuple(coming.values())),
        policies=policy_choices(),
    )


def _events(timeline: Timeline) -> tuple[EventView, ...]:
    grown: GrownRows[EventView] = timeline.earlier.setdefault("view of events", GrownRows())
    events = timeline.events
    return grown.of(
        lambda at, _: EventView.model_validate(events[at], from_attributes=True), events
    )


def _breaks(
    timeline: Timeline, breaks: Sequence[CacheBreak], profile: PriceProfile
) -> tuple[BreakView, ...]:
    def view(at: int, _: Sequence[BreakView]) -> BreakView:
        one = breaks[at]
        told = {"cost": round(one.cost, 6), "avoided_by": avoided_by(timeline, one, profile)}
        return BreakView.model_validate(one, from_attributes=True).model_copy(update=told)

    pairs = [(timeline.requests[one.before], timeline.requests[one.request]) for one in breaks]
    grown: GrownRows[BreakView] = timeline.earlier.setdefault("view of breaks", GrownRows())
    return grown.of(view, breaks, pairs, about=profile)


def _subagents(runs: Sequence[SubagentRun]) -> Iterator[SubagentView]:
    for one in runs:
        yield SubagentView(
            session=one.timeline.session,
            title=one.timeline.title,
            request=one.request,
            requests=one.totals.requests,
            tokens=one.totals.input + one.totals.output,
            cost=one.totals.cost,
            cost_is_fact=one.totals.cost_is_fact,
        )


def _items(timeline: Timeline, weights: Sequence[int]) -> tuple[tuple[str, ...], ItemColumns]:
    """Return the kinds of a session's items, and the items."""
    grown: GrownColumns = timeline.earlier.setdefault("view of items", GrownColumns())
    names = (
        "id",
        "kind",
        "label",
        "tool",
        "turn",
        "entered",
        "block",
        "group",
        "is_error",
        "pinned",
    )
    columns = grown.of(timeline.items, {name: attrgetter(name) for name in names})
    places, order = range(len(timeline.items)), timeline.order
    kinds = tuple(dict.fromkeys([*KINDS, *columns["kind"]]))
    place = {kind: index for index, kind in enumerate(kinds)}
    return kinds, ItemColumns.model_construct(
        **{name: columns[name] for name in ("id", "label", "tool", "turn", "entered", "block")},
        kind=tuple(map(place.__getitem__, columns["kind"])),
        tokens=tuple(weights),
        partner=tuple(_partners(columns["group"])),
        errors=tuple(compress(places, columns["is_error"])),
        pinned=tuple(compress(places, columns["pinned"])),
        order=() if isinstance(order, range) else tuple(order),
    )


def _pruned(track: TrackView, items: ItemColumns) -> tuple[PruneView, ...]:
    moves = track.transitions
    found = Counter(
        request
        for item, request, state in zip(moves.item, moves.request, moves.state, strict=True)
        if items.entered[item] < request and state in REDUCED
    )
    return tuple(PruneView(request=at, items=found[at]) for at in sorted(found))


def _partners(groups: Sequence[str]) -> list[int]:
    found = [-1] * len(groups)
    first: dict[str, int] = {}
    for place, group in enumerate(groups):
        if not group:
            continue
        other = first.setdefault(group, place)
        if other != place:
            found[place], found[other] = other, place
    return found


def _requests(
    timeline: Timeline, costs: Sequence[RequestCost | None], limits: Mapping[str, int]
) -> tuple[tuple[str, ...], RequestColumns]:
    """Return the models of a session's requests, and the requests."""

    def reported(one: TimelineRequest, value: Callable[[Usage], int]) -> int | None:
        return None if one.usage is None or one.reported is None else value(one.usage)

    grown: GrownColumns = timeline.earlier.setdefault("view of requests", GrownColumns())
    columns = {
        **grown.of(
            timeline.requests,
            {
                **{name: attrgetter(name) for name in AS_THEY_ARE},
                "read": lambda one: reported(one, lambda usage: usage.cache_read),
                "written": lambda one: reported(one, lambda usage: usage.cache_write),
                "output": lambda one: reported(one, lambda usage: usage.output + usage.reasoning),
            },
        ),
        "window": tuple(one.window or limits.get(one.model, 0) for one in timeline.requests),
        "cost": tuple(None if one is None else one.value for one in costs),
        "listed": tuple(one is not None and one.basis == "estimate" for one in costs),
    }
    models = tuple(one for one in dict.fromkeys(columns["model"]) if one)
    place = {"": -1, **{model: index for index, model in enumerate(models)}}
    columns["model"] = tuple(map(place.__getitem__, columns["model"]))
    return models, RequestColumns.model_construct(**columns)


def _totals(
    timeline: Timeline, track: TrackView, totals: RequestTotals, price: PriceProfile
) -> tuple[str, ...]:
    """Return what the session came to, in sentences; facts where usage was reported."""
    if not timeline.requests:
        return ("The session has no request yet.",)
    about = "" if totals.is_fact else "about "
    known = sum(one is not None for one in timeline.reported)
    how_many = some(len(timeline.requests), "request")
    if 0 < known < len(timeline.requests):
        how_many = f"{known:,} of {how_many} reported their usage: they"
    read = f"{how_many} read {about}{totals.input:,} tokens, at most {about}{totals.peak:,} at once"
    cached = f"; {track.facts.cached:.0%} came from the cache" if track.facts is not None else ""
    sentences = [f"{read}{cached}.", *_cost_sentences(timeline, totals, price)]
    if not totals.is_fact:
        sentences.append(
            "The recording reports no usage: sizes are estimates, and the cache is taken to be warm."
        )
    about_all = (recorded_words(timeline.recorded_totals), clock_sentence(timeline))
    return (*sentences, *filter(None, about_all))


def _cost_sentences(
    timeline: Timeline, totals: RequestTotals, price: PriceProfile
) -> tuple[str, ...]:
    """Return what the session cost: what was recorded is a fact, whatever prices the others are taken at."""
    recorded = [*recorded_costs(timeline)]
    amount = money_words(totals.cost, price.unit, "fact" if totals.cost_is_fact else "estimate")
    if not recorded:
        return (f"It would cost {amount}; the recording holds no cost.", price.sentence)
    paid = money_words(sum(recorded), "USD")
    if totals.cost_is_fact:
        return (f"The session cost {paid}.",)
    which = some(len(timeline.requests), "request")
    is_all = len(recorded) == len(timeline.requests)
    told = f"The session cost {paid}" if is_all else f"{len(recorded):,} of {which} cost {paid}"
    if not price.of_session:
        return (f"{told}; at these prices all of it would cost {amount}.", price.sentence)
    return (
        f"{told}; of the others no cost was recorded, and with them it comes to {amount}.",
        price.sentence,
    )
