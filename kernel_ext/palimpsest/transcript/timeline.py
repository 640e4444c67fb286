"""The timeline of a session: items, requests and what each request showed of each item.

All sessions have this form, recorded here, imported or simulated, and readers do not distinguish them. Items
are numbered in the order of their first appearance and never renumbered; requests likewise. The contents of a
request are not stored as a table: an item is whole from its first request on, until a transition changes it.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal, NamedTuple, TypeVar

from palimpsest.direct_init import with_direct_init
from palimpsest.transcript.context_values.request_items import ItemState as ItemState
from palimpsest.transcript.growing_lists import GrownColumns, common_beginning
from palimpsest.transcript.values import CHARS_PER_TOKEN, Price, Usage

T = TypeVar("T")
TIMELINE_VERSION = 5
STOPPED = "aborted"
"""The ``error`` of an event ``compact failed`` whose summary was stopped by the user or by the end of the kernel."""
ASKED_FOR = ("model", "prompt", "serialize")
"""The fields of a policy's ``compact`` that shape the summary request; events hold only values that are not the default."""
WRITTEN_BY = "written_by"
"""Key in the numbers of an event ``compact``: the recorded session whose request wrote the summary."""
COPIED = "copied"
"""Key in the recorded facts of a message that another session holds too; its request is counted in that session."""
CHARS4 = "chars/4"
"""The estimator of most agents: four characters are a token, rounded up for each message."""
SECTION_KINDS = frozenset({"system", "tools"})
"""Kinds of the items that come before a conversation; their hashes show that they changed."""
GONE_STATES: frozenset[ItemState] = frozenset({"out", "reverted", "summarised"})
"""States in which an item is not in the request; a summary's tokens are counted at the first item it covers."""
Seen = Literal["exact", "captured", "rebuilt", "partial"]
"""Source of a request's contents: as it was sent, in part from a capture of what was sent (system prompt, tools and cache
marks), rebuilt from the messages before it, or known in part."""
RequestStatus = Literal["ok", "aborted", "refused"]
EventKind = Literal["prune", "compact", "compact failed", "undo", "fork", "model", "effort", "idle"]
"""``compact failed``: a requested summary failed or was unusable, so that nothing was replaced."""


@with_direct_init
@dataclass(frozen=True, slots=True)
class TimelineItem:
    """A piece of the context: a section of the system prompt, a text, a call, a result, a summary."""

    index: int
    id: str
    """``message/part`` in the session's log, with ``/result`` for the result of a call."""
    kind: str
    """One of the kinds of the window's gauge, or ``call``, ``media``, ``summary``."""
    message: str
    """Id of its message in the log; empty for system prompt and tools."""
    turn: int
    """The prompt to which it belongs, from 1; 0 before the first."""
    entered: int
    """The first request that could show it."""
    chars: int
    label: str = ""
    """At most 80 characters: its first line, or the subject of a call."""
    tool: str = ""
    group: str = ""
    """Id that a call and its result share."""
    block: int = 0
    """Number of the provider's message that holds it: the cache is kept by whole messages."""
    hash: str = ""
    """Digest of its content, the same for equal contents."""
    text: Literal["kept", "none", "encrypted", "not recorded"] = "kept"
    created: int | None = None
    """Milliseconds since 1970; None where it is not recorded."""
    is_error: bool = False
    covers: tuple[int, ...] = ()
    """The items that a summary replaced; empty for other items."""
    before: int | None = None
    """The item before which it is sent, where that is not its own place: a summary is sent in place of the
    first item that it replaced, system prompt and tools before all others (0)."""
    pinned: bool = False
    input_hash: str = ""
    """Digest of a call's tool and input, with keys sorted and blanks at the ends removed; empty for other items."""
    by_program: bool = False
    """Whether the agent's program wrote it as the user: a reminder, a note on a finished task, a mentioned file's text."""
    continues: bool = False
    """Whether the engine wrote it to continue after a recorded summary; under another policy it would not exist."""


class Terms(NamedTuple):
    """The terms that a request's price depends on beside its tokens."""

    model: str = ""
    service_tier: str = ""


STANDARD = Terms()
"""Terms of a request without known terms: the session's price, the provider's standard tier."""
_known_terms = lru_cache(maxsize=256)(Terms)


@with_direct_init
@dataclass(frozen=True, slots=True)
class TimelineRequest:
    """One model call of the session's own turns."""

    index: int
    id: str
    """Id of the answer's message in the log."""
    turn: int
    items: int
    """Number of items that existed when it was sent: it could show all items with a smaller index."""
    answer: tuple[int, int] = (0, 0)
    """The items of its answer, as a range; empty where nothing was answered."""
    started: int | None = None
    """Milliseconds since 1970."""
    ended: int | None = None
    model: str = ""
    effort: str = ""
    client: str = ""
    """Version of the program that sent it; empty where it is not recorded."""
    cache_miss: str = ""
    """The provider's own reason why less of the prompt was cached than of the request before."""
    window: int = 0
    """Tokens of the window; 0 where no limit is known."""
    reserve: int = 0
    price: Price | None = None
    status: RequestStatus = "ok"
    seen: Seen = "rebuilt"
    usage: Usage | None = None
    """The reported usage; None where none was reported."""
    cost: float | None = None
    """US dollars, as recorded or from the price; None where unknown."""
    listed: bool = False
    """Whether ``cost`` is an estimate by list prices, since the recording has no cost or a gateway serves the model."""
    purpose: str = "step"
    system_hash: str = ""
    tools_hash: str = ""
    output_limit: int = 0
    """Tokens of the model's longest answer; 0 where it is not known."""
    input_limit: int | None = None
    cache_marks: tuple[str, ...] = ()
    """The places after which the client asked for the prompt to be cached, in words, where they are recorded."""
    mark_items: tuple[int, ...] = ()
    """For each of ``cache_marks`` the item that it stands after; -1 where that is not known."""
    caching: bool | None = None
    """Whether the provider caches prompts of this model; None where it is not known."""
    overflowed: bool = False
    """Whether the provider refused it as too long."""
    estimator: str = ""
    """The estimator by which the engine counted it when it was sent; empty in another agent's recording."""
    estimated: int = 0
    """Tokens of the request by that estimator."""
    calibration: float = 1.0
    """Ratio of reported to estimated tokens, as the engine knew it then."""
    assumed: Usage | None = None
    """The engine's own estimate of its usage, where nothing was reported."""

    @property
    def terms(self) -> Terms:
        """The terms that its price depends on beside its tokens."""
        tier = "" if self.usage is None else self.usage.service_tier or ""
        return _known_terms(self.model, tier)

    @property
    def reported(self) -> int | None:
        """Tokens of the whole prompt, as reported."""
        usage = self.usage
        if usage is None:
            return None
        # As ``Usage.prompt``, but without the call: it is asked for twenty times of each request.
        return usage.input + usage.cache_read + usage.cache_write or None

    def changed_sections(
        self, other_request: "TimelineRequest"
    ) -> tuple[Literal["tools", "system prompt"], ...]:
        """Return which of tools and system prompt differ from another request's, where both are known."""
        old_tools, old_system = other_request.tools_hash, other_request.system_hash
        if self.tools_hash == old_tools and self.system_hash == old_system:
            return ()
        sections: tuple[tuple[Literal["tools", "system prompt"], str, str], ...] = (
            ("tools", old_tools, self.tools_hash),
            ("system prompt", old_system, self.system_hash),
        )
        return tuple(name for name, old, new in sections if old and new and old != new)

    def seconds_since(self, other_request: "TimelineRequest | None") -> float | None:
        """Return the seconds since another request ended; None where they are not known."""
        end = None if other_request is None else other_request.ended or other_request.started
        return None if end is None or self.started is None else (self.started - end) / 1000


@with_direct_init
@dataclass(frozen=True, slots=True)
class Transition:
    """From this request on an item is shown in another state."""

    item: int
    request: int
    state: ItemState
    tokens: int | None = None
    """Tokens of the text shown instead, by the decider's estimator; None where unknown."""
    chars: int = 0
    """Characters of the text shown instead."""
    rule: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    shown: str | None = None
    """The text shown instead, where it is short or known."""


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """An event that affects the whole context, such as a compaction."""

    request: int
    """The first request that it affects."""
    kind: EventKind
    cause: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


class RecordedTotals(NamedTuple):
    """Totals of the session as counted by the agent that recorded it; None where the recording has none."""

    cost: float | None = None
    """US dollars."""
    input: int | None = None
    """Tokens of all prompts together."""
    cached: int | None = None
    """Of these, read from the provider's cache."""
    output: int | None = None
    requests: int | None = None


NO_TOTALS = RecordedTotals()


@dataclass(frozen=True)
class Timeline:
    """A session as items, requests, transitions and events."""

    session: str
    title: str = ""
    origin: str = "palimpsest"
    """The agent that recorded it: ``palimpsest``, or the name of a format."""
    items: tuple[TimelineItem, ...] = ()
    requests: tuple[TimelineRequest, ...] = ()
    transitions: tuple[Transition, ...] = ()
    """In the order of requests."""
    coming: tuple[Transition, ...] = field(default=(), compare=False)
    """Transitions that are decided already for the next request."""
    events: tuple[TimelineEvent, ...] = ()
    parent: str | None = None
    started_by: str | None = None
    """The parent's call that began it as a subagent."""
    subagents: Mapping[str, str] = field(default_factory=dict)
    """Sessions that its calls began or resumed, by call id, as far as the calls record it; and sessions whose
    answer a message brought, by message id."""
    gaps: tuple[str, ...] = ()
    """Sentences on what the recording lacks."""
    recorded_totals: RecordedTotals = NO_TOTALS
    """Recorded totals of all requests, besides the facts of single requests."""
    unread: tuple[str, ...] = ()
    """Parts of the recording that could not be imported, a sentence each; they name files."""
    read: Callable[[int], str] = field(default=lambda _index: "", repr=False, compare=False)
    """Returns the whole text of an item; for a call its name and input."""
    count: Callable[[str], Callable[[str], int]] | None = field(
        default=None, repr=False, compare=False
    )
    """Returns the counter of an estimator; None where only characters can be counted."""
    version: int = TIMELINE_VERSION
    facts_until: int | None = None
    """In a simulated timeline, the first request that differs from the recorded one; from it on all is an estimate."""
    earlier: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """Values computed from the same session when it was shorter, by name: computations continue from these, as far
    as both sessions begin alike. A growing session hands them on."""
    _weights: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)
    _derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _of_items: dict[str, tuple[Any, int, Any]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def derived_value(self, name: str, compute: Callable[["Timeline"], T]) -> T:
        """Return a cached value computed from this timeline alone, by name."""
        if name not in self._derived:
            self._derived[name] = compute(self)
        value: T = self._derived[name]
        return value

    def of_items(self, name: str, compute: Callable[["Timeline"], T]) -> T:
        """Return a cached value computed from items and answers alone, by name; simulated timelines share it."""
        cached = self._of_items.get(name)
        if cached is None or cached[0] is not self.items or cached[1] != len(self.requests):
            cached = self._of_items[name] = (self.items, len(self.requests), compute(self))
        value: T = cached[2]
        return value

    def weights(self, estimator: str = CHARS4) -> tuple[int, ...]:
        """Return each item's tokens, unreduced, by an estimator; counted once."""
        weights = self._weights.get(estimator)
        if weights is None:
            weights = self._weights[estimator] = tuple(self._count_weights(estimator))
        return weights

    @property
    def counted_weights(self) -> Mapping[str, tuple[int, ...]]:
        """The weights that were counted so far, by estimator."""
        return self._weights

    def _count_weights(self, estimator: str) -> list[int]:
        if estimator == CHARS4 or self.count is None:
            return self._quarters()
        count = self.count(estimator)
        tokens_by_text: dict[str, int] = self.earlier.setdefault(f"tokens by {estimator}", {})
        weights = []
        for item in self.items:
            tokens = tokens_by_text.get(item.hash) if item.hash else None
            if tokens is None:
                text = self.read(item.index) if item.text == "kept" else ""
                tokens = count(text) if text else -(-item.chars // CHARS_PER_TOKEN)
                tokens_by_text[item.hash] = tokens
            weights.append(tokens)
        return weights

    def _quarters(self) -> list[int]:
        """Return a quarter of each item's characters, so rounded that a message is rounded up once."""
        weights: list[int]
        items, weights = self.earlier.get("quarters", ((), []))
        unchanged_count = common_beginning(items, self.items)
        while unchanged_count > 0 and (
            unchanged_count == len(self.items)
            or self.items[unchanged_count - 1].block == self.items[unchanged_count].block
        ):
            # The message may have grown.
            unchanged_count -= 1
        quarters, block, chars, tokens = weights[:unchanged_count], -1, 0, 0
        for item in self.items[unchanged_count:]:
            if item.block != block:
                block, chars, tokens = item.block, 0, 0
            chars += item.chars
            quarters.append(-(-chars // CHARS_PER_TOKEN) - tokens)
            tokens = -(-chars // CHARS_PER_TOKEN)
        self.earlier["quarters"] = self.items, quarters
        return quarters

    @cached_property
    def sent_order(self) -> Sequence[int]:
        """The items in the order of a request with all of them."""
        own_order = range(len(self.items))
        moved_items = [
            (item.index, item.before)
            for item in self.items
            if item.before is not None and item.before != item.index
        ]
        if not moved_items:
            return own_order
        # Items have odd numbers in their own order; a moved one comes just before the item that it names.
        sort_keys = [*range(1, 2 * len(self.items), 2)]
        for index, before in moved_items:
            sort_keys[index] = 2 * before
        order = sorted(own_order, key=sort_keys.__getitem__)
        return own_order if order == [*own_order] else tuple(order)

    @cached_property
    def ranks(self) -> Sequence[int]:
        """Each item's place in ``sent_order``."""
        order = self.sent_order
        if isinstance(order, range):
            return order
        ranks = [0] * len(order)
        for rank, index in enumerate(order):
            ranks[index] = rank
        return ranks

    @cached_property
    def by_request(self) -> Mapping[int, Sequence[Transition]]:
        """Transitions by the request at which they begin."""
        transitions: dict[int, list[Transition]] = {}
        for transition in self.transitions:
            transitions.setdefault(transition.request, []).append(transition)
        return transitions

    @cached_property
    def by_item(self) -> Mapping[int, Sequence[Transition]]:
        """Transitions of each item that has some, in the order of requests."""
        known_transitions, transitions_before = self.earlier.get("by item", ((), {}))
        unchanged_count = common_beginning(known_transitions, self.transitions)
        transitions: dict[int, Sequence[Transition]] = {}
        if unchanged_count:
            transitions = dict(transitions_before)
            for transition in known_transitions[unchanged_count:]:
                transitions[transition.item] = transitions[transition.item][:-1]
                if not transitions[transition.item]:
                    del transitions[transition.item]
            for transition in self.transitions[unchanged_count:]:
                transitions[transition.item] = [*transitions.get(transition.item, ()), transition]
        else:
            transitions_by_item: dict[int, list[Transition]] = {}
            for transition in self.transitions:
                transitions_by_item.setdefault(transition.item, []).append(transition)
            transitions.update(transitions_by_item)
        self.earlier["by item"] = self.transitions, transitions
        return transitions

    def transition_at(self, item: int, request: int) -> Transition | None:
        """Return the transition in effect for an item at a request; None while it is whole."""
        transitions = self.by_item.get(item)
        if not transitions:
            return None
        position = bisect_right(transitions, request, key=lambda transition: transition.request)
        newest = transitions[position - 1] if position else None
        return None if newest is None or newest.state == "whole" else newest

    def state(self, item: int, request: int) -> ItemState | None:
        """Return the state of an item in a request; None where it did not exist yet."""
        if item >= self.requests[request].items:
            return None
        transition = self.transition_at(item, request)
        return "whole" if transition is None else transition.state

    @cached_property
    def reported(self) -> tuple[int | None, ...]:
        """Tokens of each request's whole prompt, as reported."""
        grown: GrownColumns = self.earlier.setdefault("reported", GrownColumns())
        counts: tuple[int | None, ...] = grown.grown_columns(
            self.requests, {"prompt": lambda request: request.reported}
        )["prompt"]
        return counts

    @cached_property
    def _unreported(self) -> tuple[TimelineRequest, ...]:
        """The requests without their reported usage and cost."""
        return tuple(
            replace(request, usage=None, cost=None, listed=False) for request in self.requests
        )

    def with_transitions(
        self,
        transitions: Sequence[Transition],
        facts_until: int | None,
        earlier: dict[str, Any] | None = None,
    ) -> "Timeline":
        """Return a simulated timeline with the same items; from ``facts_until`` on no usage is known.

        ``earlier`` are the cached values of the same policy's previous timeline, where there is one.
        """
        requests, until = self.requests, facts_until
        if until is None:
            until = len(requests)
        elif until < len(requests):
            requests = (*requests[:until], *self._unreported[until:])
        return replace(
            self,
            requests=requests,
            transitions=tuple(transitions),
            events=tuple(event for event in self.events if event.request < until),
            facts_until=facts_until,
            earlier={} if earlier is None else earlier,
            _weights=self._weights,
            _of_items=self._of_items,
        )
