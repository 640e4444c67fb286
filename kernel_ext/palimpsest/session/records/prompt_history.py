"""List earlier prompts of a project, newest first, a page at a time.

Border: reads logs, and writes nothing. What sessions of tasks and recordings of other agents hold was typed by
nobody here, and is left out.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError

PAGE = 40
"""Prompts on one page; a person rarely goes back further."""
PAGE_CHARS = 100_000
"""Characters on one page: a server drops output above 1 MB a second."""
LONGEST = 50_000
"""Characters of the longest prompt that is listed."""

Typed = Callable[[str], Sequence[str]]
"""Returns the prompts of a session that a person typed, oldest first, given its id."""


@dataclass(frozen=True, slots=True)
class PromptPage:
    """One page of earlier prompts, newest first."""

    prompts: tuple[str, ...]
    cursor: str | None = None
    """Pass it to get the next page; None on the last one."""


def prompt_page(
    summaries: Sequence[SessionSummary], typed: Typed, first: str, cursor: str | None = None
) -> PromptPage:
    """Return a page of prompts: those of the session ``first``, then of the others, the newest sessions first.

    Raises UserError for a cursor that no page has.
    """
    own = [
        one.id
        for one in sorted(summaries, key=lambda one: (one.id != first, -one.updated, one.id))
        if one.id == first or (one.parent_id is None and not one.imported_from)
    ]
    begin, skipped = _read(cursor) if cursor is not None else (own[0] if own else "", 0)
    found: list[str] = []
    chars = 0
    for session_id, number, text in _from(own, typed, begin, skipped):
        if len(found) == PAGE or (found and chars + len(text) > PAGE_CHARS):
            return PromptPage(tuple(found), f"{session_id}:{number}")
        if len(text) <= LONGEST and text != (found[-1] if found else None):
            found.append(text)
            chars += len(text)
    return PromptPage(tuple(found))


def _from(
    sessions: Sequence[str], typed: Typed, begin: str, skipped: int
) -> Iterator[tuple[str, int, str]]:
    """Yield the prompts from a place on, each with its session and its number from the newest."""
    # A session that was deleted since is followed by those that came behind it, as far as is known: by all.
    start = sessions.index(begin) if begin in sessions else 0
    for session_id in sessions[start:]:
        newest_first = list(reversed(typed(session_id)))
        for number, text in enumerate(newest_first):
            if session_id != begin or number >= skipped:
                yield session_id, number, text


def _read(cursor: str) -> tuple[str, int]:
    session_id, _, number = cursor.rpartition(":")
    if not session_id or not number.isdecimal():
        raise UserError(f"{cursor!r} is not the end of a page. Leave it out to begin anew.")
    return session_id, int(number)
