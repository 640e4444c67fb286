"""Say in one line what a session is, for the session list."""

from palimpsest.store.state import State
from palimpsest.store.store import ABOUT_CHARS, SessionSummary


def summarise(session_id: str, state: State) -> SessionSummary | None:
    """Return the session's line, or None when it never got a record of its own."""
    session = state.session
    if session is None:
        return None
    return SessionSummary(
        id=session_id,
        title=session.title,
        notebook=session.notebook,
        created=session.time.created,
        updated=session.time.updated,
        parent_id=session.parent_id,
        forked_from=session.forked_from,
        messages=state.older + len(state.slots()),
        deleted=state.deleted,
        archived=session.time.archived,
        shared=session.shared,
        about=session.about[:ABOUT_CHARS],
    )
