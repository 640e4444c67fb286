"""Build the notices about a session: its summary, its whole state, its records in batches, its choices.

Border: values to values; publishing is the channel's work.
"""

import json
import threading
import time
from collections.abc import Iterator, Sequence
from typing import Any

from palimpsest.frontends.cell_turn.services import FrontendServices
from palimpsest.frontends.protocol.choices import AgentChoice, Choices, ModeChoice, ModelChoice
from palimpsest.frontends.protocol.connection import SessionHead
from palimpsest.frontends.protocol.context import ContextFill
from palimpsest.frontends.protocol.page_records import (
    page_record,
    with_sentence,
    without_replaced,
)
from palimpsest.frontends.protocol.transcript import RecordsNotice, SessionStateNotice
from palimpsest.session.definitions.agents import subagents_of
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.tools.permission_rules.modes import MEANINGS, MODES
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import ConfigError
from palimpsest.transcript.session_record.events import Record

NOTICE_CHARS = 250_000
"""About the size of one notice; a browser can draw between two of them."""

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
    return _head(session, session.snapshot(messages=False))


def _head(session: KernelSession, picture: Snapshot) -> SessionHead:
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


def _named(definitions: Any, kind: str) -> tuple[AgentChoice, ...]:
    """Return the commands, skills or agents that a prompt can name, with their descriptions."""
    if definitions is None:
        return ()
    definitions.refresh()
    kinds = {"commands": definitions.commands, "skills": definitions.skills}
    found = kinds[kind] if kind in kinds else subagents_of(definitions.agents)
    return tuple(AgentChoice(name=name, description=one.description) for name, one in found.items())


def own_commands(services: FrontendServices) -> frozenset[str]:
    """Return the names of the commands that the project and the settings define; reads their files."""
    return frozenset(one.name for one in _named(getattr(services, "definitions", None), "commands"))


def choices_of(services: FrontendServices) -> Choices:
    """Return what the application offers for a prompt; the services of a test may offer less."""
    models = getattr(services, "models", None)
    agents = getattr(services, "agents", None)
    default = getattr(services, "default_model", None)
    named = tuple(agents()) if callable(agents) else ()
    known = getattr(services, "definitions", None)
    return Choices(
        models=tuple(
            ModelChoice(id=name, window=window, because=because)
            for name, window, because in (models() if callable(models) else ())
            # A row without a model's name reports a server that does not answer.
            if "/" in name
        ),
        agents=tuple(AgentChoice(name=name, description=words) for name, words in named),
        model=_default(default),
        agent=named[0][0] if named else "",
        commands=_named(known, "commands"),
        skills=_named(known, "skills"),
        subagents=_named(known, "helpers"),
        **permission_choices(services),
    )


def _default(default: Any) -> str:
    """Return the model that answers by default; empty where a configured server names none."""
    try:
        return str(default()) if callable(default) else ""
    except ConfigError:
        return ""


def _context_fill(picture: Snapshot) -> ContextFill | None:
    request = picture.request
    if request is None or request.purpose != "step":
        return None
    return ContextFill(
        tokens=request.tokens,
        kinds=request.kinds,
        window=request.facts.window,
        reserve=request.facts.reserve,
        message_id=request.message_id,
    )


def session_states(session: KernelSession, resync: str) -> Iterator[SessionStateNotice]:
    """Yield a session's whole state in notices of bounded size."""
    picture = session.snapshot()
    head = _head(session, picture)
    pieces: list[list[Any]] = [[]]
    room = NOTICE_CHARS
    for message in picture.messages:
        size = len(message.model_dump_json())
        if size > room and pieces[-1]:
            pieces.append([])
            room = NOTICE_CHARS
        pieces[-1].append(message)
        room -= size
    decisions = tuple(with_sentence(one) for one in session.decisions())
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        yield SessionStateNotice(
            session=session.id,
            resync=resync,
            seq=picture.seq,
            head=head,
            messages=tuple(piece),
            todos=picture.todos,
            inbox=picture.inbox,
            info=picture.session,
            replies=picture.replies,
            decisions=decisions if last else (),
            context_fill=_context_fill(picture),
            piece=number,
            pieces=len(pieces),
            last=last,
        )


def new_records(session_id: str, records: Sequence[Record]) -> Iterator[RecordsNotice]:
    """Yield records as they are written, in notices of bounded size without what they replace themselves."""
    for batch in in_batches([page_record(record) for record in records]):
        yield RecordsNotice(session=session_id, records=without_replaced(batch))


def records_since(session: KernelSession, after: int, resync: str) -> Iterator[RecordsNotice]:
    """Yield a session's records after a sequence number in notices of bounded size, read from its log."""
    records = [page_record(record) for record in session.records_after(after)]
    batches = list(in_batches(records)) or [()]
    for number, batch in enumerate(batches):
        last = number == len(batches) - 1
        yield RecordsNotice(
            session=session.id, records=batch, resync=resync, after=after, last=last
        )
        after = batch[-1]["seq"] if batch else after


def in_batches(records: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], ...]]:
    """Yield records in batches of bounded size; one huge record is a batch of its own."""
    batch: list[dict[str, Any]] = []
    room = NOTICE_CHARS
    for record in records:
        size = len(json.dumps(record))
        if batch and size > room:
            yield tuple(batch)
            batch, room = [], NOTICE_CHARS
        batch.append(record)
        room -= size
    if batch:
        yield tuple(batch)


def permission_choices(services: Any) -> dict[str, Any]:
    """Return the modes, the configured one, and the settings that wait for the person's trust."""
    config = getattr(services, "config", None)
    return {
        "modes": tuple(ModeChoice(name=mode, description=MEANINGS[mode]) for mode in MODES),
        "mode": getattr(getattr(config, "value", None), "mode", "ask"),
        "untrusted": tuple(one.words for one in getattr(config, "held", ())),
    }
