"""Turn what a writer wrote too late into a fork.

Shared by every store: when a second kernel took a session over, the records of the first go on
in a session of their own, numbered after the point up to which both agree.
"""

import os
import time
from collections.abc import Sequence

from palimpsest.transcript.ids import ENTROPY_LENGTH, encode
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    Event,
    Record,
    SessionCreated,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo


def fork_of(session: SessionInfo) -> SessionInfo:
    """Return the record of a new session for what came too late."""
    now = time.time_ns() // 1_000_000
    fork_id = encode("ses", now, 0, os.urandom(ENTROPY_LENGTH), descending=True)
    title = f"{session.title} (kept after a take-over)"
    return session.model_copy(update={"id": fork_id, "title": title})


def takeover_refusal(session_id: str, fork: SessionInfo) -> str:
    """Say to a person what happened."""
    return (
        f"Another kernel writes session {session_id!r} now; what this kernel did since then is"
        f" kept as session {fork.id!r}."
    )


def late_fork_session(
    session: SessionInfo, parent_id: str, seq: int, segment: str, offset: int
) -> SessionInfo:
    """Return the session's record with the place where it leaves its parent."""
    message_id = None if session.forked_from is None else session.forked_from.message_id
    place = ForkedFrom(
        session_id=parent_id, seq=seq, segment=segment, offset=offset, message_id=message_id
    )
    return session.model_copy(update={"forked_from": place})


def renumbered(records: Sequence[Record], shift: int, fork: SessionInfo) -> list[Record]:
    """Return the records as the fork's: numbered after its beginning, and under its name.

    Checkpoints are left out, since they name places of the log that was left.
    """
    return [
        record.model_copy(update={"seq": record.seq + shift, "event": _renamed(record.event, fork)})
        for record in records
        if not isinstance(record.event, Checkpoint)
    ]


def _renamed(event: Event, fork: SessionInfo) -> Event:
    if not isinstance(event, SessionCreated | SessionUpdated):
        return event
    place = {"id": fork.id, "forked_from": fork.forked_from}
    return event.model_copy(update={"session": event.session.model_copy(update=place)})
