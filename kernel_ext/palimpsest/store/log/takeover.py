"""Build the fork for the records that a writer wrote after another kernel took its session over.

Shared by every store: the records of the first kernel continue in a session of their own, numbered
after the last record that both have.
"""

import os
import time
from collections.abc import Sequence

from palimpsest.transcript.ids import ENTROPY_LENGTH, encode
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    Record,
    SessionCreated,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import ForkedFrom, SessionInfo


def new_fork_info(session: SessionInfo) -> SessionInfo:
    """Return the info of a new session for the records that came after a takeover."""
    now = time.time_ns() // 1_000_000
    fork_id = encode("ses", now, 0, os.urandom(ENTROPY_LENGTH), descending=True)
    title = f"{session.title} (kept after a take-over)"
    return session.model_copy(update={"id": fork_id, "title": title})


def takeover_message(session_id: str, fork: SessionInfo) -> str:
    """Return the message to the user about a takeover."""
    return (
        f"Another kernel writes session {session_id!r} now; what this kernel did since then is"
        f" kept as session {fork.id!r}."
    )


def with_fork_point(
    session: SessionInfo, parent_id: str, seq: int, segment: str, offset: int
) -> SessionInfo:
    """Return a fork's session info with its fork point in the parent's log."""
    message_id = None if session.forked_from is None else session.forked_from.message_id
    fork_point = ForkedFrom(
        session_id=parent_id, seq=seq, segment=segment, offset=offset, message_id=message_id
    )
    return session.model_copy(update={"forked_from": fork_point})


def renumber_records(records: Sequence[Record], seq_shift: int, fork: SessionInfo) -> list[Record]:
    """Return the records as the fork's: sequence numbers shifted, and session records with its id.

    Checkpoints are omitted, since they name places in the parent's log.
    """
    renumbered_records: list[Record] = []
    for record in records:
        event = record.event
        if isinstance(event, Checkpoint):
            continue
        if isinstance(event, SessionCreated | SessionUpdated):
            fork_fields = {"id": fork.id, "forked_from": fork.forked_from}
            event = event.model_copy(
                update={"session": event.session.model_copy(update=fork_fields)}
            )
        update = {"seq": record.seq + seq_shift, "event": event}
        renumbered_records.append(record.model_copy(update=update))
    return renumbered_records
