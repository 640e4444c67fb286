"""The largest wastes of a session as sentences with numbers: what was paid without use, as far as can be told.

Carrying costs are estimates by the ruler: an item is written to the cache once and read from it by every later
request that shows it. Breaks of the cache are facts of the reported usage.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from palimpsest.render.reports.table import ReportTable, ShownAsTable, TableColumn
from palimpsest.review.comparison.cache_breaks import cache_breaks
from palimpsest.review.comparison.links import link_to
from palimpsest.review.comparison.references import References, names_in
from palimpsest.review.comparison.subagents import SubagentRun
from palimpsest.review.replay.ruler import PriceProfile, Ruler
from palimpsest.transcript.timeline import Timeline, TimelineItem

MOST = 10
LARGE_TOKENS = 8_000
"""A result over so many tokens is called large, as in context-lens."""
LEAST_TOKENS = 500
"""Smaller results are no waste that is worth a sentence."""


@dataclass(frozen=True, slots=True)
class Waste:
    """Something that was paid for without use."""

    cost: float
    """In the profile's money."""
    sentence: str
    link: str
    request: int
    is_fact: bool
    """From reported usage; else an estimate."""


@dataclass(frozen=True)
class Wastes(ShownAsTable):
    """The largest wastes, largest first."""

    wastes: tuple[Waste, ...]
    session: str
    """The session's title."""
    unit: str
    """``USD`` or ``units``."""

    @cached_property
    def table(self) -> ReportTable:
        """The wastes as a table for any renderer."""
        return ReportTable(
            title=f"The {len(self)} largest wastes of {self.session}"
            if len(self) > 1
            else f"{'One waste was' if self.wastes else 'No waste was'} found in {self.session}",
            columns=(
                TableColumn("cost", self.unit, "usd" if self.unit == "USD" else "count"),
                TableColumn("basis", "known as"),
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
    """Return the largest wastes of a session."""
    found = [
        *_breaks(timeline, price),
        *_results(timeline, ruler, price, references),
        *_aborted(timeline, price),
        *_subagents(timeline, references, subagents),
    ]
    largest = sorted(found, key=lambda one: -one.cost)[:most]
    return Wastes(tuple(largest), timeline.title or timeline.session, price.unit)


def _breaks(timeline: Timeline, price: PriceProfile) -> Iterator[Waste]:
    for one in cache_breaks(timeline, price):
        yield Waste(
            one.cost,
            f"Request {one.request + 1} wrote {one.loss:,} tokens to the cache again: {one.words}.",
            link_to(timeline.session, one.request),
            one.request,
            is_fact=True,
        )


def _aborted(timeline: Timeline, price: PriceProfile) -> Iterator[Waste]:
    for request in timeline.requests:
        usage = request.usage
        if request.status != "ok" and usage is not None:
            output = usage.output + usage.reasoning
            yield Waste(
                price.cost(usage.input, usage.cache_read, usage.cache_write, output),
                f"Request {request.index + 1} was {request.status} after {request.reported or 0:,} tokens were read.",
                link_to(timeline.session, request.index),
                request.index,
                is_fact=True,
            )


def _subagents(
    timeline: Timeline, references: References, runs: Sequence[SubagentRun]
) -> Iterator[Waste]:
    """Yield the subagents that brought nothing back, or nothing that was used."""
    used = _used(references)
    for run in runs:
        totals, result = run.totals, run.result
        if run.depth > 1 or not totals.requests:
            continue
        if result is None:
            came = "nothing came back"
        elif result.is_error:
            came = "its call ended in an error"
        elif result.index not in used and any(True for _ in names_in(timeline.read(result.index))):
            came = f"no later answer used a name in the {run.returned:,} tokens that came back"
        else:
            continue
        what = f"{totals.requests:,} request{'' if totals.requests == 1 else 's'}"
        yield Waste(
            totals.cost,
            f"The subagent {run.name!r} read {totals.input:,} tokens in {what}, and {came}.",
            link_to(timeline.session, run.request),
            run.request,
            is_fact=totals.is_fact,
        )


def _results(
    timeline: Timeline, ruler: Ruler, price: PriceProfile, references: References
) -> Iterator[Waste]:
    used = _used(references)
    weights = timeline.weights(ruler.estimator)
    seen: dict[str, TimelineItem] = {}
    for item in timeline.items:
        tokens = weights[item.index] * ruler.factor
        first = item.entered
        if item.kind != "output" or tokens < LEAST_TOKENS or first >= len(timeline.requests):
            continue
        carried = _carried(timeline, item)
        cost = price.cost(0, tokens * max(carried - 1, 0), tokens, 0)
        same = seen.get(item.hash)
        what = _what(item)
        if same is not None and timeline.at(same.index, first) is None:
            sentence = (
                f"{what} came again, the same {tokens:,.0f} tokens as in request {same.entered + 1}, "
                f"which still showed them; {carried} requests carried both."
            )
        elif item.index not in used and any(True for _ in names_in(timeline.read(item.index))):
            sentence = f"{what} took {tokens:,.0f} tokens in {carried} requests, and no later answer used a name in it."
        elif tokens > LARGE_TOKENS:
            sentence = f"{what} took {tokens:,.0f} tokens in {carried} requests."
        else:
            sentence = ""
        seen[item.hash] = item
        if sentence:
            link = link_to(timeline.session, first, item.index)
            yield Waste(cost, sentence, link, first, is_fact=False)


def _used(references: References) -> frozenset[int]:
    """Return the items that hold a name which a later answer used."""
    return frozenset().union(*(use.sources for use in references.uses))


def _carried(timeline: Timeline, item: TimelineItem) -> int:
    """Return how many requests showed an item whole."""
    later = timeline.by_item.get(item.index, ())
    gone = next((one.request for one in later if one.state != "whole"), len(timeline.requests))
    return max(gone - item.entered, 0)


def _what(item: TimelineItem) -> str:
    about = f" of {item.label}" if item.label and item.label != item.tool else ""
    return f"A result of {item.tool}{about}"
