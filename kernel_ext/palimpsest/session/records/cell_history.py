"""Tell what the agent did to one cell: by which calls, in answer to which prompts, and who allowed it.

Border: a session's messages and records in, values out; other sessions' logs are only read.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from palimpsest.session.records.request_numbers import REQUEST_EVENTS, numbered_requests
from palimpsest.store.interface import Store
from palimpsest.tools.notebook.seen_sources import changes_of_call
from palimpsest.transcript.context_values.cell_changes import CellHistory, WrittenCell
from palimpsest.transcript.context_values.cell_runs import CellRun
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import Message, Messages, UserMessage, typed_texts
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import (
    PartUpdated,
    PermissionAsked,
    PermissionReplied,
    Record,
)
from palimpsest.transcript.session_record.sessions import SessionInfo

HISTORY_EVENTS = REQUEST_EVENTS | {"permission.asked", "permission.replied"}
"""The types of the records that a history is made of."""
MAX_PROMPT_CHARS = 120


def named_cell(name: str, runs: Iterable[CellRun]) -> tuple[str, int | None]:
    """Return id and number of the cell whose newest run has ``name`` as its number or id; ``name`` itself and None where none ran."""
    runs_with_id = [run for run in runs if run.cell_id]
    newest_run = next(
        (run for run in reversed(runs_with_id) if name in (str(run.number), run.cell_id)), None
    )
    return (name, None) if newest_run is None else (str(newest_run.cell_id), newest_run.number)


def cell_history(
    cell_id: str,
    number: int | None,
    session: SessionInfo,
    messages: Messages,
    records: Iterable[Record],
) -> CellHistory:
    """Return what the calls of a session did to a cell, without what was rejected before it was made."""
    records = tuple(records)
    message_ids = numbered_requests(records)
    request_numbers = {
        message_id: request_number for request_number, message_id in enumerate(message_ids, 1)
    }
    repliers = _repliers(records)
    changes: list[WrittenCell] = []
    prompt = ""
    for message in messages:
        if isinstance(message.info, UserMessage):
            if not message.info.by_engine:
                prompt = _prompt_text(message) or prompt
            continue
        for part in message.parts:
            if not isinstance(part, ToolPart):
                continue
            changes += [
                WrittenCell(
                    session=session.id,
                    title=session.title,
                    message=message.id,
                    call=part.call_id,
                    request=request_numbers.get(message.id),
                    prompt=prompt,
                    approved_by=repliers.get(part.call_id, ""),
                    change=change,
                )
                for change in changes_of_call(part)
                if change.cell == cell_id and (change.state != "rejected" or change.undone)
            ]
    return CellHistory(cell=cell_id, number=number, changes=tuple(changes))


def history_elsewhere(
    cell_id: str, number: int | None, store: Store, session_ids: Sequence[str]
) -> CellHistory:
    """Return what the first of some sessions that changed a cell did to it; no changes where none did; blocks."""
    for session_id in session_ids:
        with suppress(NotFound):  # it was deleted meanwhile, or the name is nobody's
            if not _has_changed(cell_id, store.read(session_id, only=("message.part.updated",))):
                continue
            state = store.load(session_id)
            if state.session is None:
                continue
            records = store.read(session_id, only=HISTORY_EVENTS)
            history = cell_history(cell_id, number, state.session, state.messages(), records)
            if history.changes:
                return history.model_copy(update={"is_elsewhere": True})
    return CellHistory(cell=cell_id, number=number)


def _has_changed(cell_id: str, records: Iterable[Record]) -> bool:
    return any(
        change.cell == cell_id
        for record in records
        if isinstance(record.event, PartUpdated) and isinstance(record.event.part, ToolPart)
        for change in changes_of_call(record.event.part)
    )


def _repliers(records: Iterable[Record]) -> dict[str, str]:
    """Return who answered the newest question of each call, by the call's id."""
    call_id_by_ask_id: dict[str, str] = {}
    repliers: dict[str, str] = {}
    for record in records:
        match record.event:
            case PermissionAsked(ask=ask) if ask.call_id is not None:
                call_id_by_ask_id[ask.id] = ask.call_id
            case PermissionReplied(ask_id=ask_id, reply=reply) if ask_id in call_id_by_ask_id:
                repliers[call_id_by_ask_id[ask_id]] = reply.by
            case _:
                pass
    return repliers


def _prompt_text(message: Message) -> str:
    line = " ".join(" ".join(typed_texts(message)).split())
    return line if len(line) <= MAX_PROMPT_CHARS else f"{line[: MAX_PROMPT_CHARS - 1]}…"
