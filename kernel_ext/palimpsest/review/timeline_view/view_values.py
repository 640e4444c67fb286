"""The values that every view of a timeline is drawn from: one schema for cell, tab, report and file.

Items and requests are columns: lists of equal length, of which the place is the number, from 0. States are
not stored as a table: an item is whole from the request at which it entered until a transition of the track
says otherwise. Tokens are by the ruler's estimator; a reader multiplies by its factor. Texts are fetched apart.
"""

from palimpsest.review.comparison.figures import PolicyFigures, Waste, WasteKind
from palimpsest.review.replay.ruler import PriceProfile
from palimpsest.transcript.timeline import EventKind, ItemState, RequestStatus, Seen
from palimpsest.transcript.values import Value

VIEW_VERSION = 2
"""Of the schema; a reader refuses a newer one in one sentence."""


class ItemColumns(Value):
    """The items of a session, in the order of their first appearance."""

    id: tuple[str, ...]
    """``message/part``, with ``/result`` for the result of a call; the part is what a person pins or restores."""
    kind: tuple[int, ...]
    """Places in ``TimelineView.kinds``."""
    label: tuple[str, ...]
    """At most 80 characters; data, not markup."""
    tool: tuple[str, ...]
    turn: tuple[int, ...]
    entered: tuple[int, ...]
    """The first request that could show it."""
    tokens: tuple[int, ...]
    """Whole, by the ruler's estimator."""
    block: tuple[int, ...]
    """Number of the provider's message that holds it: the cache is kept by whole messages."""
    partner: tuple[int, ...]
    """The result of a call, the call of a result; -1 where there is none."""
    errors: tuple[int, ...] = ()
    """Items that are a failed call's result."""
    pinned: tuple[int, ...] = ()
    order: tuple[int, ...] = ()
    """Items as a request that showed all of them would hold them; empty where that is their own order."""


class RequestColumns(Value):
    """The requests of a session, in order."""

    id: tuple[str, ...]
    turn: tuple[int, ...]
    items: tuple[int, ...]
    """How many items existed when it was sent: it could show those numbered below."""
    started: tuple[int | None, ...]
    """Milliseconds since 1970."""
    ended: tuple[int | None, ...]
    model: tuple[int, ...]
    """Places in ``TimelineView.models``; -1 where none is recorded."""
    effort: tuple[str, ...]
    window: tuple[int, ...]
    """The limit: as recorded, else the listed one of its model; 0 where neither is known."""
    reserve: tuple[int, ...]
    status: tuple[RequestStatus, ...]
    seen: tuple[Seen, ...]
    reported: tuple[int | None, ...]
    """Tokens of the whole prompt, a fact; None where nothing was reported."""
    read: tuple[int | None, ...]
    """Of these read from the cache."""
    written: tuple[int | None, ...]
    output: tuple[int | None, ...]
    """With reasoning."""
    cost: tuple[float | None, ...]
    """In the money of ``PriceProfile``: as recorded, else the usage at its prices; what the session cost is their sum."""
    listed: tuple[bool, ...] = ()
    """The cost was not recorded, and so is an estimate."""


class TransitionColumns(Value):
    """From ``request`` on ``item`` is shown in another state; in the order of requests."""

    item: tuple[int, ...] = ()
    request: tuple[int, ...] = ()
    state: tuple[ItemState, ...] = ()
    tokens: tuple[int, ...] = ()
    """Of what is shown instead, by the ruler's estimator."""
    words: tuple[int, ...] = ()
    """Places in ``TrackView.words``."""


class ComingColumns(Value):
    """What is decided already for the request that comes next, such as what a person restored."""

    item: tuple[int, ...] = ()
    state: tuple[ItemState, ...] = ()


class TrackView(Value):
    """A session as recorded, or as a policy would have shown it."""

    policy: str
    """Its name as ``policies.get`` reads it; ``recorded`` for the recording itself."""
    facts_until: int | None = None
    """The first request that differs from the recording: what follows is an estimate."""
    transitions: TransitionColumns = TransitionColumns()
    words: tuple[str, ...] = ()
    """By which rule, with which numbers: the end of a sentence."""
    total: tuple[int, ...] = ()
    """Tokens of each request by the ruler, with what is not seen; scaled."""
    prefix: tuple[int, ...] = ()
    """Of these in common with the request before, from the beginning on; scaled."""
    read: tuple[int, ...] = ()
    """Of these what a cache held; scaled."""
    output: tuple[int, ...] = ()
    cost: tuple[float, ...] = ()
    """Of each request with its summaries, in the money of ``PriceProfile``; an estimate."""
    fired: tuple[int, ...] = ()
    """The requests at which the rule acted."""
    taken: tuple[int, ...] = ()
    """The requests at which the cache is lost as in the recording, where nothing explains it."""
    figures: PolicyFigures | None = None
    facts: PolicyFigures | None = None
    """Of the recording: what was reported."""


class RulerView(Value):
    """How tokens are counted: unseen + factor x the estimator's tokens of the items."""

    estimator: str
    unseen: float
    factor: float
    measured: bool
    words: str


class ProofView(Value):
    """How well the recording itself is reproduced by the replay that every track rests on."""

    sentences: tuple[str, ...]
    """The first tells what is reproduced; the others why not all of it is."""
    share: float | None = None
    """Reproduced requests of those that can be compared, 0 to 1; None where none can."""
    is_doubtful: bool = False
    """Too little is reproduced, so that what rests on it is pale and marked."""


class EventView(Value):
    """Something that happened to the context as a whole."""

    request: int
    kind: EventKind
    cause: str = ""


class PruneView(Value):
    """A request that began to show items reduced which the request before had shown otherwise."""

    request: int
    items: int


class BreakView(Value):
    """A request that did not read from the cache what the one before left there: a fact."""

    request: int
    turn: int
    cause: str
    words: str
    expected: int
    read: int
    loss: int
    cost: float
    avoided_by: str = ""
    """What would have avoided it, in words with a number; empty where nothing is known to."""


class SliderView(Value):
    """One number of a policy, with the stops that are offered."""

    name: str
    stops: tuple[float, ...]
    default: float


class PolicyOption(Value):
    """A policy that a session can be replayed under."""

    name: str
    what: str
    """What it does, in a sentence."""
    source: str
    sliders: tuple[SliderView, ...] = ()
    """At most three: the numbers that matter most."""


class SubagentView(Value):
    """A session that a call of this one began."""

    session: str
    title: str
    request: int
    """The request of the parent whose answer began it; -1 where that is not known."""
    requests: int
    tokens: int
    cost: float | None = None
    cost_is_fact: bool = False


class TimelineView(Value):
    """Everything an inspector shows of a session besides texts."""

    version: int = VIEW_VERSION
    session: str
    title: str
    origin: str
    """The agent that recorded it: ``palimpsest``, or the name of a format."""
    own: bool = False
    """A session that can be written: its items can be pinned, left out and restored."""
    parent: str | None = None
    seq: int = 0
    """The journal's last record that it shows; a live view asks for what came after."""
    epoch: str = ""
    """Views of one epoch are measured alike, so that one goes on from another; empty in a file."""
    kinds: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    limit_words: str = ""
    """From where the limits are that the recording does not tell; empty where there are none."""
    items: ItemColumns
    requests: RequestColumns
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
    """Of each request the items that hold a name which its answer used, ascending."""
    subagents: tuple[SubagentView, ...] = ()
    totals: tuple[str, ...] = ()
    """Sentences with numbers about the whole session."""
    gaps: tuple[str, ...] = ()
    """What the recording lacks, a sentence each."""
    pruned: tuple[PruneView, ...] = ()
    coming: ComingColumns = ComingColumns()
    policies: tuple[PolicyOption, ...] = ()


class TrackStop(Value):
    """A track that was computed beforehand, for a view without a kernel."""

    policy: str
    numbers: dict[str, float] = {}
    track: TrackView
