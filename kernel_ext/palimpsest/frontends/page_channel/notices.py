"""Build the notices about a session: its whole state, and its records in batches.

Border: values only; the channel publishes them.
"""

import asyncio
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from palimpsest.frontends.operation_text.session_head import head_at
from palimpsest.frontends.protocol.page_records import page_record, with_sentence, without_replaced
from palimpsest.frontends.protocol.transcript import ContextFill, RecordsNotice, SessionStateNotice
from palimpsest.session.engine import Snapshot
from palimpsest.session.open_sessions.followed_session import KernelSession
from palimpsest.transcript.session_record.events import Record

ItemT = TypeVar("ItemT")
MAX_NOTICE_CHARS = 250_000
"""Approximate size of a notice; a browser can draw between two of them."""


def _context_fill(snapshot: Snapshot) -> ContextFill | None:
    request = snapshot.request
    if request is None or request.purpose != "step":
        return None
    return ContextFill(
        tokens=request.tokens,
        kinds=request.kinds,
        window=request.facts.window,
        reserve=request.facts.reserve,
        message_id=request.message_id,
    )


def session_states(session: KernelSession, resync_id: str) -> Iterator[SessionStateNotice]:
    """Yield a session's complete state in notices of bounded size."""
    snapshot = session.snapshot()
    head = head_at(session, snapshot)
    batches = in_batches(snapshot.messages, lambda message: len(message.model_dump_json()))
    pieces = list(batches) or [()]
    decisions = tuple(with_sentence(decision) for decision in session.decisions())
    for number, piece in enumerate(pieces):
        is_last = number == len(pieces) - 1
        yield SessionStateNotice(
            session=session.id,
            resync=resync_id,
            seq=snapshot.seq,
            head=head,
            messages=piece,
            todos=snapshot.todos,
            inbox=snapshot.inbox,
            info=snapshot.session,
            replies=snapshot.replies,
            decisions=decisions if is_last else (),
            context_fill=_context_fill(snapshot),
            piece=number,
            pieces=len(pieces),
            last=is_last,
        )


def new_records(session_id: str, records: Sequence[Record]) -> Iterator[RecordsNotice]:
    """Yield new records in notices of bounded size, without records that later ones of the batch replace."""
    for batch in in_batches(map(page_record, records), _json_chars):
        yield RecordsNotice(session=session_id, records=without_replaced(batch))


def records_since(
    session: KernelSession, after_seq: int, resync_id: str
) -> Iterator[RecordsNotice]:
    """Yield a session's records after a sequence number in notices of bounded size, read from its log."""
    records = map(page_record, session.records_after(after_seq))
    batches = list(in_batches(records, _json_chars)) or [()]
    for number, batch in enumerate(batches):
        is_last = number == len(batches) - 1
        yield RecordsNotice(
            session=session.id, records=batch, resync=resync_id, after=after_seq, last=is_last
        )
        after_seq = batch[-1]["seq"] if batch else after_seq


async def missed_notices(
    session: KernelSession, after_seq: int | None, resync_id: str
) -> Iterable[SessionStateNotice | RecordsNotice]:
    """Return the notices that a page missed: the records after a sequence number, or the complete state for None."""
    if after_seq is None:
        return session_states(session, resync_id)
    return await asyncio.to_thread(lambda: list(records_since(session, after_seq, resync_id)))


def _json_chars(record: dict[str, Any]) -> int:
    return len(json.dumps(record))


def in_batches(
    items: Iterable[ItemT], count_chars: Callable[[ItemT], int]
) -> Iterator[tuple[ItemT, ...]]:
    """Yield items in batches of bounded size; a larger item is its own batch. ``count_chars`` returns characters."""
    batch: list[ItemT] = []
    chars_left = MAX_NOTICE_CHARS
    for item in items:
        chars = count_chars(item)
        if batch and chars > chars_left:
            yield tuple(batch)
            batch, chars_left = [], MAX_NOTICE_CHARS
        batch.append(item)
        chars_left -= chars
    if batch:
        yield tuple(batch)
