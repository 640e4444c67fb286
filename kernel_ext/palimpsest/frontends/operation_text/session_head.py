"""The summary of a session that a page shows before it has the session's messages."""

import threading
import time

from palimpsest.frontends.protocol.connection import SessionHead
from palimpsest.frontends.protocol.page_records import with_sentence
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.proposed_request import ProposedRequest

_HEAD_LOCK = threading.Lock()
"""Held while a head's order and content are read, so that a higher order means newer content."""


class _HeadOrder:
    """Numbers the heads of this process, increasingly.

    An order is at least the time in microseconds, so that a page that missed a restart regards the heads of the
    new kernel as newer. The time of the import would not do: a kernel may be forked from a process that imported
    this module long before.
    """

    def __init__(self) -> None:
        self._newest_order = 0

    def next_order(self) -> int:
        """Return the order of the next head; the caller holds the lock."""
        self._newest_order = max(self._newest_order + 1, time.time_ns() // 1_000)
        return self._newest_order


_HEAD_ORDER = _HeadOrder()


def head_of(session: KernelSession) -> SessionHead:
    """Return the summary of an open session as of now."""
    return head_at(session, session.snapshot(messages=False))


def head_at(session: KernelSession, snapshot: Snapshot) -> SessionHead:
    """Return the summary of a session at a snapshot of it."""
    with _HEAD_LOCK:
        order, stepping, held_requests = _HEAD_ORDER.next_order(), session.stepping, session.held
    return SessionHead(
        session=session.id,
        title=snapshot.session.title if snapshot.session else "",
        notebook=snapshot.session.notebook if snapshot.session else None,
        read_only=session.read_only,
        seq=snapshot.seq,
        status=snapshot.status,
        asks=snapshot.asks,
        questions=snapshot.questions,
        stepping=stepping,
        held=tuple(_with_sentences(request) for request in held_requests),
        waiting=len(snapshot.inbox),
        partial=snapshot.partial,
        problem=snapshot.problem or None,
        notice=session.opening_notice or None,
        density=session.density,
        order=order,
    )


def _with_sentences(request: ProposedRequest) -> ProposedRequest:
    """Return a copy of a held request whose decisions have sentences."""
    decisions = tuple(with_sentence(decision) for decision in request.decisions)
    new_summary, older_summary = request.new_summary, request.older_summary
    update = {
        "decisions": decisions,
        "new_summary": with_sentence(new_summary) if new_summary is not None else None,
        "older_summary": with_sentence(older_summary) if older_summary is not None else None,
    }
    return request.model_copy(update=update)
