"""Build the notices about a session: its whole state, and its records in batches.

Border: values to values; publishing is the channel's work.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from palimpsest.frontends.operation_text.session_head import head_in
from palimpsest.frontends.protocol.context import ContextFill
from palimpsest.frontends.protocol.page_records import (
    page_record,
    with_sentence,
    without_replaced,
)
from palimpsest.frontends.protocol.transcript import RecordsNotice, SessionStateNotice
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.session_record.events import Record

ItemT = TypeVar("ItemT")
NOTICE_CHARS = 250_000
"""About the size of one notice; a browser can draw between two of them."""


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
    head = head_in(session, picture)
    pieces = list(in_batches(picture.messages, lambda one: len(one.model_dump_json()))) or [()]
    decisions = tuple(with_sentence(one) for one in session.decisions())
    for number, piece in enumerate(pieces):
        last = number == len(pieces) - 1
        yield SessionStateNotice(
            session=session.id,
            resync=resync,
            seq=picture.seq,
            head=head,
            messages=piece,
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
    for batch in in_batches(map(page_record, records), _json_chars):
        yield RecordsNotice(session=session_id, records=without_replaced(batch))


def records_since(session: KernelSession, after: int, resync: str) -> Iterator[RecordsNotice]:
    """Yield a session's records after a sequence number in notices of bounded size, read from its log."""
    records = map(page_record, session.records_after(after))
    batches = list(in_batches(records, _json_chars)) or [()]
    for number, batch in enumerate(batches):
        last = number == len(batches) - 1
        yield RecordsNotice(
            session=session.id, records=batch, resync=resync, after=after, last=last
        )
        after = batch[-1]["seq"] if batch else after


async def resynced(
    session: KernelSession, after: int | None, resync: str
) -> Iterable[SessionStateNotice | RecordsNotice]:
    """Return what a page missed: the records after a sequence number, or the whole state where it has none."""
    if after is None:
        return session_states(session, resync)
    return await asyncio.to_thread(lambda: list(records_since(session, after, resync)))


def _json_chars(record: dict[str, Any]) -> int:
    return len(json.dumps(record))


def in_batches(items: Iterable[ItemT], size: Callable[[ItemT], int]) -> Iterator[tuple[ItemT, ...]]:
    """Yield items in batches of bounded size; one huge item is a batch of its own. ``size`` is in characters."""
    batch: list[ItemT] = []
    room = NOTICE_CHARS
    for item in items:
        chars = size(item)
        if batch and chars > room:
            yield tuple(batch)
            batch, room = [], NOTICE_CHARS
        batch.append(item)
        room -= chars
    if batch:
        yield tuple(batch)
