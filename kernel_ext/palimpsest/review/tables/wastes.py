"""The largest wastes of a session as sentences with numbers: tokens that were paid for without use.

Carrying costs are estimates by the ruler: an item is written to the cache once and read from it by every later
request that shows it. Breaks of the cache are facts of the reported usage.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress, zip_longest

from palimpsest.context_policies.prompt_cache.cache_losses import reporting_requests
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, Ruler
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn, table_of
from palimpsest.review.tables.cache_breaks import CacheBreak, breaks_at_price, cost_beyond_reading
from palimpsest.review.tables.figures import Waste, WasteKind, waste_text
from palimpsest.review.tables.links import link_to
from palimpsest.review.tables.references import References, names_in
from palimpsest.review.tables.session_tables import estimated_cost_cells
from palimpsest.review.tables.subagents import SubagentRun
from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest

MAX_WASTES = 10
"""Maximum wastes that are listed, where no other number is asked for."""
MIN_LARGE_TOKENS = 8_000
"""A result of more tokens is called large, as in context-lens."""
MIN_RESULT_TOKENS = 500
"""Minimum tokens of a result that is reported as waste."""


@dataclass(frozen=True)
class Wastes(ShownAsTable):
    """The largest wastes, largest first."""

    wastes: tuple[Waste, ...]
    session: str
    """The session's title."""
    unit: str
    """``USD`` or ``units``."""
    kinds: tuple[WasteKind, ...] = ()
    """The total of each kind of waste, the most expensive first."""

    @cached_property
    def table(self) -> ReportTable:
        """The wastes as a table."""
        about = "What the sentence says; a cost with ~ is an estimate."
        basis = TableColumn("basis", "known as", about=about)
        return table_of(
            f"The {len(self)} largest wastes of {self.session}"
            if len(self) > 1
            else f"{'One waste was' if self.wastes else 'No waste was'} found in {self.session}",
            (
                TableColumn("cost", self.unit, "usd" if self.unit == "USD" else "count"),
                (basis, lambda waste: "fact" if waste.is_fact else "estimate"),
                TableColumn("sentence", "what"),
                (TableColumn("request", "request", "count"), lambda waste: waste.request + 1),
                TableColumn("link", "link"),
            ),
            self.wastes,
            links=[waste.link for waste in self.wastes],
            estimates=estimated_cost_cells(not waste.cost_is_fact for waste in self.wastes),
        )

    def __iter__(self) -> Iterator[Waste]:
        return iter(self.wastes)

    def __len__(self) -> int:
        return len(self.wastes)

    def __getitem__(self, index: int) -> Waste:
        return self.wastes[index]


def largest_wastes(
    timeline: Timeline,
    ruler: Ruler,
    price: PriceProfile,
    references: References,
    max_wastes: int = MAX_WASTES,
    subagents: Sequence[SubagentRun] = (),
) -> Wastes:
    """Return the largest wastes of a session, at least one of each kind, with the totals of the kinds."""
    candidates = [
        *_break_candidates(timeline, price),
        *_result_candidates(timeline, ruler, price, references),
        *_aborted_candidates(timeline, price),
        *_subagent_candidates(timeline, references, subagents),
    ]
    candidates_by_cost = sorted(candidates, key=lambda candidate: -candidate.cost)
    most_costly_by_kind = {candidate.kind: candidate for candidate in reversed(candidates_by_cost)}
    # All of the largest may be of one kind; the largest of each other kind is listed too.
    chosen_candidates = sorted(most_costly_by_kind.values(), key=lambda candidate: -candidate.cost)[
        :max_wastes
    ]
    chosen_ids = {id(candidate) for candidate in chosen_candidates}
    chosen_candidates += [
        candidate for candidate in candidates_by_cost if id(candidate) not in chosen_ids
    ][: max_wastes - len(chosen_candidates)]
    ordered_chosen = sorted(chosen_candidates, key=lambda candidate: -candidate.cost)
    wastes = tuple(candidate.as_waste(timeline.session) for candidate in ordered_chosen)
    kinds = tuple(_waste_kinds(candidates_by_cost))
    return Wastes(wastes, timeline.title or timeline.session, price.unit, kinds)


@dataclass(frozen=True, slots=True)
class _WasteCandidate:
    """A candidate whose sentence is only built if it is among the largest."""

    kind: str
    """One of the kinds of ``WasteKind.kind``."""
    cost: float
    request: int
    """Index of the request, from 0."""
    sentence: Callable[[], str]
    cost_is_fact: bool = False
    is_fact: bool = True
    item: int | None = None

    def as_waste(self, session_id: str) -> Waste:
        link = link_to(session_id, self.request, self.item)
        sentence = self.sentence()
        is_fact, cost_is_fact = self.is_fact, self.cost_is_fact
        return Waste(self.cost, sentence, link, self.request, is_fact, cost_is_fact, self.item)


def _waste_kinds(candidates: Sequence[_WasteCandidate]) -> Iterator[WasteKind]:
    """Yield the total of each kind of waste, the most expensive first."""
    candidates_by_kind: dict[str, list[_WasteCandidate]] = {}
    for candidate in candidates:
        candidates_by_kind.setdefault(candidate.kind, []).append(candidate)
    cost_by_kind = {
        kind: sum(candidate.cost for candidate in candidates_of_kind)
        for kind, candidates_of_kind in candidates_by_kind.items()
    }
    for kind, candidates_of_kind in sorted(
        candidates_by_kind.items(), key=lambda entry: -cost_by_kind[entry[0]]
    ):
        is_fact = all(candidate.cost_is_fact for candidate in candidates_of_kind)
        label = waste_text(kind, len(candidates_of_kind))
        yield WasteKind(
            label,
            cost_by_kind[kind],
            cost_is_fact=is_fact,
            kind=kind,
            count=len(candidates_of_kind),
        )


def _break_candidates(timeline: Timeline, price: PriceProfile) -> Iterator[_WasteCandidate]:
    def sentence(cache_break: CacheBreak) -> str:
        price_note = "" if cache_break.reports_writes else ", at the full price"
        return f"Request {cache_break.request + 1} had {cache_break.loss:,} tokens written anew{price_note}: {cache_break.words}."

    is_fact = price.matches_recorded
    for cache_break in breaks_at_price(timeline, price):
        sentence_of = partial(sentence, cache_break)
        yield _WasteCandidate("break", cache_break.cost, cache_break.request, sentence_of, is_fact)


def _aborted_candidates(timeline: Timeline, price: PriceProfile) -> Iterator[_WasteCandidate]:
    """Yield the requests without an answer.

    The cost of their cache breaks is not counted a second time. What the next request read of their prompt from the
    cache, it would else have written itself: that cost no more than reading it.
    """
    losses = {
        cache_break.request: cache_break.loss for cache_break in breaks_at_price(timeline, price)
    }
    template = "Request {} was {} after {:,} tokens were read{}."
    requests = reporting_requests(timeline)
    for request, next_request in zip_longest(requests, requests[1:]):
        if request.status == "ok":
            continue
        tokens_left = 0 if next_request is None else _tokens_left_in_cache(request, next_request)
        ending = ""
        if tokens_left:
            ending = f", of which request {next_request.index + 1} found {tokens_left:,} more in the cache"
        number, tokens = request.index + 1, request.reported or 0
        sentence_of = partial(template.format, number, request.status, tokens, ending)
        counted_tokens = max(tokens_left, losses.get(request.index, 0))
        cost = price.cost_of(request) - cost_beyond_reading(request, counted_tokens, price)
        is_fact = price.matches_recorded
        yield _WasteCandidate("aborted", max(cost, 0.0), request.index, sentence_of, is_fact)


def _tokens_left_in_cache(request: TimelineRequest, next_request: TimelineRequest) -> int:
    """Return the tokens of a request that the next request read from the cache, without those that the request itself read there."""
    if request.usage is None or next_request.usage is None or request.model != next_request.model:
        return 0
    read_tokens = min(next_request.usage.cache_read, request.usage.prompt)
    return max(read_tokens - request.usage.cache_read, 0)


def _subagent_candidates(
    timeline: Timeline, references: References, runs: Sequence[SubagentRun]
) -> Iterator[_WasteCandidate]:
    """Yield the subagents whose call failed or whose result no later answer used."""
    used_items = references.last_uses
    for run in runs:
        result, totals = run.result, run.totals
        # Where the recording does not state the call that started a subagent, the result is not known.
        if run.depth > 1 or not totals.requests or (run.call is None and result is None):
            continue
        if result is None:
            outcome = "nothing came back"
        elif result.is_error:
            outcome = "its call ended in an error"
        elif result.index not in used_items and _contains_names(timeline, references, result.index):
            outcome = f"no later answer used a name in the {run.returned:,} tokens that came back"
        else:
            continue
        template = "The subagent {!r} read {:,} tokens in {}, and {}."
        requests_text = counted_noun(totals.requests, "request")
        sentence_of = partial(template.format, run.name, totals.input, requests_text, outcome)
        facts = totals.cost_is_fact, totals.is_fact
        yield _WasteCandidate("subagent", totals.cost, run.request, sentence_of, *facts)


def _result_candidates(
    timeline: Timeline, ruler: Ruler, price: PriceProfile, references: References
) -> Iterator[_WasteCandidate]:
    weights, factor = timeline.weights(ruler.estimator), ruler.factor

    def repeated_sentence(item: TimelineItem, tokens: float, earlier_item: TimelineItem) -> str:
        requests_text = counted_noun(_times_shown(timeline, item), "request")
        before_text = f"as in request {earlier_item.entered + 1}, which still showed them"
        return f"{_item_text(item)} came again, the same {tokens:,.0f} tokens {before_text}; {requests_text} carried both."

    def large_sentence(item: TimelineItem, tokens: float, ending: str) -> str:
        requests_text = counted_noun(_times_shown(timeline, item), "request")
        return f"{_item_text(item)} took {tokens:,.0f} tokens in {requests_text}{ending}."

    newest_by_hash: dict[str, TimelineItem] = {}
    for item in _large_results(timeline, ruler):
        if item.entered >= len(timeline.requests):
            continue
        tokens = weights[item.index] * factor
        is_large = tokens > MIN_LARGE_TOKENS
        earlier_item = newest_by_hash.get(item.hash)
        newest_by_hash[item.hash] = item
        if (
            earlier_item is not None
            and timeline.transition_at(earlier_item.index, item.entered) is None
        ):
            kind, write_count, read_count = "again", 1, max(_times_shown(timeline, item) - 1, 0)
            sentence_of = partial(repeated_sentence, item, tokens, earlier_item)
        elif needless := _needless_requests(timeline, references, item, is_large=is_large):
            kind, write_count, read_count, ending = needless
            sentence_of = partial(large_sentence, item, tokens, ending)
        else:
            continue
        # Many requests contain the item; all are priced at the terms of the request at which it entered.
        first_request = timeline.requests[item.entered]
        terms, prompt_tokens = first_request.terms, first_request.reported or 0
        cost = price.cost(
            0,
            tokens * read_count,
            tokens * write_count,
            0,
            terms=terms,
            prompt_tokens=prompt_tokens,
        )
        yield _WasteCandidate(kind, cost, item.entered, sentence_of, is_fact=False, item=item.index)


def _needless_requests(
    timeline: Timeline, references: References, item: TimelineItem, *, is_large: bool
) -> tuple[str, int, int, str] | None:
    """Return the kind of waste, needless writes, needless reads, and the sentence's end; None for no waste."""
    last_use = references.last_uses.get(item.index)
    if last_use is None:
        is_named = _contains_names(timeline, references, item.index)
        if not is_named and not is_large:
            return None
        read_count = max(_times_shown(timeline, item) - 1, 0)
        if not is_named:
            return "large", 1, read_count, ""
        return "unused", 1, read_count, ", and no later answer used a name in it"
    # Requests up to the item's last use are not counted as waste.
    idle_requests = item.entered + _times_shown(timeline, item) - 1 - last_use if is_large else 0
    ending = f", {idle_requests:,} of them after the last answer that used a name in it"
    return ("idle", 0, idle_requests, ending) if idle_requests > 0 else None


def _large_results(timeline: Timeline, ruler: Ruler) -> Iterator[TimelineItem]:
    """Yield the results of at least MIN_TOKENS; items of a growing session are checked once."""
    items, weights = timeline.items, timeline.weights(ruler.estimator)
    row_cache: GrownRows[bool] = timeline.earlier.setdefault("large results", GrownRows())
    is_large_by_item = row_cache.grown_rows(
        lambda index, _: (
            items[index].kind == "output" and weights[index] * ruler.factor >= MIN_RESULT_TOKENS
        ),
        items,
        weights,
        subject=ruler,
    )
    yield from compress(items, is_large_by_item)


def _contains_names(timeline: Timeline, references: References, item: int) -> bool:
    if references.items_with_names is not None:
        return item in references.items_with_names
    return any(True for _ in names_in(timeline.read(item)))


def _times_shown(timeline: Timeline, item: TimelineItem) -> int:
    """Return how many requests showed an item whole."""
    transitions = timeline.by_item.get(item.index, ())
    hidden_from = next(
        (transition.request for transition in transitions if transition.state != "whole"),
        len(timeline.requests),
    )
    return max(hidden_from - item.entered, 0)


def _item_text(item: TimelineItem) -> str:
    about = f" of {item.label}" if item.label and item.label != item.tool else ""
    return f"A result of {item.tool}{about}"
