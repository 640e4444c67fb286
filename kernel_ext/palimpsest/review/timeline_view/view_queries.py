"""The questions that a view asks of a session, and the values that answer them.

One union serves the control channel and a widget's comm; a report, which cannot ask, contains the answers. Requests
and items count from 0. Texts are bounded: longer ones are sent in pieces.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, ValidationError

from palimpsest.review.request_contents.lost_word import LostWord
from palimpsest.review.tables.question_limits import MAX_NAME_CHARS, MAX_PRICES_CHARS, refusal_text
from palimpsest.review.timeline_view.comparison_values import SessionComparison
from palimpsest.review.timeline_view.view_patch import ViewPatch
from palimpsest.review.timeline_view.view_values import NoteView, TimelineView, TrackView
from palimpsest.transcript.context_values.request_items import RequestItem
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.timeline import ItemState
from palimpsest.transcript.values import Value

MAX_TEXT_CHARS = 60_000
"""Maximum characters of one piece of an item's text."""
MAX_BLOCK_CHARS = 2_000
"""Maximum characters of a block in a list of blocks."""
MAX_BLOCKS = 200
"""Maximum blocks of one piece of a request."""
MAX_USES = 8
"""Maximum answers of which the used names of an item are sent."""
MAX_USED_NAMES = 3
"""Maximum used names of one answer that are sent."""
MAX_SEARCHED = 500
"""Maximum items of one search that are sent."""
MAX_EXCERPT_CHARS = 160
"""Maximum characters of the text around a place that was found."""
MAX_PATH_CHARS = 4_096
"""Maximum characters of a path in a question."""


class SessionQuery(Value):
    """The field that all questions have."""

    subagent: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    """Id of a subagent, of the session or of its subagents, that is asked about instead of the session."""


class AskView(SessionQuery):
    """Ask for the whole view."""

    ask: Literal["view"] = "view"
    price: str | None = Field(default=None, max_length=MAX_PRICES_CHARS)
    """A model's id, ``units``, ``MODEL=in/out/read/write``, ``lifetime=1h``, several with blanks between; None for the
    recorded model's."""
    after: int | None = None
    """``seq`` of the view that the front end has: where nothing is newer, the answer contains no view."""
    epoch: str | None = Field(default=None, max_length=MAX_NAME_CHARS)
    """``epoch`` of that view: the answer may be a patch of it."""
    part: Literal["picture", "rest"] | None = None
    """``picture`` is the view without what takes longer to compute, ``rest`` a patch of that picture to the whole view."""


class AskTrack(SessionQuery):
    """Ask for the track of a policy."""

    ask: Literal["track"] = "track"
    policy: str = Field(max_length=MAX_NAME_CHARS)
    """A policy's name as ``policies.get`` reads it, followed by its numbers, with ``|`` between stages."""
    numbers: dict[str, float] = {}
    """Numbers of a single preset, as its sliders name them."""
    price: str | None = Field(default=None, max_length=MAX_PRICES_CHARS)
    window: int = Field(default=0, ge=0)
    """Tokens of the window that is assumed; 0 for the recorded window."""


class AskItem(SessionQuery):
    """Ask for an item's text, and for the text that a request shows instead."""

    ask: Literal["item"] = "item"
    item: int = Field(ge=0)
    definition: int | None = Field(default=None, ge=0)
    """Of an item of tools the definition, from 0, whose text is asked for; None for the text of all."""
    request: int = Field(ge=0)
    policy: str = Field(default="recorded", max_length=MAX_NAME_CHARS)
    numbers: dict[str, float] = {}
    offset: int = Field(default=0, ge=0)


class AskUses(SessionQuery):
    """Ask which names of an item the answers from a request on used."""

    ask: Literal["uses"] = "uses"
    item: int = Field(ge=0)
    request: int = Field(ge=0)


class AskRequest(SessionQuery):
    """Ask for the contents of a request, as recorded or under a policy."""

    ask: Literal["request"] = "request"
    request: int = Field(ge=0)
    policy: str = Field(default="recorded", max_length=MAX_NAME_CHARS)
    numbers: dict[str, float] = {}
    find: str = Field(default="", max_length=MAX_NAME_CHARS)
    """Only blocks that contain this text, ignoring case; empty for all."""
    first: int = Field(default=0, ge=0)
    """Index of the first block that is sent, among those that match."""


class AskCompaction(SessionQuery):
    """Ask for a compaction: the covered items, the summary and the lost names."""

    ask: Literal["compaction"] = "compaction"
    number: int = Field(ge=0)
    """The index of the compaction among the session's ``compact`` events."""
    price: str | None = Field(default=None, max_length=MAX_PRICES_CHARS)
    """The price of the view, for the cost of fetching lost names again."""


class AskNotes(SessionQuery):
    """Ask for the notes of people on the session, as they are on the disk now."""

    ask: Literal["notes"] = "notes"


class AskSearch(SessionQuery):
    """Ask which items hold a text, whichever request shows them."""

    ask: Literal["search"] = "search"
    text: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    """Found whatever the case of its letters."""


class AskComparison(SessionQuery):
    """Ask how the session compares with another one: where they part, both tracks, and their figures."""

    ask: Literal["comparison"] = "comparison"
    path: str | None = Field(default=None, max_length=MAX_PATH_CHARS)
    """Path of the other session's recording, relative to the kernel's start directory; None for a session of the project."""
    session: str = Field(default="", max_length=MAX_NAME_CHARS)
    """Id of the other session; empty for the first session with a request in the recording."""
    price: str | None = Field(default=None, max_length=MAX_PRICES_CHARS)
    known: str = Field(default="", max_length=MAX_NAME_CHARS)
    """``stamp`` of the comparison that the front end has: where nothing is newer, the answer contains none."""


ViewQuery = Annotated[
    AskView
    | AskTrack
    | AskItem
    | AskUses
    | AskRequest
    | AskCompaction
    | AskNotes
    | AskSearch
    | AskComparison,
    Field(discriminator="ask"),
]
Query = TypeVar("Query", bound=Value)


def checked_query(query: type[Query], **fields: Any) -> Query:
    """Return a question; raises UserError, which names the field, for a value from the user that is not valid."""
    try:
        return query(**fields)
    except ValidationError as error:
        problem = error.errors()[0]
        key = str(problem["loc"][0])
        raise UserError(f"{fields.get(key)!r:.60} is no {key}: {refusal_text(problem)}.") from None


class ItemText(Value):
    """An item's whole text, and the text that a request showed of it."""

    item: int
    state: ItemState
    text: str
    """At most ``MAX_TEXT_CHARS`` characters from ``offset`` on; data, not markup."""
    offset: int = 0
    chars: int
    """Characters of the whole text."""
    shown: str | None = None
    """The text shown instead; None where the item is whole or removed, or the text is not known."""


class UsedNames(Value):
    """The names of an item that the answer to a request used."""

    request: int
    names: tuple[str, ...]
    """At most ``MAX_USED_NAMES``, in the answer's order; data, not markup."""
    total: int
    """Number of all names of the item that the answer used."""


class SearchedItem(Value):
    """An item that holds a searched text."""

    item: int
    count: int
    """How often its whole text holds the searched one."""
    excerpt: str
    """The text around the first place, at most ``MAX_EXCERPT_CHARS`` characters; data, not markup."""


class SearchedTexts(Value):
    """The items that hold a searched text, in the order in which they came."""

    items: tuple[SearchedItem, ...]
    """At most ``MAX_SEARCHED``."""
    total: int
    """Number of all items that hold the text."""
    note: str = ""
    """A sentence on texts that could not be searched; empty where there are none."""


class RequestText(Value):
    """A request as blocks."""

    request: int
    policy: str
    basis: Literal["exact", "captured", "rebuilt", "partial", "estimate"]
    """How it is known: exactly as sent, in part from a capture, rebuilt from earlier messages, incomplete, or estimated for
    a policy."""
    note: str
    """The basis in words."""
    blocks: tuple[RequestItem, ...]
    """With at most ``MAX_BLOCK_CHARS`` characters of each text; an item's whole text is a question of its own."""
    first: int = 0
    total: int
    """Number of blocks that match, including those not sent here."""
    tokens: int


class LostKind(Value):
    """How many names of a kind a compaction replaced, lost, and lost although they were needed later."""

    kind: str
    """``paths``, ``URLs``, ``errors``, ``identifiers`` or ``numbers``."""
    found: int
    lost: int
    needed: int


class CompactionText(Value):
    """A compaction: the covered items, the summary, and the lost names."""

    number: int
    request: int
    """The first request that shows the summary; the number of requests where none came after it."""
    undone: int | None = None
    """The first request that shows the covered items again."""
    items: tuple[int, ...]
    """The items that the summary covers."""
    item_tokens: tuple[int, ...] = ()
    """Estimated tokens of each of ``items`` in the request before."""
    summary: str
    """At most ``MAX_TEXT_CHARS`` characters; data, not markup."""
    summary_chars: int
    """Characters of the whole summary."""
    tokens_before: int
    tokens_after: int
    kinds: tuple[LostKind, ...]
    """Every kind that has names; the numbers count all names."""
    lost: tuple[LostWord, ...]
    """Names that were needed later come first; beyond a limit the others are only counted."""
    refetching: float
    """Estimated cost of fetching the needed names again, in the money of the view's price."""
    fetches: int
    """Number of requests for fetching them again."""
    sentences: tuple[str, ...]


class NotesText(Value):
    """The notes on the session."""

    notes: tuple[NoteView, ...]
    """Oldest first."""
    problems: tuple[str, ...] = ()
    """Sentences on lines of the files that cannot be read."""


class ViewAnswer(Value):
    """The answer to one question: one of its fields is set, or ``error``."""

    view: TimelineView | None = None
    patch: ViewPatch | None = None
    """The difference to the view that the front end has."""
    track: TrackView | None = None
    item: ItemText | None = None
    uses: tuple[UsedNames, ...] | None = None
    """The first answers that used names of the item, at most ``MAX_USES``."""
    request: RequestText | None = None
    compaction: CompactionText | None = None
    notes: NotesText | None = None
    search: SearchedTexts | None = None
    comparison: SessionComparison | None = None
    unchanged: bool = False
    """Whether the front end's view, or its comparison, is the newest."""
    milliseconds: int = 0
    """How long the answer took in the kernel."""
    error: str = ""
    """One sentence with a way to correct the question."""
