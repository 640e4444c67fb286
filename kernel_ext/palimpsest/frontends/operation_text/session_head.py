"""The summary of a session that a page shows before it has the session's messages."""

import threading
import time

from palimpsest.frontends.protocol.connection import SessionHead
from palimpsest.frontends.protocol.page_records import with_sentence
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.context_values.proposed_request import ProposedRequest

_ORDERED = threading.Lock()
"""Held while a head's order and what it says are taken, so that the head with the higher order is the newer one."""


class _HeadOrder:
    """Counts the heads of this process.

    An order is at least the time in microseconds, so that a page which did not hear of a restart takes the heads of the
    new kernel for newer ones. The time of the import would not do: a kernel may be forked from a process that imported
    this long before.
    """

    def __init__(self) -> None:
        self._newest = 0

    def next(self) -> int:
        """Return the order of the next head; with the lock held."""
        self._newest = max(self._newest + 1, time.time_ns() // 1_000)
        return self._newest


_ORDER = _HeadOrder()


def head_of(session: KernelSession) -> SessionHead:
    """Return the summary of a session that a page shows before it has the session's messages."""
    return head_in(session, session.snapshot(messages=False))


def head_in(session: KernelSession, picture: Snapshot) -> SessionHead:
    """Return the summary at a moment of the session."""
    with _ORDERED:
        order, stepping, held = _ORDER.next(), session.stepping, session.held
    return SessionHead(
        session=session.id,
        title=picture.session.title if picture.session else "",
        notebook=picture.session.notebook if picture.session else None,
        read_only=session.read_only,
        seq=picture.seq,
        status=picture.status,
        asks=picture.asks,
        questions=picture.questions,
        stepping=stepping,
        held=tuple(_with_sentences(one) for one in held),
        waiting=len(picture.inbox),
        partial=picture.partial,
        problem=picture.problem or None,
        notice=session.opening_words or None,
        density=session.density,
        order=order,
    )


def _with_sentences(held: ProposedRequest) -> ProposedRequest:
    """Return a held request whose decisions have their sentences."""
    decisions = tuple(with_sentence(one) for one in held.decisions)
    new, older = held.new_summary, held.older_summary
    update = {
        "decisions": decisions,
        "new_summary": with_sentence(new) if new is not None else None,
        "older_summary": with_sentence(older) if older is not None else None,
    }
    return held.model_copy(update=update)
