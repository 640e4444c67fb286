"""Read a session without its reverted messages, for pages and exports, which leave the project."""

from palimpsest.context.request_kinds.turn_summary_request import without_turns
from palimpsest.session.revert.plan import hidden_by_revert
from palimpsest.store.exchange.json_export import readable_session
from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import PartRemoved, Record, SessionUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo, standing_revert


def visible_session(store: Store, session_id: str) -> tuple[State, SessionInfo]:
    """Return the whole state of a session without reverted messages and parts, and its record; raises NotFound."""
    state, session = readable_session(store, session_id)
    revert = standing_revert(session)
    if revert is None:
        return state, session
    removal = hidden_by_revert(state.messages(), revert)
    if session.summary is not None:
        summary = without_turns(session.summary, removal.message_ids, state.messages())
        session = session.model_copy(update={"summary": summary})
        update_event = SessionUpdated(session=session)
        state.apply(Record(seq=state.seq + 1, ts=0, event=update_event))
    state.forget_messages(set(removal.message_ids))
    for message_id, part_id in removal.part_id_pairs:
        event = PartRemoved(message_id=message_id, part_id=part_id)
        state.apply(Record(seq=state.seq + 1, ts=0, event=event))
    return state, session
