"""The largest wastes of a session as sentences with numbers: what was paid without use, as far as can be told.

Carrying costs are estimates by the ruler: an item is written to the cache once and read from it by every later
request that shows it. Breaks of the cache are facts of the reported usage.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress

from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn
from palimpsest.review.comparison.cache_breaks import CacheBreak, cache_breaks
from palimpsest.review.comparison.figures import Waste, WasteKind
from palimpsest.review.comparison.links import link_to
from palimpsest.review.comparison.references import References, names_in
from palimpsest.review.comparison.subagents import SubagentRun
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline, TimelineItem, TimelineRequest

MOST = 10
LARGE_TOKENS = 8_000
"""A result over so many tokens is called large, as in context-lens."""
LEAST_TOKENS = 500
"""Smaller results are no waste that is worth a sentence."""


@dataclass(frozen=True)
class Wastes(ShownAsTable):
    """The largest wastes, largest first."""

    wastes: tuple[Waste, ...]
    session: str
    """The session's title."""
    unit: str
    """``USD`` or ``units``."""
    kinds: tuple[WasteKind, ...] = ()
    """What each kind comes to, the dearest first."""

    @cached_property
    def table(self) -> ReportTable:
        """The wastes as a table for any renderer."""
        return ReportTable(
            title=f"The {len(self)} largest wastes of {self.session}"
            if len(self) > 1
            else f"{'One waste was' if self.wastes else 'No waste was'} found in {self.session}",
            columns=(
                TableColumn("cost", self.unit, "usd" if self.unit == "USD" else "count"),
                TableColumn(
                    "basis",
                    "known as",
                    "text",
                    "",
                    "What the sentence says; a cost with ~ is an estimate.",
                ),
                TableColumn("sentence", "what"),
                TableColumn("request", "request", "count"),
                TableColumn("link", "link"),
            ),
            rows=tuple(
                (
                    one.cost,
                    "fact" if one.is_fact else "estimate",
                    one.sentence,
                    one.request + 1,
                    one.link,
                )
                for one in self.wastes
            ),
            links=tuple(one.link for one in self.wastes),
            estimates=frozenset(
                (row, "cost") for row, one in enumerate(self.wastes) if not one.cost_is_fact
            ),
        )

    def __iter__(self) -> Iterator[Waste]:
        return iter(self.wastes)

    def __len__(self) -> int:
        return len(self.wastes)

    def __getitem__(self, place: int) -> Waste:
        return self.wastes[place]


def largest_wastes(
    timeline: Timeline,
    ruler: Ruler,
    price: PriceProfile,
    references: References,
    most: int = MOST,
    subagents: Sequence[SubagentRun] = (),
) -> Wastes:
    """Return the largest wastes of a session, of each kind its largest one at least, and what the kinds come to."""
    found = [
        *_breaks(timeline, price),
        *_results(timeline, ruler, price, references),
        *_aborted(timeline, price),
        *_subagents(timeline, references, subagents),
    ]
    ordered = sorted(found, key=lambda one: -one.cost)
    first = {one.kind: one for one in reversed(ordered)}
    # One kind may have all of the largest: then nobody would learn of the others.
    chosen = sorted(first.values(), key=lambda one: -one.cost)[:most]
    taken = {id(one) for one in chosen}
    chosen += [one for one in ordered if id(one) not in taken][: most - len(chosen)]
    wastes = tuple(one.make() for one in sorted(chosen, key=lambda one: -one.cost))
    return Wastes(wastes, timeline.title or timeline.session, price.unit, tuple(_kinds(ordered)))


_KINDS: Mapping[str, tuple[str, str]] = {
    "break": ("break of the cache", "breaks of the cache"),
    "again": (
        "result that came again while the first was still shown",
        "results that came again while the first was still shown",
    ),
    "unused": (
        "result of which no later answer used a name",
        "results of which no later answer used a name",
    ),
    "large": ("large result without any name", "large results without any name"),
    "idle": (
        "large result that stayed after its last use",
        "large results that stayed after their last use",
    ),
    "aborted": ("aborted or refused request", "aborted or refused requests"),
    "subagent": (
        "subagent that brought nothing that was used",
        "subagents that brought nothing that was used",
    ),
}


@dataclass(frozen=True, slots=True)
class _Found:
    """A waste that was found; most are not among the largest, so that their sentences are not made."""

    kind: str
    cost: float
    cost_is_fact: bool
    make: Callable[[], Waste]


def _kinds(found: Sequence[_Found]) -> Iterator[WasteKind]:
    """Yield what each kind of waste comes to, the dearest first."""
    by_kind: dict[str, list[_Found]] = {}
    for one in found:
        by_kind.setdefault(one.kind, []).append(one)
    sums = {kind: sum(one.cost for one in those) for kind, those in by_kind.items()}
    for kind, those in sorted(by_kind.items(), key=lambda one: -sums[one[0]]):
        is_fact = all(one.cost_is_fact for one in those)
        name = _KINDS[kind][0 if len(those) == 1 else 1]
        yield WasteKind(f"{len(those):,} {name}", sums[kind], cost_is_fact=is_fact)


def _breaks(timeline: Timeline, price: PriceProfile) -> Iterator[_Found]:
    def waste(one: CacheBreak) -> Waste:
        did = "wrote {} to the cache again" if one.written else "paid for {} in full again"
        return Waste(
            one.cost,
            f"Request {one.request + 1} {did.format(f'{one.loss:,} tokens')}: {one.words}.",
            link_to(timeline.session, one.request),
            one.request,
            is_fact=True,
            cost_is_fact=price.recorded,
        )

    breaks = timeline.derived(f"breaks {price}", lambda one: cache_breaks(one, price))
    for one in breaks:
        yield _Found("break", one.cost, cost_is_fact=price.recorded, make=partial(waste, one))


def _aborted(timeline: Timeline, price: PriceProfile) -> Iterator[_Found]:
    def waste(request: TimelineRequest, cost: float) -> Waste:
        return Waste(
            cost,
            f"Request {request.index + 1} was {request.status} after {request.reported or 0:,} tokens were read.",
            link_to(timeline.session, request.index),
            request.index,
            is_fact=True,
            cost_is_fact=price.recorded,
        )

    for request in timeline.requests:
        usage = request.usage
        if request.status != "ok" and usage is not None:
            cost = price.cost_of(request)
            yield _Found(
                "aborted", cost, cost_is_fact=price.recorded, make=partial(waste, request, cost)
            )


def _subagents(
    timeline: Timeline, references: References, runs: Sequence[SubagentRun]
) -> Iterator[_Found]:
    """Yield the subagents that brought nothing back, or nothing that was used."""

    def waste(run: SubagentRun, came: str) -> Waste:
        totals = run.totals
        what = some(totals.requests, "request")
        return Waste(
            totals.cost,
            f"The subagent {run.name!r} read {totals.input:,} tokens in {what}, and {came}.",
            link_to(timeline.session, run.request),
            run.request,
            is_fact=totals.is_fact,
            cost_is_fact=totals.cost_is_fact,
        )

    used = references.used
    for run in runs:
        result = run.result
        # Where the recording does not say which call began it, what came back is not known.
        if run.depth > 1 or not run.totals.requests or (run.call is None and result is None):
            continue
        if result is None:
            came = "nothing came back"
        elif result.is_error:
            came = "its call ended in an error"
        elif result.index not in used and _holds_names(timeline, references, result.index):
            came = f"no later answer used a name in the {run.returned:,} tokens that came back"
        else:
            continue
        totals = run.totals
        yield _Found("subagent", totals.cost, totals.cost_is_fact, partial(waste, run, came))


def _results(
    timeline: Timeline, ruler: Ruler, price: PriceProfile, references: References
) -> Iterator[_Found]:
    weights, factor = timeline.weights(ruler.estimator), ruler.factor

    def waste(item: TimelineItem, cost: float, end: str) -> Waste:
        link = link_to(timeline.session, item.entered, item.index)
        return Waste(
            cost,
            f"{_what(item)} {end}",
            link,
            item.entered,
            is_fact=False,
            cost_is_fact=False,
            item=item.index,
        )

    def priced(item: TimelineItem, read: float, written: float) -> float:
        # It is carried by many requests; the one at which it entered stands for them.
        first = timeline.requests[item.entered]
        return price.cost(0, read, written, 0, terms=first.terms, prompt=first.reported or 0)

    def took(item: TimelineItem) -> str:
        return f"{weights[item.index] * factor:,.0f} tokens"

    def again(item: TimelineItem, cost: float, same: TimelineItem) -> Waste:
        end = (
            f"came again, the same {took(item)} as in request {same.entered + 1}, which still showed them; "
            f"{some(_carried(timeline, item), 'request')} carried both."
        )
        return waste(item, cost, end)

    def large(item: TimelineItem, cost: float, end: str) -> Waste:
        carried = some(_carried(timeline, item), "request")
        return waste(item, cost, f"took {took(item)} in {carried}{end}.")

    seen: dict[str, TimelineItem] = {}
    for item in _large_results(timeline, ruler):
        if item.entered >= len(timeline.requests):
            continue
        tokens = weights[item.index] * factor
        same = seen.get(item.hash)
        seen[item.hash] = item
        if same is not None and timeline.at(same.index, item.entered) is None:
            carried = _carried(timeline, item)
            cost = priced(item, tokens * max(carried - 1, 0), tokens)
            yield _Found("again", cost, cost_is_fact=False, make=partial(again, item, cost, same))
            continue
        found = _not_needed(timeline, references, item, is_large=tokens > LARGE_TOKENS)
        if found is not None:
            kind, written, read, end = found
            cost = priced(item, tokens * read, tokens * written)
            yield _Found(kind, cost, cost_is_fact=False, make=partial(large, item, cost, end))


def _not_needed(
    timeline: Timeline, references: References, item: TimelineItem, *, is_large: bool
) -> tuple[str, int, int, str] | None:
    """Return a waste's kind, how often the result was written and read without need, and the words; None for no waste."""
    last = references.used.get(item.index)
    if last is None:
        is_named = _holds_names(timeline, references, item.index)
        if not is_named and not is_large:
            return None
        end = ", and no later answer used a name in it" if is_named else ""
        return "unused" if is_named else "large", 1, max(_carried(timeline, item) - 1, 0), end
    # Until its last use it was no waste.
    idle = item.entered + _carried(timeline, item) - 1 - last if is_large else 0
    end = f", {idle:,} of them after the last answer that used a name in it"
    return ("idle", 0, idle, end) if idle > 0 else None


def _large_results(timeline: Timeline, ruler: Ruler) -> Iterator[TimelineItem]:
    """Yield the results that are worth a sentence; looked for once in a session that grows."""
    items, weights = timeline.items, timeline.weights(ruler.estimator)
    grown: GrownRows[bool] = timeline.earlier.setdefault("large results", GrownRows())
    large = grown.of(
        lambda at, _: items[at].kind == "output" and weights[at] * ruler.factor >= LEAST_TOKENS,
        items,
        weights,
        about=ruler,
    )
    yield from compress(items, large)


def _holds_names(timeline: Timeline, references: References, item: int) -> bool:
    """Return whether an item's text holds any name."""
    if references.named is not None:
        return item in references.named
    return any(True for _ in names_in(timeline.read(item)))


def _carried(timeline: Timeline, item: TimelineItem) -> int:
    """Return how many requests showed an item whole."""
    later = timeline.by_item.get(item.index, ())
    gone = next((one.request for one in later if one.state != "whole"), len(timeline.requests))
    return max(gone - item.entered, 0)


def _what(item: TimelineItem) -> str:
    about = f" of {item.label}" if item.label and item.label != item.tool else ""
    return f"A result of {item.tool}{about}"
