"""The whole view of a session: items and requests as columns, the recorded track, breaks, wastes and choices."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import compress
from operator import attrgetter
from typing import Any

from palimpsest.context_policies.prompt_cache.recorded_clock import clock_sentence
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, amount_with_unit
from palimpsest.render.content.phrases import counted_noun
from palimpsest.review.request_contents.tool_definitions import ItemDefinition, item_definitions
from palimpsest.review.session_review import PriceLike, SessionReview
from palimpsest.review.tables.cache_breaks import CacheBreak, remedy_text
from palimpsest.review.tables.recording_sentences import problem_sentences, totals_sentence
from palimpsest.review.tables.request_totals import (
    RequestCost,
    RequestTotals,
    recorded_costs,
    request_totals,
    session_costs,
)
from palimpsest.review.tables.subagents import SubagentRun, missing_subagents
from palimpsest.review.timeline_view.chosen_policies import NO_POLICIES, ChosenPolicies
from palimpsest.review.timeline_view.sliders import policy_choices
from palimpsest.review.timeline_view.track_view import recorded_track
from palimpsest.review.timeline_view.view_values import (
    VIEW_VERSION,
    BreakView,
    ComingColumns,
    DefinitionColumns,
    EventView,
    ItemColumns,
    MarkColumns,
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

KIND_ORDER = (
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
"""The order in which a window's kinds are stacked; other kinds follow."""
COPIED_FIELDS = (
    *("id", "turn", "items", "started", "ended"),
    *("model", "effort", "reserve", "status", "seen", "reported"),
)
"""Fields of requests that are copied as columns; the model is replaced by its index."""
REDUCED_STATES = frozenset({"truncated", "cleared", "masked", "offloaded"})
"""States of an item that a rule shortened."""


def timeline_view(
    review: SessionReview,
    price: PriceLike = None,
    *,
    is_writable: bool = False,
    seq: int = 0,
    epoch: str = "",
    is_picture: bool = False,
    policies: ChosenPolicies = NO_POLICIES,
) -> TimelineView:
    """Return the view of a session, without texts; ``view_values`` has the schema.

    ``price`` is that of ``SessionReview.price``; the ``policies`` stand before the presets. With ``is_picture`` the view
    lacks what its first picture does not need and what takes longer, such as the items that answers used. Raises UserError
    for an unknown price.
    """
    timeline, profile, ruler = review.timeline, review.price(price), review.ruler
    weights = timeline.weights(ruler.estimator)
    kinds, items = _item_columns(timeline, weights)
    limits = review.listed_limits()
    costs = session_costs(timeline, ruler, profile)
    models, requests = _request_columns(timeline, costs, limits.by_model)
    breaks = review.breaks(profile)
    track = recorded_track(review, price, has_figures=not is_picture)
    # For each item the last of the decisions for the coming request counts.
    coming = {transition.item: transition.state for transition in timeline.coming}
    # Rows for unchanged values are reused.
    return TimelineView.model_construct(
        version=VIEW_VERSION,
        session=timeline.session,
        title=timeline.title,
        origin=timeline.origin,
        own=is_writable,
        parent=timeline.parent,
        seq=seq,
        epoch=epoch,
        is_picture=is_picture,
        kinds=kinds,
        models=models,
        limit_words=limits.source_sentence,
        items=items,
        definitions=_definition_columns(timeline, weights),
        requests=requests,
        cache_marks=_mark_columns(timeline),
        ruler=RulerView(
            estimator=ruler.estimator,
            unseen=ruler.unseen_tokens,
            factor=ruler.factor,
            measured=ruler.is_fitted,
            words=ruler.sentence,
        ),
        price=profile,
        recorded=track,
        events=_event_views(timeline),
        breaks=_break_views(timeline, breaks.breaks, profile),
        break_notes=breaks.table.notes,
        totals=_total_sentences(timeline, track, request_totals(timeline, ruler, profile), profile),
        gaps=(*timeline.gaps, *problem_sentences(review.problems)),
        pruned=_prune_views(track, items),
        coming=ComingColumns(item=tuple(coming), state=tuple(coming.values())),
        **({} if is_picture else _fields_after_picture(review, price, policies)),
    )


def _fields_after_picture(
    review: SessionReview, price: PriceLike, policies: ChosenPolicies
) -> dict[str, Any]:
    """Return the fields of a view that its first picture lacks."""
    proof = review.proof(price, engine=False)
    subagents = review.subagent_runs(price)
    wastes = review.wastes(price, runs=subagents)
    return {
        "proof": ProofView.model_validate(proof, from_attributes=True) if proof.rows else None,
        "wastes": wastes.wastes,
        "waste_kinds": wastes.kinds,
        "used": review.references.used_items_by_request(len(review.timeline.requests)),
        "subagents": tuple(_subagent_views(subagents)),
        "missing_subagents": missing_subagents(review.timeline, subagents),
        "policies": policy_choices(policies),
        "given_policies": len(policies),
    }


def _event_views(timeline: Timeline) -> tuple[EventView, ...]:
    row_cache: GrownRows[EventView] = timeline.earlier.setdefault("view of events", GrownRows())
    events = timeline.events
    return row_cache.grown_rows(
        lambda index, _: EventView.model_validate(events[index], from_attributes=True), events
    )


def _break_views(
    timeline: Timeline, breaks: Sequence[CacheBreak], profile: PriceProfile
) -> tuple[BreakView, ...]:
    def view(index: int, _: Sequence[BreakView]) -> BreakView:
        cache_break = breaks[index]
        remedy = remedy_text(timeline, cache_break, profile)
        return BreakView.model_validate(cache_break, from_attributes=True).model_copy(
            update={"cost": round(cache_break.cost, 6), "avoided_by": remedy}
        )

    compared_requests = [
        (timeline.requests[cache_break.compared_request], timeline.requests[cache_break.request])
        for cache_break in breaks
    ]
    row_cache: GrownRows[BreakView] = timeline.earlier.setdefault("view of breaks", GrownRows())
    return row_cache.grown_rows(view, breaks, compared_requests, subject=profile)


def _subagent_views(runs: Sequence[SubagentRun]) -> Iterator[SubagentView]:
    for run in runs:
        yield SubagentView(
            session=run.timeline.session,
            title=run.timeline.title,
            request=run.request,
            call=run.call.index if run.call is not None and run.depth == 1 else -1,
            requests=run.totals.requests,
            tokens=run.totals.input + run.totals.output,
            cost=run.totals.cost,
            cost_is_fact=run.totals.cost_is_fact,
        )


def _item_columns(
    timeline: Timeline, weights: Sequence[int]
) -> tuple[tuple[str, ...], ItemColumns]:
    """Return the kinds of a session's items, and the items."""
    column_cache: GrownColumns = timeline.earlier.setdefault("view of items", GrownColumns())
    copied_fields = "id", "label", "tool", "turn", "entered", "block"
    field_names = *copied_fields, "kind", "group", "is_error", "pinned"
    columns = column_cache.grown_columns(
        timeline.items, {name: attrgetter(name) for name in field_names}
    )
    item_indexes, order = range(len(timeline.items)), timeline.sent_order
    kinds = tuple(dict.fromkeys([*KIND_ORDER, *columns["kind"]]))
    kind_indexes = {kind: index for index, kind in enumerate(kinds)}
    return kinds, ItemColumns.model_construct(
        **{name: columns[name] for name in copied_fields},
        kind=tuple(map(kind_indexes.__getitem__, columns["kind"])),
        tokens=tuple(weights),
        partner=tuple(_partner_indexes(columns["group"])),
        errors=tuple(compress(item_indexes, columns["is_error"])),
        pinned=tuple(compress(item_indexes, columns["pinned"])),
        order=() if isinstance(order, range) else tuple(order),
    )


def _definition_columns(timeline: Timeline, weights: Sequence[int]) -> DefinitionColumns:
    columns = zip(*item_definitions(timeline, weights), strict=True)
    return DefinitionColumns(**dict(zip(ItemDefinition._fields, columns, strict=False)))


def _mark_columns(timeline: Timeline) -> MarkColumns:
    rows: list[tuple[int, int, int, str, str]] = []
    for request in timeline.requests:
        for mark, item in zip(request.cache_marks, request.mark_items, strict=True):
            place, _, lifetime = mark.partition(" for ")
            tool = place.removeprefix("tool ")
            definition = int(tool) - 1 if tool != place and tool.isdecimal() else -1
            rows.append((request.index, item, definition, "" if item >= 0 else place, lifetime))
    columns = zip(*rows, strict=True)
    return MarkColumns(**dict(zip(MarkColumns.model_fields, columns, strict=False)))


def _prune_views(track: TrackView, items: ItemColumns) -> tuple[PruneView, ...]:
    transitions = track.transitions
    count_by_request = Counter(
        request
        for item, request, state in zip(
            transitions.item, transitions.request, transitions.state, strict=True
        )
        if items.entered[item] < request and state in REDUCED_STATES
    )
    return tuple(
        PruneView(request=request, items=count_by_request[request])
        for request in sorted(count_by_request)
    )


def _partner_indexes(call_ids: Sequence[str]) -> list[int]:
    partners = [-1] * len(call_ids)
    first_by_call_id: dict[str, int] = {}
    for index, call_id in enumerate(call_ids):
        if not call_id:
            continue
        partner = first_by_call_id.setdefault(call_id, index)
        if partner != index:
            partners[index], partners[partner] = partner, index
    return partners


def _request_columns(
    timeline: Timeline, costs: Sequence[RequestCost | None], limit_by_model: Mapping[str, int]
) -> tuple[tuple[str, ...], RequestColumns]:
    """Return the models of a session's requests, and the requests."""

    def reported_size(request: TimelineRequest, tokens_of: Callable[[Usage], int]) -> int | None:
        return (
            None if request.usage is None or request.reported is None else tokens_of(request.usage)
        )

    column_cache: GrownColumns = timeline.earlier.setdefault("view of requests", GrownColumns())
    columns = {
        **column_cache.grown_columns(
            timeline.requests,
            {
                **{name: attrgetter(name) for name in COPIED_FIELDS},
                "read": lambda request: reported_size(request, lambda usage: usage.cache_read),
                "written": lambda request: reported_size(request, lambda usage: usage.cache_write),
                "output": lambda request: reported_size(
                    request, lambda usage: usage.output + usage.reasoning
                ),
            },
        ),
        "window": tuple(
            request.window or limit_by_model.get(request.model, 0) for request in timeline.requests
        ),
        "cost": tuple(None if cost is None else cost.value for cost in costs),
        "listed": tuple(cost is not None and cost.basis == "estimate" for cost in costs),
    }
    models = tuple(name for name in dict.fromkeys(columns["model"]) if name)
    model_indexes = {"": -1, **{model: index for index, model in enumerate(models)}}
    columns["model"] = tuple(map(model_indexes.__getitem__, columns["model"]))
    return models, RequestColumns.model_construct(**columns)


def _total_sentences(
    timeline: Timeline, track: TrackView, totals: RequestTotals, price: PriceProfile
) -> tuple[str, ...]:
    """Return the session's totals, in sentences; facts where usage was reported."""
    if not timeline.requests:
        return ("The session has no request yet.",)
    about_text = "" if totals.is_fact else "about "
    reporting_count = sum(reported is not None for reported in timeline.reported)
    requests_text = counted_noun(len(timeline.requests), "request")
    if 0 < reporting_count < len(timeline.requests):
        requests_text = f"{reporting_count:,} of {requests_text} reported their usage: they"
    text = f"{requests_text} read {about_text}{totals.input:,} tokens, at most {about_text}{totals.peak:,} at once"
    cache_text = (
        f"; {track.facts.cached:.0%} came from the cache" if track.facts is not None else ""
    )
    sentences = [f"{text}{cache_text}.", *_cost_sentences(timeline, totals, price)]
    if not totals.is_fact:
        sentences.append(
            "The recording reports no usage: sizes are estimates, and the cache is taken to be warm."
        )
    whole_session_sentences = (totals_sentence(timeline.recorded_totals), clock_sentence(timeline))
    return (*sentences, *filter(None, whole_session_sentences))


def _cost_sentences(
    timeline: Timeline, totals: RequestTotals, price: PriceProfile
) -> tuple[str, ...]:
    """Return sentences on the session's cost; recorded costs are facts at any price of the other requests."""
    recorded_amounts = [*recorded_costs(timeline)]
    cost_text = amount_with_unit(
        totals.cost, price.unit, "fact" if totals.cost_is_fact else "estimate"
    )
    if not recorded_amounts:
        return (f"It would cost {cost_text}; the recording holds no cost.", price.sentence)
    paid_text = amount_with_unit(sum(recorded_amounts), "USD")
    if totals.cost_is_fact:
        return (f"The session cost {paid_text}.",)
    requests_text = counted_noun(len(timeline.requests), "request")
    is_all = len(recorded_amounts) == len(timeline.requests)
    text = f"{'The session' if is_all else f'{len(recorded_amounts):,} of {requests_text}'} cost {paid_text}"
    if not price.of_session:
        return (f"{text}; at these prices all of it would cost {cost_text}.", price.sentence)
    return (
        f"{text}; of the others no cost was recorded, and with them it comes to {cost_text}.",
        price.sentence,
    )
