"""The timeline of a session: items, requests and what each request showed of each item.

One form for every session, recorded here, imported or simulated; nothing that reads it asks where it came
from. Items are numbered in the order of their first appearance and never renumbered; requests likewise.
What a request shows is not stored as a table: an item is whole from the request at which it entered,
until a transition says otherwise.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, NamedTuple, TypeVar

from palimpsest.transcript.context_values.request_items import ItemState as ItemState
from palimpsest.transcript.growing_lists import GrownColumns, common_beginning
from palimpsest.transcript.values import Price, Usage

T = TypeVar("T")

TIMELINE_VERSION = 4
STOPPED = "aborted"
"""The ``error`` of an event ``compact failed`` whose summary was stopped by a person or by the end of the kernel."""
ASKED_FOR = ("model", "prompt", "serialize")
"""What of a policy's ``compact`` tells how a summary is asked for; events hold what is not the default."""
WRITTEN_BY = "written_by"
"""In the numbers of an event ``compact``: the recorded session whose request wrote the summary."""
CHARS4 = "chars/4"
"""The estimator of most agents: four characters are a token, rounded up for each message."""

GONE_STATES: frozenset[ItemState] = frozenset({"out", "reverted", "summarised"})
"""States in which an item is not in the request; what a summary takes is counted at the first item it covers."""
Seen = Literal["exact", "rebuilt", "partial"]
"""How a request is known: as it was sent, from the messages before it, or in part."""
RequestStatus = Literal["ok", "aborted", "refused"]
EventKind = Literal["prune", "compact", "compact failed", "undo", "fork", "model", "effort", "idle"]
"""``compact failed``: a summary was asked for, and none came that could be used, so that nothing was replaced."""


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
    is_error: bool = False
    covers: tuple[int, ...] = ()
    """Of a summary: the items that it replaced."""
    before: int | None = None
    """The item in front of which it stands, if that is not its own place: a summary stands where the first
    item was that it replaced, system prompt and tools stand in front of all (0)."""
    pinned: bool = False
    input_hash: str = ""
    """Of a call: digest of its tool and input, with keys sorted and blanks at the ends removed."""
    by_program: bool = False
    """The agent's program wrote it in the user's place: a reminder, a note that a task has ended, what a mentioned file holds."""
    continues: bool = False
    """The engine wrote it to go on after a recorded summary; another policy would not have had it."""


class Terms(NamedTuple):
    """What the price of a request depends on beside its tokens."""

    model: str = ""
    service_tier: str = ""


STANDARD = Terms()
"""Of a request of which nothing is known: the session's price, the provider's standard tier."""


@dataclass(frozen=True, slots=True)
class TimelineRequest:
    """One model call of the session's own turns."""

    index: int
    id: str
    """Of the answer's message in the log."""
    turn: int
    items: int
    """How many items existed when it was sent: it could show those numbered below."""
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
    """Why less of the prompt was cached than of the request before, as the provider itself said it: one of its words."""
    window: int = 0
    """0 where no limit is known."""
    reserve: int = 0
    price: Price | None = None
    status: RequestStatus = "ok"
    seen: Seen = "rebuilt"
    usage: Usage | None = None
    """As reported; None where nothing was."""
    cost: float | None = None
    """US dollars, as recorded or from the price; None where unknown."""
    listed: bool = False
    """``cost`` is the reported usage at the prices of a list, and so an estimate: the recording has none, or only by the name
    of a model behind a gateway."""
    purpose: str = "step"
    system_hash: str = ""
    tools_hash: str = ""
    output_limit: int = 0
    """Tokens of the model's longest answer; 0 where it is not known."""
    input_limit: int | None = None
    caching: bool | None = None
    """The provider caches prompts of this model; None where it is not known."""
    overflowed: bool = False
    """The provider refused it as too long."""
    estimator: str = ""
    """How the engine counted it when it was sent; empty where it was not sent by us."""
    estimated: int = 0
    """The engine's own count of it."""
    calibration: float = 1.0
    """Ratio of reported to estimated tokens, as the engine knew it then."""
    assumed: Usage | None = None
    """The engine's own estimate of its usage, where nothing was reported."""

    @property
    def terms(self) -> Terms:
        """What its price depends on beside its tokens."""
        return Terms(self.model, (self.usage.service_tier or "") if self.usage is not None else "")

    @property
    def reported(self) -> int | None:
        """Tokens of the whole prompt, as reported."""
        return self.usage.prompt if self.usage is not None and self.usage.prompt else None

    def seconds_since(self, before: "TimelineRequest | None") -> float | None:
        """Return the seconds since another request ended; None where they are not known."""
        end = None if before is None else before.ended or before.started
        return None if end is None or self.started is None else (self.started - end) / 1000


@dataclass(frozen=True, slots=True)
class Transition:
    """From this request on an item is shown in another state."""

    item: int
    request: int
    state: ItemState
    tokens: int | None = None
    """Tokens of what is shown instead, by the estimator of whoever decided; None where it is not known."""
    chars: int = 0
    """Characters of what is shown instead."""
    rule: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    shown: str | None = None
    """The text that stands in its place, where it is short or known."""


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """Something that happened to the context as a whole."""

    request: int
    """The first request that it affects."""
    kind: EventKind
    cause: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)


class RecordedTotals(NamedTuple):
    """What a recording tells of its session as a whole, counted by the agent that recorded it; None where it does not."""

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
    """What is decided already for the request that comes next."""
    events: tuple[TimelineEvent, ...] = ()
    parent: str | None = None
    started_by: str | None = None
    """The parent's call that began it as a subagent."""
    subagents: Mapping[str, str] = field(default_factory=dict)
    """Sessions that its calls began or resumed, by the calls' ids, as far as the calls say so; and those whose
    words a message brought, by the message's id."""
    gaps: tuple[str, ...] = ()
    """What the recording lacks, a sentence each."""
    recorded_totals: RecordedTotals = NO_TOTALS
    """Facts about all requests together, beside those of single requests."""
    unread: tuple[str, ...] = ()
    """What of the recording could not be read when it was imported, a sentence each; they name files."""
    read: Callable[[int], str] = field(default=lambda _index: "", repr=False, compare=False)
    """Returns the whole text of an item; for a call its name and input."""
    count: Callable[[str], Callable[[str], int]] | None = field(
        default=None, repr=False, compare=False
    )
    """Returns the counter of an estimator; None where only characters can be counted."""
    version: int = TIMELINE_VERSION
    facts_until: int | None = None
    """Of a simulated one: the first request that differs from the recorded; what follows is an estimate."""
    earlier: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)
    """What was made of the same session when it was shorter, by name: what is made of this one goes on from it,
    as far as it begins alike. Empty where nothing was; a session that grows hands it on."""
    _weights: dict[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)
    _derived: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)
    _of_items: dict[str, tuple[Any, int, Any]] = field(
        default_factory=dict, repr=False, compare=False
    )

    def derived(self, name: str, make: Callable[["Timeline"], T]) -> T:
        """Return what is made of this timeline under a name; made once, so it may depend on nothing else."""
        if name not in self._derived:
            self._derived[name] = make(self)
        found: T = self._derived[name]
        return found

    def of_items(self, name: str, make: Callable[["Timeline"], T]) -> T:
        """Return what is made of items and answers alone under a name; simulated timelines share it."""
        kept = self._of_items.get(name)
        if kept is None or kept[0] is not self.items or kept[1] != len(self.requests):
            kept = self._of_items[name] = (self.items, len(self.requests), make(self))
        found: T = kept[2]
        return found

    def weights(self, estimator: str = CHARS4) -> tuple[int, ...]:
        """Return each item's tokens, whole, by an estimator; counted once."""
        known = self._weights.get(estimator)
        if known is None:
            known = self._weights[estimator] = tuple(self._weigh(estimator))
        return known

    @property
    def counted(self) -> Mapping[str, tuple[int, ...]]:
        """The weights that were counted so far, by estimator."""
        return self._weights

    def _weigh(self, estimator: str) -> list[int]:
        if estimator == CHARS4 or self.count is None:
            return self._quarters()
        count = self.count(estimator)
        known: dict[str, int] = self.earlier.setdefault(f"tokens by {estimator}", {})
        found = []
        for item in self.items:
            tokens = known.get(item.hash) if item.hash else None
            if tokens is None:
                text = self.read(item.index) if item.text == "kept" else ""
                tokens = count(text) if text else -(-item.chars // 4)
                known[item.hash] = tokens
            found.append(tokens)
        return found

    def _quarters(self) -> list[int]:
        """Return a quarter of each item's characters, so rounded that a message is rounded up once."""
        weights: list[int]
        items, weights = self.earlier.get("quarters", ((), []))
        kept = common_beginning(items, self.items)
        while kept > 0 and (
            kept == len(self.items) or self.items[kept - 1].block == self.items[kept].block
        ):
            # The message may go on.
            kept -= 1
        found, block, chars, tokens = weights[:kept], -1, 0, 0
        for item in self.items[kept:]:
            if item.block != block:
                block, chars, tokens = item.block, 0, 0
            chars += item.chars
            found.append(-(-chars // 4) - tokens)
            tokens = -(-chars // 4)
        self.earlier["quarters"] = self.items, found
        return found

    @cached_property
    def order(self) -> Sequence[int]:
        """The items as a request that holds all of them does."""
        count = len(self.items)
        moved = [
            (one.before, one.index)
            for one in self.items
            if one.before is not None and one.before != one.index
        ]
        if not moved:
            return range(count)
        others: list[int] = []
        at = 0
        for index in sorted(index for _, index in moved):
            others.extend(range(at, index))
            at = index + 1
        others.extend(range(at, count))
        found: list[int] = []
        at = 0
        for before, index in sorted(moved):
            place = bisect_left(others, before)
            found.extend(others[at:place])
            at = place
            found.append(index)
        found.extend(others[at:])
        return range(count) if found == [*range(count)] else tuple(found)

    @cached_property
    def ranks(self) -> Sequence[int]:
        """Each item's place in a request that holds all of them."""
        order = self.order
        if isinstance(order, range):
            return order
        found = [0] * len(order)
        for rank, index in enumerate(order):
            found[index] = rank
        return found

    @cached_property
    def by_request(self) -> Mapping[int, Sequence[Transition]]:
        """Transitions by the request from which on they hold."""
        found: dict[int, list[Transition]] = {}
        for one in self.transitions:
            found.setdefault(one.request, []).append(one)
        return found

    @cached_property
    def by_item(self) -> Mapping[int, Sequence[Transition]]:
        """Transitions of each item that has some, in the order of requests."""
        known, before = self.earlier.get("by item", ((), {}))
        kept = common_beginning(known, self.transitions)
        found: dict[int, Sequence[Transition]] = {}
        if kept:
            found = dict(before)
            for one in known[kept:]:
                found[one.item] = found[one.item][:-1]
            for one in self.transitions[kept:]:
                found[one.item] = [*found.get(one.item, ()), one]
        else:
            lists: dict[int, list[Transition]] = {}
            for one in self.transitions:
                lists.setdefault(one.item, []).append(one)
            found.update(lists)
        self.earlier["by item"] = self.transitions, found
        return found

    def at(self, item: int, request: int) -> Transition | None:
        """Return the transition that holds for an item at a request; None while it is whole."""
        those = self.by_item.get(item)
        if not those:
            return None
        place = bisect_right(those, request, key=lambda one: one.request)
        found = those[place - 1] if place else None
        return None if found is None or found.state == "whole" else found

    def state(self, item: int, request: int) -> ItemState | None:
        """Return what a request showed of an item; None where it did not exist yet."""
        if item >= self.requests[request].items:
            return None
        found = self.at(item, request)
        return "whole" if found is None else found.state

    @cached_property
    def reported(self) -> tuple[int | None, ...]:
        """Tokens of each request's whole prompt, as reported."""
        grown: GrownColumns = self.earlier.setdefault("reported", GrownColumns())
        found: tuple[int | None, ...] = grown.of(
            self.requests, {"prompt": lambda one: one.reported}
        )["prompt"]
        return found

    @cached_property
    def _unreported(self) -> tuple[TimelineRequest, ...]:
        """The requests without what was reported of them."""
        return tuple(replace(one, usage=None, cost=None, listed=False) for one in self.requests)

    def with_transitions(
        self,
        transitions: Sequence[Transition],
        facts_until: int | None,
        earlier: dict[str, Any] | None = None,
    ) -> "Timeline":
        """Return a simulated timeline with the same items; from the first other request on no usage is known.

        ``earlier`` is that of the same policy's timeline before, where there is one.
        """
        until = len(self.requests) if facts_until is None else facts_until
        return replace(
            self,
            requests=self.requests
            if until >= len(self.requests)
            else (*self.requests[:until], *self._unreported[until:]),
            transitions=tuple(transitions),
            events=tuple(one for one in self.events if one.request < until),
            facts_until=facts_until,
            earlier={} if earlier is None else earlier,
            _weights=self._weights,
            _of_items=self._of_items,
        )
