"""The whole view of a session: items and requests as columns, the recorded track, breaks, wastes and choices."""

from collections.abc import Iterator, Sequence

from palimpsest.render.content.phrases import some
from palimpsest.review.comparison.break_avoidance import avoided_by
from palimpsest.review.comparison.links import parse_link
from palimpsest.review.comparison.session_review import SessionReview
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.review.timeline_view.track_view import recorded_track
from palimpsest.review.timeline_view.view_values import (
    BreakView,
    EventView,
    ItemColumns,
    PriceView,
    RequestColumns,
    RulerView,
    SubagentView,
    TimelineView,
    TrackView,
    WasteView,
)
from palimpsest.transcript.timeline import Timeline, TimelineItem

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


def timeline_view(
    review: SessionReview,
    price: str | PriceProfile | None = None,
    *,
    own: bool = False,
    seq: int = 0,
) -> TimelineView:
    """Return everything that an inspector shows of a session besides texts; shapes in ``view_values``.

    ``price`` is a model's id, ``units`` or None for the recorded model's. Raises UserError for an unknown price.
    """
    timeline, profile, ruler = review.timeline, review.price(price), review.ruler
    kinds = tuple(dict.fromkeys([*KINDS, *(one.kind for one in timeline.items)]))
    models = tuple(dict.fromkeys(one.model for one in timeline.requests if one.model))
    breaks = review.breaks(profile)
    uses = sorted({(item, use.request) for use in review.references.uses for item in use.sources})
    track = recorded_track(review, profile)
    return TimelineView(
        session=timeline.session,
        title=timeline.title,
        origin=timeline.origin,
        own=own,
        parent=timeline.parent,
        seq=seq,
        kinds=kinds,
        models=models,
        items=_items(timeline, kinds, timeline.weights(ruler.estimator)),
        requests=_requests(timeline, models),
        ruler=RulerView(
            estimator=ruler.estimator,
            unseen=ruler.unseen,
            factor=ruler.factor,
            measured=ruler.measured,
            words=ruler.words,
        ),
        price=PriceView(
            name=profile.name,
            unit=profile.unit,
            input=profile.input,
            output=profile.output,
            read=profile.read,
            write=profile.write,
        ),
        recorded=track,
        events=tuple(
            EventView(request=one.request, kind=one.kind, cause=one.cause)
            for one in timeline.events
        ),
        breaks=tuple(
            BreakView(
                request=one.request,
                turn=one.turn,
                cause=one.cause,
                words=one.words,
                expected=one.expected,
                read=one.read,
                loss=one.loss,
                cost=round(one.cost, 6),
                avoided_by=avoided_by(timeline, one, profile),
            )
            for one in breaks
        ),
        break_notes=breaks.table.notes,
        wastes=tuple(
            WasteView(
                cost=one.cost,
                sentence=one.sentence,
                request=one.request,
                item=parse_link(one.link)[2],
                is_fact=one.is_fact,
            )
            for one in review.wastes(profile)
        ),
        used_item=tuple(item for item, _ in uses),
        used_request=tuple(request for _, request in uses),
        subagents=tuple(_subagents(review, price, profile)),
        totals=_totals(timeline, track, profile),
        gaps=timeline.gaps,
        policies=policy_choices(),
    )


def _subagents(
    review: SessionReview, price: str | PriceProfile | None, profile: PriceProfile
) -> Iterator[SubagentView]:
    for one in review.subagents_at(price):
        yield SubagentView(
            session=one.timeline.session,
            title=one.timeline.title,
            request=one.request,
            requests=one.totals.requests,
            tokens=one.totals.input + one.totals.output,
            cost=one.totals.cost if profile.unit == "USD" else None,
        )


def _items(timeline: Timeline, kinds: tuple[str, ...], weights: Sequence[int]) -> ItemColumns:
    items = timeline.items
    place = {kind: index for index, kind in enumerate(kinds)}
    order = sorted(range(len(items)), key=timeline.ranks.__getitem__)
    return ItemColumns(
        id=tuple(one.id for one in items),
        kind=tuple(place[one.kind] for one in items),
        label=tuple(one.label for one in items),
        tool=tuple(one.tool for one in items),
        turn=tuple(one.turn for one in items),
        entered=tuple(one.entered for one in items),
        tokens=tuple(weights),
        block=tuple(one.block for one in items),
        partner=tuple(_partners(items)),
        errors=tuple(one.index for one in items if one.is_error),
        pinned=tuple(one.index for one in items if one.pinned),
        encrypted=tuple(one.index for one in items if one.text in ("encrypted", "not recorded")),
        order=() if order == [*range(len(items))] else tuple(order),
    )


def _partners(items: Sequence[TimelineItem]) -> list[int]:
    found = [-1] * len(items)
    first: dict[str, int] = {}
    for one in items:
        if not one.group:
            continue
        other = first.setdefault(one.group, one.index)
        if other != one.index:
            found[one.index], found[other] = other, one.index
    return found


def _requests(timeline: Timeline, models: tuple[str, ...]) -> RequestColumns:
    requests = timeline.requests
    usages = [one.usage if one.reported is not None else None for one in requests]
    return RequestColumns(
        id=tuple(one.id for one in requests),
        turn=tuple(one.turn for one in requests),
        items=tuple(one.items for one in requests),
        started=tuple(one.started for one in requests),
        ended=tuple(one.ended for one in requests),
        model=tuple(models.index(one.model) if one.model else -1 for one in requests),
        effort=tuple(one.effort for one in requests),
        window=tuple(one.window for one in requests),
        reserve=tuple(one.reserve for one in requests),
        status=tuple(one.status for one in requests),
        seen=tuple(one.seen for one in requests),
        reported=tuple(one.reported for one in requests),
        read=tuple(None if one is None else one.cache_read for one in usages),
        written=tuple(None if one is None else one.cache_write for one in usages),
        output=tuple(None if one is None else one.output + one.reasoning for one in usages),
        cost=tuple(one.cost for one in requests),
    )


def _totals(timeline: Timeline, track: TrackView, price: PriceProfile) -> tuple[str, ...]:
    """Return what the session came to, in sentences; facts where usage was reported."""
    figures = track.facts or track.figures
    if figures is None:
        return ("The session has no request yet.",)
    known = [one.cost for one in timeline.requests if one.cost is not None]
    about = "" if track.facts is not None else "about "
    how_many = some(len(timeline.requests), "request")
    largest = f"at most {about}{figures.peak:,} at once"
    sentences = [
        f"{how_many} read {about}{figures.input:,} tokens, {largest}; {figures.cached:.0%} came from the cache."
    ]
    if track.facts is not None and known:
        sentences.append(f"The session cost {sum(known):,.2f} USD.")
    elif track.figures is not None and track.figures.cost is not None:
        unit = "USD" if price.unit == "USD" else "units"
        digits = 2 if price.unit == "USD" else 0
        sentences.append(
            f"It would cost about {track.figures.cost:,.{digits}f} {unit} by the prices of {price.name}."
        )
    if track.facts is None:
        sentences.append(
            "The recording reports no usage: sizes are estimates, and the cache is taken to be warm."
        )
    return tuple(sentences)
