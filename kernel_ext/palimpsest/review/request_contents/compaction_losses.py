"""What compactions lost: names in what a summary replaced that the request after it shows no more.

Words are compared, not meanings. A name that stands in the summary, or in what was kept word for word beside
it, is not lost. Whether a lost one was needed is told by later answers that use it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from palimpsest.context.compaction.constraints import CONSTRAINTS
from palimpsest.context.compaction.lost_names import LOST_KINDS, lost_names
from palimpsest.context.compaction.names import names_of
from palimpsest.render.content.phrases import some
from palimpsest.render.reports.table import (
    Basis,
    ReportTable,
    ShownAsTable,
    TableColumn,
    Told,
    table_of,
)
from palimpsest.review.replay.fetch_cost import fetch_cost
from palimpsest.review.replay.ruler import PriceProfile, money_words
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.request_contents.lost_word import LostWord
from palimpsest.review.request_contents.replaced_constraints import (
    COMPARED,
    ReplacedConstraint,
    constraints_table,
    is_persons,
    replaced_constraints,
)
from palimpsest.review.request_contents.shown_items import (
    ShownItem,
    items_at,
    shown_text,
    shows_name,
    weighed,
)
from palimpsest.transcript.timeline import STOPPED, WRITTEN_BY, Timeline

LONGEST_LIST = 20
"""Names that a table or sentence lists; the others are counted."""
NOTHING_BEFORE = "What it replaced is not in the recording, so what it lost is not known."
MOST_TOLD = 5
"""Needed names that a sentence lists."""
LONGEST_NAME = 80


NameUses = Mapping[str, Sequence[tuple[int, frozenset[int]]]]
"""By name: the requests whose answers use it, ascending, and the items that held it before."""


class SummarySession(NamedTuple):
    """A session whose requests wrote a summary, and what they took."""

    session: str
    requests: int
    input: int
    output: int
    cost: float
    basis: Basis
    """Whether the cost was recorded, or is an estimate."""


@dataclass(frozen=True)
class CompactionLoss(ShownAsTable):
    """One compaction: what it replaced by what, and what that lost."""

    timeline: Timeline = field(repr=False)
    number: int
    """Its place among the compactions of the session, from 0."""
    request: int
    """The first request that shows the summary; the number of requests where none came after it."""
    policy: str
    items: tuple[int, ...] = field(repr=False)
    """The items that it replaced, of those that were shown."""
    item_tokens: tuple[float, ...] = field(repr=False)
    """What each of them took; estimates."""
    summary: str = field(repr=False)
    """What stands in their place; empty where it was never written. Data, not markup."""
    tokens_before: float
    """Of what it replaced; an estimate."""
    tokens_after: float
    """Of the summary; an estimate, or the size that was assumed."""
    found: Mapping[str, int]
    """How many names were in what it replaced, by kind."""
    lost: tuple[LostWord, ...] = field(repr=False)
    """Those that the request after it shows no more."""
    price: PriceProfile = field(repr=False)
    repair: float
    """What it would cost to fetch the needed ones again, each source once; an estimate."""
    fetches: int
    """How many sources that are."""
    undone: int | None = None
    """The first request, from 0, that shows again what it replaced; None where nobody undid it."""
    constraints: tuple[ReplacedConstraint, ...] = ()
    """What a person forbade or demanded in what it replaced."""
    writer: SummarySession | None = None
    """The session that wrote the summary, where the recording holds it as one of its own."""

    @property
    def needed(self) -> tuple[LostWord, ...]:
        """The lost names that a later answer used, the earliest first."""
        return tuple(sorted((one for one in self.lost if one.needed), key=lambda one: one.needed))

    def lost_of(self, kind: str) -> tuple[LostWord, ...]:
        """Return the lost names of a kind."""
        return tuple(one for one in self.lost if one.kind == kind)

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was replaced and lost, with numbers."""
        items = "item" if len(self.items) == 1 else "items"
        after = f"a summary of ~{self.tokens_after:,.0f} tokens"
        size = f"~{self.tokens_before:,.0f} tokens) by {after}"
        if not self.items:
            return (
                f"{self._place} compaction {self.number + 1} put {after} first.",
                NOTHING_BEFORE,
            )
        found = [
            f"{self._place} compaction {self.number + 1} replaced {len(self.items)} {items} ({size}."
        ]
        if not self.summary:
            found.append(
                "The summary was never written, so what it would have kept is not known: the numbers are the most it can lose."
            )
        if self.writer is not None:
            one = self.writer
            found.append(
                f"The summary was written by session {one.session}: {some(one.requests, 'request')}, {one.input:,} tokens "
                f"read, {one.output:,} written, {money_words(one.cost, self.price.unit, one.basis)}."
            )
        told = [
            f"{len(self.lost_of(kind))} of {number:,} {kind}" for kind, number in self.found.items()
        ]
        found.append(f"No longer shown: {', '.join(told) if told else 'no names'}.")
        if self.undone is not None:
            found.append(
                f"It was undone: request {self.undone + 1} shows again what it replaced."
                if self.undone < len(self.timeline.requests)
                else "It was undone: the next request shows again what it replaced."
            )
        if not self.lost:
            return tuple(found)
        return (*found, self.needed_sentence, *self._forgotten, *self._repair)

    @property
    def _repair(self) -> tuple[str, ...]:
        """What fetching the needed names again would cost, in a sentence; empty where none was needed."""
        if not self.fetches:
            return ()
        cost = money_words(self.repair, self.price.unit, "estimate")
        many = some(self.fetches, "request")
        return (f"To fetch them again would take {many}, and cost {cost}: an estimate.",)

    @property
    def _place(self) -> str:
        if self.request >= len(self.timeline.requests):
            return "After the last request"
        return f"Before request {self.request + 1}"

    @property
    def needed_sentence(self) -> str:
        """Which of the lost names later answers used, in a sentence."""
        needed = self.needed
        if not needed:
            return "No later answer used any of these."
        named = ", ".join(
            f"{one.name[:LONGEST_NAME]} (request {one.needed[0] + 1})" for one in needed[:MOST_TOLD]
        )
        more = f" and {len(needed) - MOST_TOLD:,} more" if len(needed) > MOST_TOLD else ""
        return f"Needed later: {len(needed):,} of them, {named}{more}."

    @cached_property
    def constraints_table(self) -> ReportTable:
        """What a person forbade or demanded, the lost first: where it was said, and the first later call that touches it."""
        lost = len(self.lost_of(CONSTRAINTS))
        title = f"Compaction {self.number + 1} under {self.policy}: {lost} of {some(len(self.constraints), 'constraint')} lost"
        return constraints_table(title, self.constraints)

    @property
    def _forgotten(self) -> tuple[str, ...]:
        """The first constraint that is lost, in a sentence; empty where none is."""
        gone = next((one for one in self.constraints if not one.kept), None)
        if gone is None:
            return ()
        touched = (
            ""
            if gone.call is None
            else f"; a call of request {gone.call + 1} holds one of its words"
        )
        told = f"“{gone.sentence[:LONGEST_NAME]}” of request {gone.said + 1}"
        return (f"Lost of what a person demanded: {told}{touched}. {COMPARED}",)

    @cached_property
    def table(self) -> ReportTable:
        """The lost names, those first that were needed; the sentences stand below."""
        needed = self.needed
        others = [one for one in self.lost if not one.needed]
        listed = (*needed, *others)[: LONGEST_LIST * len(LOST_KINDS)]
        columns: tuple[Told, ...] = (
            TableColumn("kind", "kind"),
            (TableColumn("name", "lost name"), lambda one: one.name[:LONGEST_NAME]),
            (
                TableColumn("needed", "needed at request", "count"),
                lambda one: one.needed[0] + 1 if one.needed else None,
            ),
            (TableColumn("uses", "uses later", "count"), lambda one: len(one.needed)),
        )
        title = f"Compaction {self.number + 1} under {self.policy}: {len(self.lost):,} names lost"
        hidden = len(self.lost) - len(listed)
        more = (f"{hidden:,} more names are not listed.",) if hidden > 0 else ()
        return table_of(title, columns, listed, (*self.sentences, *more))

    def json(self) -> dict[str, Any]:
        """Return the compaction as plain values; numbers count from 1."""
        return {
            "number": self.number + 1,
            "request": self.request + 1,
            "policy": self.policy,
            "items": [one + 1 for one in self.items],
            "summary": self.summary,
            "tokens_before": round(self.tokens_before),
            "tokens_after": round(self.tokens_after),
            "undone": None if self.undone is None else self.undone + 1,
            "constraints": self.constraints_table.records(),
            "writer": None if self.writer is None else self.writer._asdict(),
            "found": dict(self.found),
            "lost": [
                {"name": one.name, "kind": one.kind, "needed": [at + 1 for at in one.needed]}
                for one in self.lost
            ],
            "repair": round(self.repair, 6),
            "fetches": self.fetches,
            "unit": self.price.unit,
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True)
class CompactionLosses(ShownAsTable):
    """The compactions of a session, in order."""

    title: str
    policy: str
    compactions: tuple[CompactionLoss, ...]
    failures: tuple[str, ...] = ()
    """A sentence for each summary that was asked for and replaced nothing."""

    def __iter__(self) -> Iterator[CompactionLoss]:
        return iter(self.compactions)

    def __len__(self) -> int:
        return len(self.compactions)

    def __getitem__(self, place: int) -> CompactionLoss:
        return self.compactions[place]

    @cached_property
    def table(self) -> ReportTable:
        """One row a compaction."""
        unit = next((one.price.unit for one in self.compactions), "USD")
        about = f"{COMPARED} Of how many is in the JSON."
        columns: tuple[Told, ...] = (
            (TableColumn("compaction", "compaction", "count"), lambda one: one.number + 1),
            (TableColumn("request", "request", "count"), lambda one: one.request + 1),
            (TableColumn("items", "items", "count"), lambda one: len(one.items)),
            (
                TableColumn("tokens_before", "tokens before", "count", "estimate"),
                lambda one: round(one.tokens_before),
            ),
            (
                TableColumn("tokens_after", "summary", "count", "estimate"),
                lambda one: round(one.tokens_after),
            ),
            *(
                (
                    TableColumn(kind, f"{kind} lost", "count", "", about),
                    lambda one, kind=kind: len(one.lost_of(kind)),
                )
                for kind in LOST_KINDS
            ),
            (TableColumn("needed", "needed later", "count"), lambda one: len(one.needed)),
            TableColumn(
                "repair", f"{unit} to repair", "usd" if unit == "USD" else "count", "estimate"
            ),
        )
        notes = (*(one.needed_sentence for one in self), *self.failures)
        title = f"{some(len(self), 'compaction')} of {self.title} under {self.policy}"
        return table_of(title, columns, self.compactions, notes)

    def json(self) -> dict[str, Any]:
        """Return the compactions as plain values."""
        return {
            "policy": self.policy,
            "compactions": [one.json() for one in self.compactions],
            "failures": list(self.failures),
        }


def compaction_losses(
    simulation: Simulation,
    uses: NameUses,
    price: PriceProfile,
    writers: Mapping[str, SummarySession] = MappingProxyType({}),
) -> CompactionLosses:
    """Return the compactions of a replay, recorded or simulated, and what each lost.

    ``writers`` are the recorded sessions that wrote summaries, by their ids.
    """
    timeline = simulation.timeline
    found = sorted([*_recorded(simulation), *_simulated(simulation)], key=lambda one: one.request)
    made = tuple(
        _loss(simulation, number, one, uses, price, writers) for number, one in enumerate(found)
    )
    title = timeline.title or timeline.session
    failures = tuple(_failures(timeline)) if simulation.policy == "recorded" else ()
    return CompactionLosses(title, simulation.policy, made, failures)


def summary_writers(timeline: Timeline) -> dict[str, str]:
    """Return the sessions that wrote summaries, by the message of the summary."""
    return {
        str(one.numbers.get("summary")): str(one.numbers[WRITTEN_BY])
        for one in timeline.events
        if one.kind == "compact" and one.numbers.get(WRITTEN_BY)
    }


def _failures(timeline: Timeline) -> Iterator[str]:
    """Yield a sentence for each recorded summary that failed or was stopped."""
    for one in timeline.events:
        if one.kind == "compact failed":
            place = (
                f"Before request {one.request + 1:,}"
                if one.request < len(timeline.requests)
                else "After the last request"
            )
            how = "was stopped" if one.numbers.get("error") == STOPPED else "failed"
            yield f"{place} a summary ({one.cause}) {how}, so that it replaced nothing."


class _Replaced(NamedTuple):
    """A summary and what it replaced."""

    request: int
    """The first that shows the summary."""
    covered: tuple[int, ...]
    place: int
    """The item of the summary, or the one in whose place it stands."""
    is_item: bool
    """The summary is an item of its own."""
    undone: int | None = None
    """The first request that shows again what it replaced."""
    writer: str = ""
    """The session that wrote the summary, where that is known."""


def _recorded(simulation: Simulation) -> Iterator[_Replaced]:
    """Yield the summaries that the recording holds, one for each of its compactions, if the replay shows them."""
    timeline = simulation.timeline
    undone: dict[str, int] = {}
    written = summary_writers(timeline)
    for one in timeline.events:
        if one.kind == "undo" and one.numbers.get("back"):
            undone.pop(str(one.numbers.get("summary")), None)
        elif one.kind == "undo":
            undone[str(one.numbers.get("summary"))] = one.request
    for item in timeline.items if simulation.policy == "recorded" else ():
        if item.kind == "summary":
            until = undone.get(item.message)
            yield _Replaced(
                item.entered,
                item.covers,
                item.index,
                is_item=True,
                undone=until,
                writer=written.get(item.message, ""),
            )


def _simulated(simulation: Simulation) -> Iterator[_Replaced]:
    """Yield the summaries of a policy: one stands in the place of an item that it replaced."""
    at = simulation.timeline.by_request if simulation.policy != "recorded" else {}
    for request, moves in at.items():
        those = [one for one in moves if one.state == "summarised"]
        place = next((one.item for one in those if one.tokens), None)
        if place is not None:
            covered = tuple(sorted(one.item for one in those))
            yield _Replaced(request, covered, place, is_item=False)


def _loss(
    simulation: Simulation,
    number: int,
    one: _Replaced,
    uses: NameUses,
    price: PriceProfile,
    writers: Mapping[str, SummarySession],
) -> CompactionLoss:
    timeline, recorded = simulation.timeline, simulation.policy == "recorded"
    before = _before(simulation, one.request, one.covered)
    texts = [shown_text(timeline, shown, recorded=recorded) for shown in before]
    summary, tokens = _summary(simulation, one)
    beside = [
        shown_text(timeline, shown, recorded=recorded)
        for shown in items_at(simulation, one.request)
        if shown.item.index != one.place
    ]
    said = [
        text for shown, text in zip(before, texts, strict=True) if is_persons(timeline, shown.item)
    ]
    lost = lost_names(texts, summary, beside, said=said)
    needed = {
        name: tuple(
            use
            for use, holders in uses.get(name, ())
            if one.request <= use
            and (one.undone is None or use < one.undone)
            and not _is_back(timeline, one.request, use, name, holders)
        )
        for name in lost.kinds
    }
    fetched = _fetched(before, texts, needed)
    return CompactionLoss(
        timeline=timeline,
        number=number,
        request=one.request,
        policy=simulation.policy,
        items=tuple(shown.item.index for shown in before),
        item_tokens=tuple(shown.tokens for shown in before),
        summary=summary,
        tokens_before=sum(shown.tokens for shown in before),
        tokens_after=tokens,
        found=lost.found,
        lost=tuple(LostWord(name, kind, needed[name]) for name, kind in lost.kinds.items()),
        price=price,
        repair=sum(fetch_cost(simulation, at, item, price) for item, at in fetched.items()),
        fetches=len(fetched),
        undone=one.undone,
        constraints=replaced_constraints(
            timeline, one.request, before, frozenset(lost.of(CONSTRAINTS))
        ),
        writer=writers.get(one.writer),
    )


def _is_back(timeline: Timeline, request: int, use: int, name: str, holders: Iterable[int]) -> bool:
    """Return whether something showed a lost name again before an answer used it, from a request on.

    If that is gone, too, another compaction lost it.
    """
    for holder in holders:
        entered = timeline.items[holder].entered
        if request <= entered and shows_name(timeline, holder, entered, name):
            return True
        if shows_name(timeline, holder, use, name):
            return True
    return False


def _fetched(
    before: Sequence[ShownItem], texts: Iterable[str], needed: Mapping[str, Sequence[int]]
) -> dict[int, int]:
    """Return the items that hold the needed names, the newest for each name, with the first request that needed it."""
    wanted = {name: those[0] for name, those in needed.items() if those}
    holder: dict[str, int] = {}
    for shown, text in zip(before, texts, strict=True) if wanted else ():
        holder |= {name: shown.item.index for _, name in names_of(text) if name in wanted}
    found: dict[int, int] = {}
    for name, item in holder.items():
        found[item] = min(wanted[name], found.get(item, wanted[name]))
    return found


def _before(simulation: Simulation, request: int, covered: Sequence[int]) -> tuple[ShownItem, ...]:
    """Return the covered items as the request would have shown them without the compaction."""
    factor = simulation.ruler.factor
    return tuple(
        ShownItem(item, how, tokens * factor)
        for item, how, tokens in weighed(simulation, covered, request - 1)
        if tokens
    )


def _summary(simulation: Simulation, one: _Replaced) -> tuple[str, float]:
    """Return the text of a summary, empty where there is none, and its tokens."""
    timeline, ruler = simulation.timeline, simulation.ruler
    if one.is_item:
        tokens = timeline.weights(ruler.estimator)[one.place]
        return timeline.read(one.place), tokens * ruler.factor
    found = timeline.at(one.place, one.request)
    if found is None:
        return "", 0
    return found.shown or "", (found.tokens or 0) * ruler.factor
