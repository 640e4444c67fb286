"""Summarise a turn's file changes for its cell and for the saved notebook.

Border: pure. The session has all changes; a notebook may be passed on, so it keeps few of them.
"""

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from palimpsest.render.content.phrases import count, counted_noun
from palimpsest.transcript.messages import Message, UserMessage
from palimpsest.transcript.session_record.reverts import FileDiff

MAX_SAVED_CHARS = 8_000
"""Maximum characters of one turn's diffs that a notebook keeps."""
MAX_SAVED_FILES = 50
MAX_NAMED_FILES = 5


def turn_changes(messages: Sequence[Message], turn: str) -> tuple[FileDiff, ...]:
    """Return a turn's file changes, which are recorded in its user message."""
    info = next((message.info for message in messages if message.id == turn), None)
    recorded = (info.summary or {}).get("diffs") if isinstance(info, UserMessage) else None
    diffs = []
    for item in recorded if isinstance(recorded, list) else ():
        try:
            diffs.append(FileDiff.model_validate(item))
        except ValidationError:  # of another version
            continue
    return tuple(diffs)


def changed_text(changes: Sequence[FileDiff]) -> str:
    """Return a summary such as "2 files changed, +3 -1: a.txt, b.txt"."""
    lines_added = sum(change.additions for change in changes)
    lines_removed = sum(change.deletions for change in changes)
    names = ", ".join(change.file for change in changes[:MAX_NAMED_FILES])
    more = ""
    if len(changes) > MAX_NAMED_FILES:
        more = f" and {count(len(changes) - MAX_NAMED_FILES)} more"
    return f"{counted_noun(len(changes), 'file')} changed, +{lines_added:,} -{lines_removed:,}: {names}{more}"


def saved_changes(changes: Sequence[FileDiff]) -> list[dict[str, Any]]:
    """Return the changes as a notebook saves them: names, numbers, and short diffs."""
    chars_left = MAX_SAVED_CHARS
    saved_list = []
    for change in changes[:MAX_SAVED_FILES]:
        size = len(change.patch or "")
        patch = change.patch if size <= chars_left else None
        chars_left -= size if patch else 0
        without_texts = change.model_copy(update={"patch": patch, "before": None, "after": None})
        saved_list.append(without_texts.model_dump(mode="json", exclude_none=True))
    return saved_list
