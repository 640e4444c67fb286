"""Find sessions again: by words, by what was put away, and a page at a time.

Border: reads, and writes nothing; works on the lines of the session list. The words of prompts are read from the logs only
while somebody searches, and only of sessions whose title does not hold them already.
"""

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.context.request_kinds.title_request import real_prompts
from palimpsest.session.records.part_lookup import SHORTEST_PIECE
from palimpsest.store.interface import SessionSummary, Store
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import PromptAdmitted

PAGE = 30
"""What a person reads at once."""

Prompts = Callable[[str], Iterable[str]]
"""Returns the words of a session's prompts."""


@dataclass(frozen=True, slots=True)
class Query:
    """Which sessions are wanted."""

    words: str = ""
    """All of them must stand in the title, the notebook's name or the prompts; case does not matter."""
    archived: bool | None = False
    """Those that were put away, those that were not, or, with None, both."""
    children: bool = False
    """Also sessions that a ``task`` call began."""
    limit: int = PAGE
    number: int = 1
    """Which page, counted from 1."""
    cursor: str | None = None
    """Where the page before ended, as it said; instead of ``number``."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the sessions that were found, newest first."""

    sessions: tuple[SessionSummary, ...]
    total: int
    """All that were found."""
    first: int = 1
    """The number of the first one here, counted from 1."""
    cursor: str | None = None
    """Where the next page begins; None on the last."""
    unread: int = 0
    """How many of the total were not looked at yet: the list is being made."""


def search_page(
    summaries: Sequence[SessionSummary], query: Query, prompts: Prompts, unread: int = 0
) -> Page:
    """Return a page of the sessions that a query finds; raises UserError for one that cannot be.

    ``unread`` sessions, older ones, are not among them yet.
    """
    if query.limit < 1 or query.number < 1:
        raise UserError("A page has at least one session, and pages are counted from 1.")
    found = sorted(
        (one for one in summaries if _is_wanted(one, query) and _has_words(one, query, prompts)),
        key=_place,
    )
    start = (query.number - 1) * query.limit
    if query.cursor is not None:
        after = _read(query.cursor)
        start = next((at for at, one in enumerate(found) if _place(one) > after), len(found))
    shown = tuple(found[start : start + query.limit])
    more = start + len(shown) < len(found) or unread > 0
    cursor = _cursor(shown[-1]) if more and shown else None
    return Page(shown, len(found) + unread, start + 1, cursor, unread)


def _place(summary: SessionSummary) -> tuple[int, str]:
    """Return where a session stands: newest first, and one order for those of one moment."""
    return -summary.updated, summary.id


def _is_wanted(summary: SessionSummary, query: Query) -> bool:
    if not query.children and summary.parent_id is not None:
        return False
    return query.archived is None or query.archived == (summary.archived is not None)


def _has_words(summary: SessionSummary, query: Query, prompts: Prompts) -> bool:
    wanted = query.words.casefold().split()
    told = f"{summary.title}\n{summary.notebook or ''}\n{summary.id}".casefold()
    missing = [word for word in wanted if word not in told]
    if not missing:
        return True
    said = "\n".join(prompts(summary.id)).casefold()
    return all(word in said for word in missing)


def _cursor(summary: SessionSummary) -> str:
    text = json.dumps({"id": summary.id, "time": summary.updated}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _read(cursor: str) -> tuple[int, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        data = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        return -int(data["time"]), str(data["id"])
    except (ValueError, KeyError, TypeError):
        raise UserError(
            f"{cursor!r} is not the end of a page. Leave it out to begin anew."
        ) from None


def with_children(summaries: Sequence[SessionSummary], session_id: str) -> tuple[str, ...]:
    """Return a session and all that were begun from it, those at the bottom first."""
    own = [one.id for one in summaries if one.parent_id == session_id]
    below = (one for child in own for one in with_children(summaries, child))
    return (*below, session_id)


def matches_id(session_id: str, wanted: str) -> bool:
    """Tell whether a piece names a session: the beginning of its id, or enough of its end."""
    bare = session_id.partition("_")[2]
    enough = len(wanted) >= SHORTEST_PIECE
    return session_id.startswith(wanted) or (enough and bare.endswith(wanted))


def prompt_texts(store: Store, session_id: str) -> Iterator[str]:
    """Yield what people wrote in a session, those of its forks' parents included."""
    found = False
    for record in store.read(session_id, only=("prompt.admitted",)):
        if isinstance(record.event, PromptAdmitted):
            found = True
            yield record.event.text
    if not found:  # it was brought in from another agent, whose prompts are messages
        for message in real_prompts(store.load(session_id).messages()):
            yield from (part.text for part in message.parts if isinstance(part, TextPart))
