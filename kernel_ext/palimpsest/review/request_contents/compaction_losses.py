"""Names that compactions lost: names in the replaced items that the request after the summary no longer shows.

Words are compared, not meanings. A name in the summary, or in text that is shown beside it, is not lost. A lost name
was needed if a later answer uses it.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple

from palimpsest.context.compaction.constraints import CONSTRAINTS
from palimpsest.context.compaction.lost_names import LOST_KINDS, lost_names
from palimpsest.context.compaction.names import names_of
from palimpsest.context_policies.prompt_cache.ruler import PriceProfile, amount_with_unit
from palimpsest.context_policies.replay.fetch_cost import fetch_cost
from palimpsest.context_policies.replay.simulation import Simulation
from palimpsest.render.content.decision_reasons import conversation_size
from palimpsest.render.content.phrases import counted_noun
from palimpsest.render.reports.table import (
    Basis,
    ColumnSpec,
    Form,
    ReportTable,
    ShownAsTable,
    TableColumn,
    table_of,
)
from palimpsest.review.request_contents.lost_word import LostWord
from palimpsest.review.request_contents.replaced_constraints import (
    COMPARISON_NOTE,
    ReplacedConstraint,
    constraints_table,
    is_user_text,
    replaced_constraints,
)
from palimpsest.review.request_contents.shown_items import (
    ShownItem,
    items_at,
    items_with_tokens,
    shown_text,
    shows_name,
)
from palimpsest.transcript.timeline import STOPPED, WRITTEN_BY, Timeline

MAX_NAMES_PER_KIND = 20
"""A table lists at most this number of names times the number of kinds; the others are counted."""
NOT_RECORDED_SENTENCE = "What it replaced is not in the recording, so what it lost is not known."
MAX_NEEDED_NAMES = 5
"""Maximum needed names that a sentence lists."""
MAX_NAME_CHARS = 80
"""Characters after which a name or a constraint is cut in a table or sentence."""
NameUses = Mapping[str, Sequence[tuple[int, Sequence[int]]]]
"""For each name: the requests whose answers use it, ascending, each with the earlier items that contain it."""


class SummarySession(NamedTuple):
    """A session whose requests wrote a summary, with their tokens and cost."""

    session: str
    requests: int
    input: int
    output: int
    cost: float
    basis: Basis
    """Whether the cost is a recorded fact or an estimate."""


@dataclass(frozen=True)
class CompactionLoss(ShownAsTable):
    """One compaction: the replaced items, the summary, and the names that were lost."""

    timeline: Timeline = field(repr=False)
    number: int
    """Index among the compactions of the session, from 0."""
    request: int
    """Index, from 0, of the first request that shows the summary; the number of requests where no request followed."""
    policy: str
    items: tuple[int, ...] = field(repr=False)
    """The replaced items, as far as they were shown."""
    item_tokens: tuple[float, ...] = field(repr=False)
    """Estimated tokens of each of ``items``."""
    summary: str = field(repr=False)
    """The text of the summary; empty where it was never written. Data, not markup."""
    tokens_before: float
    """Estimated tokens of the replaced items."""
    tokens_after: float
    """Estimated tokens of the summary, or the size that was assumed."""
    found: Mapping[str, int]
    """Number of names in the replaced items, by kind."""
    lost: tuple[LostWord, ...] = field(repr=False)
    """The names that the next request no longer shows."""
    price: PriceProfile = field(repr=False)
    refetching: float
    """Estimated cost of fetching the needed names again, each source once."""
    fetches: int
    """Number of requests for fetching the needed names again."""
    undone: int | None = None
    """The first request, from 0, that shows the replaced items again; None where the compaction was not undone."""
    constraints: tuple[ReplacedConstraint, ...] = ()
    """The user's prohibitions and demands in the replaced items."""
    writer: SummarySession | None = None
    """The session that wrote the summary, where it is a session of the recording."""
    conversation: str = field(default="", repr=False)
    """A sentence on the tokens of the whole conversation before and after the compaction; empty where not recorded."""

    @property
    def needed_names(self) -> tuple[LostWord, ...]:
        """The lost names that a later answer used, the earliest first."""
        needed = (word for word in self.lost if word.needed)
        return tuple(sorted(needed, key=lambda word: word.needed))

    def lost_of(self, kind: str) -> tuple[LostWord, ...]:
        """Return the lost names of a kind."""
        return tuple(word for word in self.lost if word.kind == kind)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Sentences on the replaced items and lost names, with numbers."""
        noun = "item" if len(self.items) == 1 else "items"
        summary_text = f"a summary of ~{self.tokens_after:,.0f} tokens"
        sizes_text = f"~{self.tokens_before:,.0f} tokens) by {summary_text}"
        if not self.items:
            return (
                f"{self._position_text} compaction {self.number + 1} put {summary_text} first.",
                NOT_RECORDED_SENTENCE,
            )
        lines = [
            f"{self._position_text} compaction {self.number + 1} replaced {len(self.items)} {noun} ({sizes_text}."
        ]
        if self.conversation:
            lines.append(self.conversation)
        if not self.summary:
            lines.append(
                "The summary was never written, so what it would have kept is not known: the numbers are the most it can lose."
            )
        if self.writer is not None:
            writer = self.writer
            lines.append(
                f"The summary was written by session {writer.session}: {counted_noun(writer.requests, 'request')}, {writer.input:,} tokens "
                f"read, {writer.output:,} written, {amount_with_unit(writer.cost, self.price.unit, writer.basis)}."
            )
        loss_texts = [
            f"{len(self.lost_of(kind))} of {total:,} {kind}" for kind, total in self.found.items()
        ]
        lines.append(f"No longer shown: {', '.join(loss_texts) if loss_texts else 'no names'}.")
        if self.undone is not None:
            is_sent = self.undone < len(self.timeline.requests)
            request_text = f"request {self.undone + 1}" if is_sent else "the next request"
            lines.append(f"It was undone: {request_text} shows again what it replaced.")
        if not self.lost:
            return tuple(lines)
        return (*lines, self.needed_sentence, *self._constraint_sentence, *self._fetching_sentence)

    @property
    def _fetching_sentence(self) -> tuple[str, ...]:
        """The cost of fetching the needed names again, in a sentence; empty where none was needed."""
        if not self.fetches:
            return ()
        cost = amount_with_unit(self.refetching, self.price.unit, "estimate")
        requests_text = counted_noun(self.fetches, "request")
        return (f"To fetch them again would take {requests_text}, and cost {cost}: an estimate.",)

    @property
    def _position_text(self) -> str:
        if self.request >= len(self.timeline.requests):
            return "After the last request"
        return f"Before request {self.request + 1}"

    @property
    def needed_sentence(self) -> str:
        """A sentence on the lost names that later answers used."""
        needed_names = self.needed_names
        if not needed_names:
            return "No later answer used any of these."
        named_text = ", ".join(
            f"{word.name[:MAX_NAME_CHARS]} (request {word.needed[0] + 1})"
            for word in needed_names[:MAX_NEEDED_NAMES]
        )
        unnamed = len(needed_names) - MAX_NEEDED_NAMES
        further_text = f" and {unnamed:,} more" if unnamed > 0 else ""
        return f"Needed later: {len(needed_names):,} of them, {named_text}{further_text}."

    @cached_property
    def constraints_table(self) -> ReportTable:
        """The user's prohibitions and demands, the lost first, each with the later call that touches it."""
        lost_count = len(self.lost_of(CONSTRAINTS))
        title = f"Compaction {self.number + 1} under {self.policy}: {lost_count} of {counted_noun(len(self.constraints), 'constraint')} lost"
        return constraints_table(title, self.constraints)

    @property
    def _constraint_sentence(self) -> tuple[str, ...]:
        """A sentence on the first lost constraint; empty where none is lost."""
        first_lost_constraint = next(
            (entry for entry in self.constraints if not entry.is_kept), None
        )
        if first_lost_constraint is None:
            return ()
        call_text = ""
        if first_lost_constraint.call is not None:
            call_text = (
                f"; a call of request {first_lost_constraint.call + 1} holds one of its words"
            )
        quote_text = f"“{first_lost_constraint.sentence[:MAX_NAME_CHARS]}” of request {first_lost_constraint.shown_from + 1}"
        return (f"Lost of what a person demanded: {quote_text}{call_text}. {COMPARISON_NOTE}",)

    @cached_property
    def table(self) -> ReportTable:
        """The lost names, needed ones first, with the sentences below."""
        unneeded_names = [word for word in self.lost if not word.needed]
        listed_names = (*self.needed_names, *unneeded_names)[: MAX_NAMES_PER_KIND * len(LOST_KINDS)]
        needed_at = TableColumn("needed", "needed at request", "count")
        columns: tuple[ColumnSpec, ...] = (
            TableColumn("kind", "kind"),
            (TableColumn("name", "lost name"), lambda word: word.name[:MAX_NAME_CHARS]),
            (needed_at, lambda word: word.needed[0] + 1 if word.needed else None),
            (TableColumn("uses", "uses later", "count"), lambda word: len(word.needed)),
        )
        title = f"Compaction {self.number + 1} under {self.policy}: {len(self.lost):,} names lost"
        unlisted_count = len(self.lost) - len(listed_names)
        more_note = (
            (f"{unlisted_count:,} more names are not listed.",) if unlisted_count > 0 else ()
        )
        return table_of(title, columns, listed_names, (*self.sentences, *more_note))

    def json(self) -> dict[str, Any]:
        """Return the compaction as plain values; numbers count from 1."""
        return {
            "number": self.number + 1,
            "request": self.request + 1,
            "policy": self.policy,
            "items": [index + 1 for index in self.items],
            "summary": self.summary,
            "tokens_before": round(self.tokens_before),
            "tokens_after": round(self.tokens_after),
            "undone": None if self.undone is None else self.undone + 1,
            "constraints": self.constraints_table.records(),
            "writer": None if self.writer is None else self.writer._asdict(),
            "found": dict(self.found),
            "lost": [
                {
                    "name": word.name,
                    "kind": word.kind,
                    "needed": [index + 1 for index in word.needed],
                }
                for word in self.lost
            ],
            "refetching": round(self.refetching, 6),
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
    """A sentence for each summary that was requested and replaced nothing."""

    def __iter__(self) -> Iterator[CompactionLoss]:
        return iter(self.compactions)

    def __len__(self) -> int:
        return len(self.compactions)

    def __getitem__(self, index: int) -> CompactionLoss:
        return self.compactions[index]

    @cached_property
    def table(self) -> ReportTable:
        """The table with a row for each compaction."""
        unit = next((compaction.price.unit for compaction in self.compactions), "USD")
        about = f"{COMPARISON_NOTE} Of how many is in the JSON."
        tokens_before = TableColumn("tokens_before", "tokens before", "count", "estimate")
        tokens_after = TableColumn("tokens_after", "summary", "count", "estimate")
        cost_form: Form = "usd" if unit == "USD" else "count"
        columns: tuple[ColumnSpec, ...] = (
            (TableColumn("compaction", "compaction", "count"), lambda loss: loss.number + 1),
            (TableColumn("request", "request", "count"), lambda loss: loss.request + 1),
            (TableColumn("items", "items", "count"), lambda loss: len(loss.items)),
            (tokens_before, lambda loss: round(loss.tokens_before)),
            (tokens_after, lambda loss: round(loss.tokens_after)),
            *(
                (
                    TableColumn(kind, f"{kind} lost", "count", "", about),
                    lambda loss, kind=kind: len(loss.lost_of(kind)),
                )
                for kind in LOST_KINDS
            ),
            (TableColumn("needed", "needed later", "count"), lambda loss: len(loss.needed_names)),
            TableColumn("refetching", f"{unit} to refetch", cost_form, "estimate"),
        )
        notes = (*(loss.needed_sentence for loss in self), *self.failures)
        title = f"{counted_noun(len(self), 'compaction')} of {self.title} under {self.policy}"
        return table_of(title, columns, self.compactions, notes)

    def json(self) -> dict[str, Any]:
        """Return the compactions as plain values."""
        return {
            "policy": self.policy,
            "compactions": [compaction.json() for compaction in self.compactions],
            "failures": list(self.failures),
        }


def compaction_losses(
    simulation: Simulation,
    uses: NameUses,
    price: PriceProfile,
    writers: Mapping[str, SummarySession] = MappingProxyType({}),
) -> CompactionLosses:
    """Return the compactions of a replay, recorded or simulated, and the names that each lost.

    ``writers`` are the recorded sessions that wrote summaries, by their ids.
    """
    timeline = simulation.timeline
    summaries = sorted(
        [*_recorded_summaries(simulation), *_simulated_summaries(simulation)],
        key=lambda shown_summary: shown_summary.request,
    )
    losses = tuple(
        _compaction_loss(simulation, number, shown_summary, uses, price, writers)
        for number, shown_summary in enumerate(summaries)
    )
    title = timeline.title or timeline.session
    failures = tuple(_failure_sentences(timeline)) if simulation.policy_name == "recorded" else ()
    return CompactionLosses(title, simulation.policy_name, losses, failures)


def writer_ids_by_summary(timeline: Timeline) -> dict[str, str]:
    """Return the ids of the sessions that wrote summaries, by the id of the summary's message."""
    return {
        str(event.numbers.get("summary")): str(event.numbers[WRITTEN_BY])
        for event in timeline.events
        if event.kind == "compact" and event.numbers.get(WRITTEN_BY)
    }


def _failure_sentences(timeline: Timeline) -> Iterator[str]:
    """Yield a sentence for each recorded summary that failed or was stopped."""
    for event in timeline.events:
        if event.kind == "compact failed":
            is_sent = event.request < len(timeline.requests)
            position_text = (
                f"Before request {event.request + 1:,}" if is_sent else "After the last request"
            )
            ending = "was stopped" if event.numbers.get("error") == STOPPED else "failed"
            yield f"{position_text} a summary ({event.cause}) {ending}, so that it replaced nothing."


class _ShownSummary(NamedTuple):
    """A summary and the items that it replaced."""

    request: int
    """The first request that shows the summary."""
    covered_items: tuple[int, ...]
    summary_item: int
    """The item that is the summary, or in whose place the summary is shown."""
    is_item: bool
    """Whether ``summary_item`` is the summary itself."""
    undone_at: int | None = None
    """The first request that shows the replaced items again."""
    writer_id: str = ""
    """Id of the session that wrote the summary; empty where it is not known."""
    conversation_sentence: str = ""
    """A sentence on the tokens of the whole conversation before and after the compaction; empty where not recorded."""


def _recorded_summaries(simulation: Simulation) -> Iterator[_ShownSummary]:
    """Yield the session's own recorded summaries, one for each compaction; none for the replay of a policy."""
    timeline = simulation.timeline
    own_summary_ids: set[str] = set()
    undone_at_by_summary: dict[str, int] = {}
    sentence_by_summary: dict[str, str] = {}
    writer_ids = writer_ids_by_summary(timeline)
    for event in timeline.events:
        summary_id, numbers = str(event.numbers.get("summary")), event.numbers
        if event.kind == "compact":
            own_summary_ids.add(summary_id)
        elif event.kind == "undo" and numbers.get("back"):
            undone_at_by_summary.pop(summary_id, None)
        elif event.kind == "undo":
            undone_at_by_summary[summary_id] = event.request
        if "kept" in numbers:
            sentence_by_summary[summary_id] = conversation_size(
                numbers["before"], numbers["after"], numbers["kept"]
            )
    for item in timeline.items if simulation.policy_name == "recorded" else ():
        is_newest = item.entered >= len(timeline.requests)  # no request has its event yet
        if item.kind == "summary" and (item.message in own_summary_ids or is_newest):
            yield _ShownSummary(
                item.entered,
                item.covers,
                item.index,
                is_item=True,
                undone_at=undone_at_by_summary.get(item.message),
                writer_id=writer_ids.get(item.message, ""),
                conversation_sentence=sentence_by_summary.get(item.message, ""),
            )


def _simulated_summaries(simulation: Simulation) -> Iterator[_ShownSummary]:
    """Yield the summaries of a policy; each is shown in place of one of the replaced items."""
    transitions_by_request = (
        simulation.timeline.by_request if simulation.policy_name != "recorded" else {}
    )
    for request, transitions in transitions_by_request.items():
        summarised_transitions = [
            transition for transition in transitions if transition.state == "summarised"
        ]
        summary_item = next(
            (transition.item for transition in summarised_transitions if transition.tokens), None
        )
        if summary_item is not None:
            covered_items = tuple(sorted(transition.item for transition in summarised_transitions))
            yield _ShownSummary(request, covered_items, summary_item, is_item=False)


def _compaction_loss(
    simulation: Simulation,
    number: int,
    shown_summary: _ShownSummary,
    uses: NameUses,
    price: PriceProfile,
    writers: Mapping[str, SummarySession],
) -> CompactionLoss:
    timeline, is_recorded = simulation.timeline, simulation.policy_name == "recorded"
    replaced_items = _covered_items(simulation, shown_summary.request, shown_summary.covered_items)
    text_of = partial(shown_text, timeline, is_recorded=is_recorded)
    texts = [*map(text_of, replaced_items)]
    summary, tokens = _summary_and_tokens(simulation, shown_summary)
    other_texts = [
        text_of(shown_item)
        for shown_item in items_at(simulation, shown_summary.request)
        if shown_item.item.index != shown_summary.summary_item
    ]
    replaced_prompts = [
        text
        for shown_item, text in zip(replaced_items, texts, strict=True)
        if is_user_text(timeline, shown_item.item)
    ]
    lost_words = lost_names(texts, summary, other_texts, user_texts=replaced_prompts)
    requests_by_name = {
        name: tuple(
            using_request
            for using_request, source_items in uses.get(name, ())
            if shown_summary.request <= using_request
            and (shown_summary.undone_at is None or using_request < shown_summary.undone_at)
            and not _is_shown_again(
                timeline, shown_summary.request, using_request, name, source_items
            )
        )
        for name in lost_words.kind_by_name
    }
    first_need_by_item = _items_to_fetch(replaced_items, texts, requests_by_name)
    lost_constraints = frozenset(lost_words.names_of_kind(CONSTRAINTS))
    return CompactionLoss(
        timeline=timeline,
        number=number,
        request=shown_summary.request,
        policy=simulation.policy_name,
        items=tuple(shown_item.item.index for shown_item in replaced_items),
        item_tokens=tuple(shown_item.tokens for shown_item in replaced_items),
        summary=summary,
        tokens_before=sum(shown_item.tokens for shown_item in replaced_items),
        tokens_after=tokens,
        found=lost_words.counts_by_kind,
        lost=tuple(
            LostWord(name, kind, requests_by_name[name])
            for name, kind in lost_words.kind_by_name.items()
        ),
        price=price,
        refetching=sum(
            fetch_cost(simulation, request_of_use, item, price)
            for item, request_of_use in first_need_by_item.items()
        ),
        fetches=len(first_need_by_item),
        undone=shown_summary.undone_at,
        constraints=replaced_constraints(
            timeline, shown_summary.request, replaced_items, lost_constraints
        ),
        writer=writers.get(shown_summary.writer_id),
        conversation=shown_summary.conversation_sentence,
    )


def _is_shown_again(
    timeline: Timeline, request: int, using_request: int, name: str, source_items: Iterable[int]
) -> bool:
    """Return whether a lost name was shown again, from a request on, before an answer used it.

    Where the name is hidden again by then, another compaction lost it.
    """
    for source_item in source_items:
        entered = timeline.items[source_item].entered
        for shown_at in (entered, using_request) if request <= entered else (using_request,):
            if shows_name(timeline, source_item, shown_at, name):
                return True
    return False


def _items_to_fetch(
    replaced_items: Sequence[ShownItem],
    texts: Iterable[str],
    requests_by_name: Mapping[str, Sequence[int]],
) -> dict[int, int]:
    """Return the newest item with each needed name, and the first request that needed it."""
    first_use_by_name = {
        name: requests[0] for name, requests in requests_by_name.items() if requests
    }
    newest_item_by_name: dict[str, int] = {}
    for shown_item, text in zip(replaced_items, texts, strict=True) if first_use_by_name else ():
        newest_item_by_name |= {
            name: shown_item.item.index for _, name in names_of(text) if name in first_use_by_name
        }
    first_need_by_item: dict[int, int] = {}
    for name, item in newest_item_by_name.items():
        first_need_by_item[item] = min(
            first_use_by_name[name], first_need_by_item.get(item, first_use_by_name[name])
        )
    return first_need_by_item


def _covered_items(
    simulation: Simulation, request: int, covered_indexes: Sequence[int]
) -> tuple[ShownItem, ...]:
    """Return the covered items as the request would have shown them without the compaction."""
    factor = simulation.ruler.factor
    return tuple(
        ShownItem(item, transition, tokens * factor)
        for item, transition, tokens in items_with_tokens(simulation, covered_indexes, request - 1)
        if tokens
    )


def _summary_and_tokens(simulation: Simulation, shown_summary: _ShownSummary) -> tuple[str, float]:
    """Return the text of a summary, empty where there is none, and its tokens."""
    timeline, ruler = simulation.timeline, simulation.ruler
    if shown_summary.is_item:
        tokens = timeline.weights(ruler.estimator)[shown_summary.summary_item]
        return timeline.read(shown_summary.summary_item), tokens * ruler.factor
    transition = timeline.transition_at(shown_summary.summary_item, shown_summary.request)
    if transition is None:
        return "", 0
    return transition.shown or "", (transition.tokens or 0) * ruler.factor
