"""What compactions lost: names in what a summary replaced that the request after it shows no more.

Words are compared, not meanings. A name that stands in the summary, or in what was kept word for word beside
it, is not lost. Whether a lost one was needed is told by later answers that use it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from palimpsest.context.compaction.loss_report import KINDS
from palimpsest.render.reports.table import Cell, ReportTable, ShownAsTable, TableColumn
from palimpsest.review.replay.simulation import Simulation
from palimpsest.review.replay.text_names import names_of
from palimpsest.review.request_contents.shown_items import ShownItem, shown_items, shown_text
from palimpsest.transcript.timeline import Timeline, Transition

LONGEST_LIST = 20
"""Names that a table or sentence lists; the others are counted."""
MOST_TOLD = 5
"""Needed names that a sentence lists."""
LONGEST_NAME = 80


@dataclass(frozen=True, slots=True)
class LostWord:
    """A name that a compaction lost."""

    name: str
    kind: str
    """``paths``, ``errors``, ``identifiers`` or ``numbers``."""
    needed: tuple[int, ...]
    """The requests, from 0, whose answers used it later."""


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
        size = (
            f"~{self.tokens_before:,.0f} tokens) by a summary of ~{self.tokens_after:,.0f} tokens"
        )
        found = [
            f"{self._place} compaction {self.number + 1} replaced {len(self.items)} {items} ({size}."
        ]
        if not self.summary:
            found.append(
                "The summary was never written, so what it would have kept is not known: the numbers are the most it can lose."
            )
        told = [
            f"{len(self.lost_of(kind))} of {number:,} {kind}" for kind, number in self.found.items()
        ]
        found.append(f"No longer shown: {', '.join(told) if told else 'no names'}.")
        return (*found, self.needed_sentence)

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
    def table(self) -> ReportTable:
        """The lost names, those first that were needed; the sentences stand below."""
        needed = self.needed
        others = [one for one in self.lost if not one.needed]
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                one.kind,
                one.name[:LONGEST_NAME],
                one.needed[0] + 1 if one.needed else None,
                len(one.needed),
            )
            for one in (*needed, *others)[: LONGEST_LIST * len(KINDS)]
        )
        columns = (
            TableColumn("kind", "kind"),
            TableColumn("name", "lost name"),
            TableColumn("needed", "needed at request", "count"),
            TableColumn("uses", "uses later", "count"),
        )
        title = f"Compaction {self.number + 1} under {self.policy}: {len(self.lost):,} names lost"
        hidden = len(self.lost) - len(rows)
        more = (f"{hidden:,} more names are not listed.",) if hidden > 0 else ()
        return ReportTable(title, columns, rows, (*self.sentences, *more))

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
            "found": dict(self.found),
            "lost": [
                {"name": one.name, "kind": one.kind, "needed": [at + 1 for at in one.needed]}
                for one in self.lost
            ],
            "sentences": list(self.sentences),
        }


@dataclass(frozen=True)
class CompactionLosses(ShownAsTable):
    """The compactions of a session, in order."""

    title: str
    policy: str
    compactions: tuple[CompactionLoss, ...]

    def __iter__(self) -> Iterator[CompactionLoss]:
        return iter(self.compactions)

    def __len__(self) -> int:
        return len(self.compactions)

    def __getitem__(self, place: int) -> CompactionLoss:
        return self.compactions[place]

    @cached_property
    def table(self) -> ReportTable:
        """One row a compaction."""
        kinds = tuple(
            TableColumn(kind, f"{kind} lost", "count", "", "Of how many is in the JSON.")
            for kind in KINDS
        )
        columns = (
            TableColumn("compaction", "compaction", "count"),
            TableColumn("request", "request", "count"),
            TableColumn("items", "items", "count"),
            TableColumn("tokens_before", "tokens before", "count", "estimate"),
            TableColumn("tokens_after", "summary", "count", "estimate"),
            *kinds,
            TableColumn("needed", "needed later", "count"),
        )
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (
                one.number + 1,
                one.request + 1,
                len(one.items),
                round(one.tokens_before),
                round(one.tokens_after),
                *(len(one.lost_of(kind)) for kind in KINDS),
                len(one.needed),
            )
            for one in self.compactions
        )
        many = "compaction" if len(rows) == 1 else "compactions"
        title = f"{len(rows)} {many} of {self.title} under {self.policy}"
        return ReportTable(title, columns, rows, tuple(one.needed_sentence for one in self))

    def json(self) -> dict[str, Any]:
        """Return the compactions as plain values."""
        return {"policy": self.policy, "compactions": [one.json() for one in self.compactions]}


def compaction_losses(
    simulation: Simulation, uses: Mapping[str, Sequence[int]]
) -> CompactionLosses:
    """Return the compactions of a replay, recorded or simulated, and what each lost.

    ``uses`` are the requests whose answers use a name, ascending, by name.
    """
    timeline = simulation.timeline
    found = sorted([*_recorded(simulation), *_simulated(simulation)], key=lambda one: one.request)
    made = tuple(_loss(simulation, number, one, uses) for number, one in enumerate(found))
    return CompactionLosses(timeline.title or timeline.session, simulation.policy, made)


class _Replaced(NamedTuple):
    """A summary and what it replaced."""

    request: int
    """The first that shows the summary."""
    covered: tuple[int, ...]
    place: int
    """The item of the summary, or the one in whose place it stands."""
    is_item: bool
    """The summary is an item of its own."""


def _recorded(simulation: Simulation) -> Iterator[_Replaced]:
    """Yield the summaries that the recording holds, if the replay shows them."""
    for item in simulation.timeline.items if simulation.policy == "recorded" else ():
        if item.kind == "summary" and item.covers:
            yield _Replaced(item.entered, item.covers, item.index, is_item=True)


def _simulated(simulation: Simulation) -> Iterator[_Replaced]:
    """Yield the summaries of a policy: one stands in the place of an item that it replaced."""
    at: dict[int, list[Transition]] = {}
    for one in simulation.timeline.transitions if simulation.policy != "recorded" else ():
        if one.state == "summarised":
            at.setdefault(one.request, []).append(one)
    for request, those in at.items():
        place = next((one.item for one in those if one.tokens), None)
        if place is not None:
            covered = tuple(sorted(one.item for one in those))
            yield _Replaced(request, covered, place, is_item=False)


def _loss(
    simulation: Simulation, number: int, one: _Replaced, uses: Mapping[str, Sequence[int]]
) -> CompactionLoss:
    timeline, recorded = simulation.timeline, simulation.policy == "recorded"
    before = _before(simulation, one.request, one.covered)
    texts = [shown_text(timeline, shown, recorded=recorded) for shown in before]
    summary, tokens = _summary(simulation, one)
    beside = [
        shown_text(timeline, shown, recorded=recorded)
        for shown in _after(simulation, one.request)
        if shown.item.index != one.place
    ]
    kept = _names_and_words([summary, *beside])
    found, lost = _lost(texts, kept, summary, uses, one.request)
    return CompactionLoss(
        timeline=timeline,
        number=number,
        request=one.request,
        policy=simulation.policy,
        items=tuple(shown.item.index for shown in before),
        summary=summary,
        tokens_before=sum(shown.tokens for shown in before),
        tokens_after=tokens,
        found=found,
        lost=tuple(lost),
    )


def _before(simulation: Simulation, request: int, covered: Sequence[int]) -> tuple[ShownItem, ...]:
    """Return the covered items as the request would have shown them without the compaction."""
    timeline, ruler = simulation.timeline, simulation.ruler
    weights = timeline.weights(ruler.estimator)
    found = []
    for index in covered:
        transition = timeline.at(index, request - 1)
        tokens = weights[index] if transition is None else transition.tokens or 0
        if tokens:
            found.append(ShownItem(timeline.items[index], transition, tokens * ruler.factor))
    return tuple(found)


def _after(simulation: Simulation, request: int) -> tuple[ShownItem, ...]:
    """Return what the first request with the summary shows; nothing where there is none."""
    return shown_items(simulation, request) if request < len(simulation.sizes) else ()


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


def _names_and_words(texts: Sequence[str]) -> frozenset[str]:
    found: set[str] = set()
    for text in texts:
        found.update(name for _, name in names_of(text))
        found.update(re.findall(r"[\w.,/-]+", text))
    return frozenset(found)


def _lost(
    texts: Sequence[str],
    kept: frozenset[str],
    summary: str,
    uses: Mapping[str, Sequence[int]],
    request: int,
) -> tuple[dict[str, int], list[LostWord]]:
    """Return how many names of each kind the texts hold, and those that are not kept."""
    kinds: dict[str, str] = {}
    for text in texts:
        for kind, name in names_of(text):
            kinds.setdefault(name, kind)
    found = dict.fromkeys(KINDS, 0)
    lost = []
    for name, kind in kinds.items():
        found[kind] += 1
        if name not in kept and name not in summary:
            later = tuple(one for one in uses.get(name, ()) if one >= request)
            lost.append(LostWord(name, kind, later))
    return {kind: number for kind, number in found.items() if number}, lost
