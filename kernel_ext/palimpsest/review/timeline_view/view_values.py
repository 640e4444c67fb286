"""The values that every view of a timeline is drawn from: one schema for cell, tab, report and file.

Items and requests are columns: lists of equal length, in which the index is the number, from 0. States are not stored
as a table: an item is whole from the request at which it entered until a transition of the track changes that. Tokens
are by the ruler's estimator; a reader multiplies by its factor. Texts are fetched separately.
"""

from palimpsest.context_policies.prompt_cache.ruler import PriceProfile
from palimpsest.review.request_contents.tool_definitions import DefinitionChange
from palimpsest.review.session_notes.note_places import FoundPlace
from palimpsest.review.tables.figures import PolicyFigures, Waste, WasteKind
from palimpsest.transcript.session_record.notes import Note
from palimpsest.transcript.timeline import EventKind, ItemState, RequestStatus, Seen
from palimpsest.transcript.values import Value

VIEW_VERSION = 2
"""Version of the schema; a reader rejects a newer one in one sentence."""


class ItemColumns(Value):
    """The items of a session, in the order of their first appearance."""

    id: tuple[str, ...]
    """``message/part``, with ``/result`` for the result of a call; the user pins or restores parts."""
    kind: tuple[int, ...]
    """Indexes in ``TimelineView.kinds``."""
    label: tuple[str, ...]
    """At most 80 characters; data, not markup."""
    tool: tuple[str, ...]
    turn: tuple[int, ...]
    entered: tuple[int, ...]
    """The first request that could show it."""
    tokens: tuple[int, ...]
    """Tokens of the whole item, by the ruler's estimator."""
    block: tuple[int, ...]
    """Number of the provider's message that contains it: the cache stores whole messages."""
    partner: tuple[int, ...]
    """For a call its result, for a result its call; -1 where there is none."""
    errors: tuple[int, ...] = ()
    """Items that are results of failed calls."""
    pinned: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    """Items in the order of a request that shows all of them; empty where it is their own order."""


class DefinitionColumns(Value):
    """The tool definitions, item by item: an item of tools holds those that its request offered."""

    item: tuple[int, ...] = ()
    """The item that holds the definition."""
    name: tuple[str, ...] = ()
    tokens: tuple[int, ...] = ()
    """The definition's share of the item's tokens, by length; the shares of all definitions add up to them."""
    change: tuple[DefinitionChange, ...] = ()
    """Whether the definition is new or changed since the previous tools."""


class MarkColumns(Value):
    """The cache marks of requests, in the order of the prompt: after each the client asked for the prompt to be cached."""

    request: tuple[int, ...] = ()
    item: tuple[int, ...] = ()
    """The item that the mark stands after; -1 where that is not known."""
    definition: tuple[int, ...] = ()
    """For an item of tools the definition, from 0, that the mark stands after; -1 for other items."""
    place: tuple[str, ...] = ()
    """The mark's place as it was sent, such as ``message 7, block 2``; empty where the item is known."""
    lifetime: tuple[str, ...] = ()
    """``5m`` or ``1h``; empty where the client left it to the provider."""


class RequestColumns(Value):
    """The requests of a session, in order."""

    id: tuple[str, ...]
    turn: tuple[int, ...]
    items: tuple[int, ...]
    """Number of items that existed when the request was sent: it could show the items below this number."""
    started: tuple[int | None, ...]
    """Milliseconds since 1970."""
    ended: tuple[int | None, ...]
    model: tuple[int, ...]
    """Indexes in ``TimelineView.models``; -1 where none is recorded."""
    effort: tuple[str, ...]
    window: tuple[int, ...]
    """Window of its model in tokens: as recorded, else as listed; 0 where neither is known."""
    reserve: tuple[int, ...]
    status: tuple[RequestStatus, ...]
    seen: tuple[Seen, ...]
    reported: tuple[int | None, ...]
    """Tokens of the whole prompt, a fact; None where nothing was reported."""
    read: tuple[int | None, ...]
    """Tokens of the prompt that were read from the cache."""
    written: tuple[int | None, ...]
    output: tuple[int | None, ...]
    """Tokens of the answer, including reasoning."""
    cost: tuple[float | None, ...]
    """In the money of ``PriceProfile``: as recorded, else the usage at its prices; their sum is the session's cost."""
    listed: tuple[bool, ...] = ()
    """Whether the cost was not recorded, and so is an estimate."""


class TransitionColumns(Value):
    """Transitions, in the order of requests: from ``request`` on, ``item`` is shown in another state."""

    item: tuple[int, ...] = ()
    request: tuple[int, ...] = ()
    state: tuple[ItemState, ...] = ()
    tokens: tuple[int, ...] = ()
    """Tokens that are shown instead, by the ruler's estimator."""
    words: tuple[int, ...] = ()
    """Indexes in ``TrackView.words``."""


class ComingColumns(Value):
    """The states of items that are already decided for the next request, such as after the user restored one."""

    item: tuple[int, ...] = ()
    state: tuple[ItemState, ...] = ()


class TrackView(Value):
    """A session as recorded, or under a policy."""

    policy: str
    """Its name in the form that ``policies.get`` reads; ``recorded`` for the recording."""
    facts_until: int | None = None
    """The first request that differs from the recording; from there on the track is an estimate."""
    transitions: TransitionColumns = TransitionColumns()
    words: tuple[str, ...] = ()
    """Phrases with the rule and numbers of a transition: the end of a sentence."""
    total: tuple[int, ...] = ()
    """Tokens of each request by the ruler, including those that the recording does not show; scaled."""
    prefix: tuple[int, ...] = ()
    """Tokens of ``total`` that the request before begins with, too; scaled."""
    read: tuple[int, ...] = ()
    """Tokens of ``prefix`` that the cache held; scaled."""
    output: tuple[int, ...] = ()
    cost: tuple[float, ...] = ()
    """Estimated cost of each request with its summaries, in the money of ``PriceProfile``."""
    fired: tuple[int, ...] = ()
    """The requests at which the rule acted."""
    taken: tuple[int, ...] = ()
    """The requests whose unexplained cache loss is taken from the recording."""
    figures: PolicyFigures | None = None
    facts: PolicyFigures | None = None
    """The reported figures, for the recording."""


class RulerView(Value):
    """The ruler: tokens = unseen + factor x the estimator's tokens of the items."""

    estimator: str
    unseen: float
    factor: float
    measured: bool
    """Whether it was fitted to reported usage."""
    words: str
    """A sentence on it."""


class ProofView(Value):
    """How well the replay, on which every track is based, reproduces the recording."""

    sentences: tuple[str, ...]
    """The first is about how much is reproduced, the others about why the rest is not."""
    share: float | None = None
    """Share of the comparable requests that are reproduced, 0 to 1; None where none is comparable."""
    is_doubtful: bool = False
    """Whether too little is reproduced; figures based on it are drawn pale and marked."""


class EventView(Value):
    """An event of the whole context, such as a compaction."""

    request: int
    kind: EventKind
    cause: str = ""


class PruneView(Value):
    """A request from which on further items are reduced."""

    request: int
    items: int


class BreakView(Value):
    """A request that read less from the cache than the request before had left there: a fact."""

    request: int
    turn: int
    cause: str
    words: str
    """All causes, with their numbers."""
    expected: int
    read: int
    loss: int
    cost: float
    avoided_by: str = ""
    """How it could have been avoided, with a number; empty where no way is known."""


class SliderView(Value):
    """One number of a policy, with the stops that are offered."""

    name: str
    stops: tuple[float, ...]
    default: float


class PolicyOption(Value):
    """A policy that a session can be replayed under."""

    name: str
    what: str
    """A sentence on its rule."""
    source: str
    sliders: tuple[SliderView, ...] = ()
    """The most important numbers, at most three."""


class SubagentView(Value):
    """A subagent: a session that a call of this session started."""

    session: str
    title: str
    request: int
    """The parent's request whose answer started the subagent; -1 where it is not known."""
    call: int = -1
    """The item of this session's call that started the subagent; -1 where another subagent did, or the call is not known."""
    requests: int
    tokens: int
    cost: float | None = None
    cost_is_fact: bool = False


class TimelineView(Value):
    """The view of a session in an inspector, without texts."""

    version: int = VIEW_VERSION
    session: str
    title: str
    origin: str
    """The agent that recorded it: ``palimpsest``, or the name of a format."""
    own: bool = False
    """Whether the session can be written: its items can be pinned, left out and restored."""
    parent: str | None = None
    seq: int = 0
    """Number of the last record of the journal in the view; a live view asks for newer records."""
    epoch: str = ""
    """Views of the same epoch have the same ruler, so that one can be a patch of another; empty in a file."""
    is_picture: bool = False
    """Whether proof, wastes, used items, subagents, policies and the recording's estimated figures are still to be
    asked for."""
    kinds: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    limit_words: str = ""
    """A sentence on the source of limits that the recording does not state; empty where there are none."""
    items: ItemColumns
    definitions: DefinitionColumns = DefinitionColumns()
    requests: RequestColumns
    cache_marks: MarkColumns = MarkColumns()
    """Empty where no mark was set, or where the recording states none."""
    ruler: RulerView
    price: PriceProfile
    recorded: TrackView
    proof: ProofView | None = None
    """None where no request reported its usage."""
    events: tuple[EventView, ...] = ()
    breaks: tuple[BreakView, ...] = ()
    break_notes: tuple[str, ...] = ()
    wastes: tuple[Waste, ...] = ()
    waste_kinds: tuple[WasteKind, ...] = ()
    used: tuple[tuple[int, ...], ...] = ()
    """For each request the items, ascending, with a name that its answer used."""
    subagents: tuple[SubagentView, ...] = ()
    missing_subagents: tuple[int, ...] = ()
    """Items of the calls whose subagent's session is not stored."""
    within: str = ""
    """The session through which this one was asked for, as its subagent; empty where it was asked for directly."""
    totals: tuple[str, ...] = ()
    """Sentences with numbers about the whole session."""
    gaps: tuple[str, ...] = ()
    """Sentences on gaps in the recording."""
    pruned: tuple[PruneView, ...] = ()
    coming: ComingColumns = ComingColumns()
    policies: tuple[PolicyOption, ...] = ()
    given_policies: int = 0
    """Number of the first policies that a person gave; the first of all is shown when the view opens."""


class NoteView(Value):
    """A person's note on the session, with its place in the view."""

    note: Note
    """Its words are data, not markup, and may hold line breaks."""
    found: FoundPlace


class TrackStop(Value):
    """A precomputed track, for a view without a kernel."""

    policy: str
    numbers: dict[str, float] = {}
    track: TrackView
