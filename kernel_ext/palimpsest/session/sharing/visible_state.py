"""Remove reverted messages from a folded session, for what leaves the project: pages and exports."""

from palimpsest.context.request_kinds.turn_summary_request import without_turns
from palimpsest.session.revert.plan import hidden_by_revert
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import PartRemoved, Record, SessionUpdated
from palimpsest.transcript.session_record.sessions import standing_revert


def without_reverted(state: State) -> State:
    """Remove what a revert hides from a state that the caller owns; returns the same state."""
    revert = standing_revert(state.session)
    if revert is None:
        return state
    gone = hidden_by_revert(state.messages(), revert)
    session = state.session
    if session is not None and session.summary is not None:
        told = without_turns(session.summary, gone.messages, state.messages())
        changed = SessionUpdated(session=session.model_copy(update={"summary": told}))
        state.apply(Record(seq=state.seq + 1, ts=0, event=changed))
    state.drop(set(gone.messages))
    for message_id, part_id in gone.parts:
        event = PartRemoved(message_id=message_id, part_id=part_id)
        state.apply(Record(seq=state.seq + 1, ts=0, event=event))
    return state
