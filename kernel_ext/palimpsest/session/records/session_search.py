"""Search and page the list of sessions: by text, and by whether they are archived.

Border: reads, and writes nothing; works on the rows of the session list. The texts of prompts are read from the
logs only during a search, and only for sessions whose title does not already match.
"""

import base64
import bisect
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.context.request_kinds.title_request import real_prompts
from palimpsest.session.records.part_lookup import MIN_PIECE_CHARS
from palimpsest.store.interface import SessionSummary, Store
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import PromptAdmitted

PAGE_SESSIONS = 30
"""Sessions on one page, where a query sets no limit."""

PromptTextsOf = Callable[[str], Iterable[str]]
"""Returns the texts of a session's prompts, given its id."""


@dataclass(frozen=True, slots=True)
class Query:
    """The conditions of a search for sessions, and the page of its result."""

    words: str = ""
    """All of these must occur in the title, the notebook's name, the id or the prompts; case does not matter."""
    archived: bool | None = False
    """True: archived sessions only; False: the others; None: both."""
    children: bool = False
    """Whether sessions that a ``task`` call began are included."""
    limit: int = PAGE_SESSIONS
    number: int = 1
    """Page number, from 1."""
    cursor: str | None = None
    """The ``cursor`` of the page before; used instead of ``number``."""


@dataclass(frozen=True, slots=True)
class Page:
    """One page of the sessions that were found, newest first."""

    sessions: tuple[SessionSummary, ...]
    total: int
    """Number of all sessions that were found."""
    first_number: int = 1
    """Number of the first session on this page, from 1."""
    cursor: str | None = None
    """Pass it to get the next page; None on the last one."""
    unread_count: int = 0
    """How many of the total were not examined yet, while the session list is being built."""


def search_page(
    summaries: Sequence[SessionSummary],
    query: Query,
    prompt_texts_of: PromptTextsOf,
    unread_count: int = 0,
) -> Page:
    """Return a page of the sessions that a query finds; raises UserError for an invalid query.

    ``unread_count`` is the number of older sessions that are not in ``summaries`` yet.
    """
    if query.limit < 1 or query.number < 1:
        raise UserError("A page has at least one session, and pages are counted from 1.")
    filtered_summaries = (summary for summary in summaries if _passes_filters(summary, query))
    matching_sessions = [
        summary for summary in filtered_summaries if _has_words(summary, query, prompt_texts_of)
    ]
    matching_sessions.sort(key=_sort_key)
    first_index = (query.number - 1) * query.limit
    if query.cursor is not None:
        cursor_key = _parse_cursor(query.cursor)
        first_index = bisect.bisect_right(matching_sessions, cursor_key, key=_sort_key)
    rows = tuple(matching_sessions[first_index : first_index + query.limit])
    has_more = first_index + len(rows) < len(matching_sessions) or unread_count > 0
    cursor = _cursor(rows[-1]) if has_more and rows else None
    return Page(rows, len(matching_sessions) + unread_count, first_index + 1, cursor, unread_count)


def _sort_key(summary: SessionSummary) -> tuple[int, str]:
    """Return the sort key of a session: newest first, then by id."""
    return -summary.updated, summary.id


def _passes_filters(summary: SessionSummary, query: Query) -> bool:
    if not query.children and summary.parent_id is not None:
        return False
    return query.archived is None or query.archived == (summary.archived is not None)


def _has_words(summary: SessionSummary, query: Query, prompt_texts_of: PromptTextsOf) -> bool:
    query_words = query.words.casefold().split()
    own_text = f"{summary.title}\n{summary.notebook or ''}\n{summary.id}".casefold()
    missing_words = [word for word in query_words if word not in own_text]
    if not missing_words:
        return True
    prompts_text = "\n".join(prompt_texts_of(summary.id)).casefold()
    return all(word in prompts_text for word in missing_words)


def _cursor(summary: SessionSummary) -> str:
    text = json.dumps({"id": summary.id, "time": summary.updated}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _parse_cursor(cursor: str) -> tuple[int, str]:
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        data = json.loads(base64.urlsafe_b64decode(padded.encode("ascii")))
        return -int(data["time"]), str(data["id"])
    except (ValueError, KeyError, TypeError):
        raise UserError(
            f"{cursor!r} is not the end of a page. Leave it out to begin anew."
        ) from None


def with_children(summaries: Sequence[SessionSummary], session_id: str) -> tuple[str, ...]:
    """Return the ids of a session and all its descendants, children before parents."""
    child_ids = [summary.id for summary in summaries if summary.parent_id == session_id]
    descendant_ids = (
        descendant for child in child_ids for descendant in with_children(summaries, child)
    )
    return (*descendant_ids, session_id)


def matches_id(session_id: str, id_piece: str) -> bool:
    """Return whether a text names a session: by the beginning of its id, or by enough of its end."""
    id_without_prefix = session_id.partition("_")[2]
    is_long_enough = len(id_piece) >= MIN_PIECE_CHARS
    return session_id.startswith(id_piece) or (
        is_long_enough and id_without_prefix.endswith(id_piece)
    )


def typed_prompts(store: Store, session_id: str) -> list[str]:
    """Return the prompts of a session that the user sent from a cell or the panel, oldest first; none where its log cannot be read."""
    try:
        return [
            record.event.text
            for record in store.read(session_id, only=("prompt.admitted",))
            if isinstance(record.event, PromptAdmitted)
            and (record.event.origin is None or record.event.origin.kind in ("cell", "panel"))
        ]
    except UserError:
        return []


def prompt_texts(store: Store, session_id: str) -> Iterator[str]:
    """Yield the prompts of a session, of any origin, those before a fork included."""
    has_prompts = False
    for record in store.read(session_id, only=("prompt.admitted",)):
        if isinstance(record.event, PromptAdmitted):
            has_prompts = True
            yield record.event.text
    if not has_prompts:  # imported from another agent: its prompts are messages
        for message in real_prompts(store.load(session_id).messages()):
            yield from (part.text for part in message.parts if isinstance(part, TextPart))
