"""List earlier prompts of a project, newest first, a page at a time.

Border: reads logs, and writes nothing. Sessions of tasks and recordings of other agents are left out, since no user
of this project typed their prompts.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from palimpsest.store.interface import SessionSummary
from palimpsest.transcript.errors import UserError

MAX_PROMPTS = 40
"""Maximum prompts on one page; users rarely go back further."""
MAX_PAGE_CHARS = 100_000
"""Maximum characters on one page: a server drops output above 1 MB a second."""
MAX_PROMPT_CHARS = 50_000
"""Maximum characters of a prompt that is listed."""

TypedPrompts = Callable[[str], Sequence[str]]
"""Returns the prompts of a session that the user typed, oldest first, given its id."""


@dataclass(frozen=True, slots=True)
class PromptPage:
    """One page of earlier prompts, newest first."""

    prompts: tuple[str, ...]
    cursor: str | None = None
    """Pass it to get the next page; None on the last one."""


def prompt_page(
    summaries: Sequence[SessionSummary],
    typed_prompts: TypedPrompts,
    first_session_id: str,
    cursor: str | None = None,
) -> PromptPage:
    """Return a page of prompts: those of the session ``first_session_id``, then of the others, the newest sessions first.

    Raises UserError for a cursor that no page has.
    """
    typed_summaries = [
        summary
        for summary in summaries
        if summary.id == first_session_id
        or (summary.parent_id is None and not summary.imported_from)
    ]
    typed_summaries.sort(
        key=lambda summary: (summary.id != first_session_id, -summary.updated, summary.id)
    )
    session_ids = [summary.id for summary in typed_summaries]
    cursor_session_id, skipped_count = next(iter(session_ids), ""), 0
    if cursor is not None:
        cursor_session_id, skipped_count = _parse_cursor(cursor)
    prompts: list[str] = []
    page_chars = 0
    later_prompts = _prompts_from(session_ids, typed_prompts, cursor_session_id, skipped_count)
    for session_id, number, text in later_prompts:
        if len(prompts) == MAX_PROMPTS or (prompts and page_chars + len(text) > MAX_PAGE_CHARS):
            return PromptPage(tuple(prompts), f"{session_id}:{number}")
        if len(text) <= MAX_PROMPT_CHARS and text != (prompts[-1] if prompts else None):
            prompts.append(text)
            page_chars += len(text)
    return PromptPage(tuple(prompts))


def _prompts_from(
    session_ids: Sequence[str],
    typed_prompts: TypedPrompts,
    cursor_session_id: str,
    skipped_count: int,
) -> Iterator[tuple[str, int, str]]:
    """Yield the prompts from a cursor on, each with its session's id and its number from the newest."""
    # If the session of the cursor was deleted since, the sessions after it are unknown: begin with all.
    start_index = session_ids.index(cursor_session_id) if cursor_session_id in session_ids else 0
    for session_id in session_ids[start_index:]:
        newest_first = list(reversed(typed_prompts(session_id)))
        for number, text in enumerate(newest_first):
            if session_id != cursor_session_id or number >= skipped_count:
                yield session_id, number, text


def _parse_cursor(cursor: str) -> tuple[str, int]:
    session_id, _, number = cursor.rpartition(":")
    if not session_id or not number.isdecimal():
        raise UserError(f"{cursor!r} is not the end of a page. Leave it out to begin anew.")
    return session_id, int(number)
