"""Summarise a turn's file changes for its cell and for the saved notebook.

Border: pure. The session has all changes; a notebook leaves this machine, so it keeps few of them.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from palimpsest.render.content.phrases import count, some
from palimpsest.transcript.messages import Message, UserMessage
from palimpsest.transcript.session_record.reverts import FileDiff

SAVED_CHARS = 8_000
"""Characters of diffs that a notebook keeps of one turn."""
SAVED_FILES = 50
NAMED_FILES = 5


def turn_changes(messages: Sequence[Message], turn: str) -> tuple[FileDiff, ...]:
    """Return a turn's file changes, which are recorded in its user message."""
    info = next((one.info for one in messages if one.id == turn), None)
    told = (info.summary or {}).get("diffs") if isinstance(info, UserMessage) else None
    found = []
    for one in told if isinstance(told, list) else ():
        try:
            found.append(FileDiff.model_validate(one))
        except ValidationError:  # of another version
            continue
    return tuple(found)


def changed_text(changes: Sequence[FileDiff]) -> str:
    """Return "2 files changed, +3 -1: a.txt, b.txt"."""
    added, gone = sum(one.additions for one in changes), sum(one.deletions for one in changes)
    names = ", ".join(one.file for one in changes[:NAMED_FILES])
    more = f" and {count(len(changes) - NAMED_FILES)} more" if len(changes) > NAMED_FILES else ""
    return f"{some(len(changes), 'file')} changed, +{added:,} -{gone:,}: {names}{more}"


def saved_changes(changes: Sequence[FileDiff]) -> list[dict[str, Any]]:
    """Return what a notebook keeps of the changes: names and numbers, and the diffs while they are short."""
    left = SAVED_CHARS
    found = []
    for one in changes[:SAVED_FILES]:
        size = len(one.patch or "")
        kept = one.patch if size <= left else None
        left -= size if kept else 0
        slim = one.model_copy(update={"patch": kept, "before": None, "after": None})
        found.append(slim.model_dump(mode="json", exclude_none=True))
    return found
