"""The largest wastes of a session as sentences with numbers: what was paid without use, as far as can be told.

Carrying costs are estimates by the ruler: an item is written to the cache once and read from it by every later
request that shows it. Breaks of the cache are facts of the reported usage.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import compress

from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn, table_of
from palimpsest.review.comparison.cache_breaks import CacheBreak, cache_breaks
from palimpsest.review.comparison.figures import Waste, WasteKind
from palimpsest.review.comparison.links import link_to
from palimpsest.review.comparison.references import References, names_in
from palimpsest.review.comparison.session_tables import estimated_costs
from palimpsest.review.comparison.subagents import SubagentRun
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.growing_lists import GrownRows
from palimpsest.transcript.timeline import Timeline, TimelineItem

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
        about = "What the sentence says; a cost with ~ is an estimate."
        basis = TableColumn("basis", "known as", about=about)
        return table_of(
            f"The {len(self)} largest wastes of {self.session}"
            if len(self) > 1
            else f"{'One waste was' if self.wastes else 'No waste was'} found in {self.session}",
            (
                TableColumn("cost", self.unit, "usd" if self.unit == "USD" else "count"),
                (basis, lambda one: "fact" if one.is_fact else "estimate"),
                TableColumn("sentence", "what"),
                (TableColumn("request", "request", "count"), lambda one: one.request + 1),
                TableColumn("link", "link"),
            ),
            self.wastes,
            links=[one.link for one in self.wastes],
            estimates=estimated_costs(not one.cost_is_fact for one in self.wastes),
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
    ordered_chosen = sorted(chosen, key=lambda one: -one.cost)
    wastes = tuple(one.waste(timeline.session) for one in ordered_chosen)
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
    request: int
    sentence: Callable[[], str]
    is_fact: bool = True
    item: int | None = None

    def waste(self, session: str) -> Waste:
        link = link_to(session, self.request, self.item)
        told = self.sentence()
        is_fact, cost_is_fact = self.is_fact, self.cost_is_fact
        return Waste(self.cost, told, link, self.request, is_fact, cost_is_fact, self.item)


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
    def sentence(one: CacheBreak) -> str:
        did = "wrote {} to the cache again" if one.written else "paid for {} in full again"
        return f"Request {one.request + 1} {did.format(f'{one.loss:,} tokens')}: {one.words}."

    for one in timeline.derived(f"breaks {price}", lambda one: cache_breaks(one, price)):
        yield _Found("break", one.cost, price.recorded, one.request, partial(sentence, one))


def _aborted(timeline: Timeline, price: PriceProfile) -> Iterator[_Found]:
    told = "Request {} was {} after {:,} tokens were read."
    for one in timeline.requests:
        if one.status != "ok" and one.usage is not None:
            words = partial(told.format, one.index + 1, one.status, one.reported or 0)
            yield _Found("aborted", price.cost_of(one), price.recorded, one.index, words)


def _subagents(
    timeline: Timeline, references: References, runs: Sequence[SubagentRun]
) -> Iterator[_Found]:
    """Yield the subagents that brought nothing back, or nothing that was used."""
    used = references.used
    for run in runs:
        result, totals = run.result, run.totals
        # Where the recording does not say which call began it, what came back is not known.
        if run.depth > 1 or not totals.requests or (run.call is None and result is None):
            continue
        if result is None:
            came = "nothing came back"
        elif result.is_error:
            came = "its call ended in an error"
        elif result.index not in used and _holds_names(timeline, references, result.index):
            came = f"no later answer used a name in the {run.returned:,} tokens that came back"
        else:
            continue
        told = "The subagent {!r} read {:,} tokens in {}, and {}."
        what = some(totals.requests, "request")
        words = partial(told.format, run.name, totals.input, what, came)
        cost, is_fact = totals.cost, totals.is_fact
        yield _Found("subagent", cost, totals.cost_is_fact, run.request, words, is_fact)


def _results(
    timeline: Timeline, ruler: Ruler, price: PriceProfile, references: References
) -> Iterator[_Found]:
    weights, factor = timeline.weights(ruler.estimator), ruler.factor

    def again(item: TimelineItem, took: float, same: TimelineItem) -> str:
        carried = some(_carried(timeline, item), "request")
        before = f"as in request {same.entered + 1}, which still showed them"
        return f"{_what(item)} came again, the same {took:,.0f} tokens {before}; {carried} carried both."

    def large(item: TimelineItem, took: float, end: str) -> str:
        carried = some(_carried(timeline, item), "request")
        return f"{_what(item)} took {took:,.0f} tokens in {carried}{end}."

    seen: dict[str, TimelineItem] = {}
    for item in _large_results(timeline, ruler):
        if item.entered >= len(timeline.requests):
            continue
        tokens = weights[item.index] * factor
        same = seen.get(item.hash)
        seen[item.hash] = item
        if same is not None and timeline.at(same.index, item.entered) is None:
            kind, written, read = "again", 1, max(_carried(timeline, item) - 1, 0)
            words = partial(again, item, tokens, same)
        elif need := _not_needed(timeline, references, item, is_large=tokens > LARGE_TOKENS):
            kind, written, read, end = need
            words = partial(large, item, tokens, end)
        else:
            continue
        # It is carried by many requests; the one at which it entered stands for them.
        first = timeline.requests[item.entered]
        terms, prompt = first.terms, first.reported or 0
        cost = price.cost(0, tokens * read, tokens * written, 0, terms=terms, prompt=prompt)
        yield _Found(
            kind,
            cost,
            request=item.entered,
            sentence=words,
            is_fact=False,
            cost_is_fact=False,
            item=item.index,
        )


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
