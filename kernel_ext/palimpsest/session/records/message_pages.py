"""Read a page of a session's messages, from memory or from the log, without reading the others."""

from collections.abc import Callable

from palimpsest.store.interface import Store
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import Messages

ReadState = Callable[[Callable[[State], Messages | None]], Messages | None]


def message_page(
    store: Store,
    session_id: str,
    read_state: ReadState,
    count: int,
    before_id: str,
    *,
    flush: Callable[[], object] = lambda: None,
) -> Messages:
    """Return ``count`` messages before the message ``before_id``, or the newest, oldest first; fewer at the beginning.

    ``read_state`` reads the messages in memory; older messages are read from the log, after ``flush``. Raises NotFound
    where there is no message with the id ``before_id``, and UserError for a count below 1.
    """
    if type(count) is not int or count < 1:
        raise UserError(f"A page has 1 message or more, not {count!r:.40}.")
    page = read_state(lambda state: _loaded_page(state, count, before_id))
    if page is not None:
        return page
    flush()
    older_page = _loaded_page(store.open_messages(session_id, before_id, count), count, before_id)
    return () if older_page is None else older_page


def _loaded_page(state: State, count: int, before_id: str) -> Messages | None:
    page = state.page(count, before_id)
    if before_id and page == () and state.message(before_id) is None and not state.is_partial:
        raise NotFound(f"There is no message {before_id!r} in this session.")
    return page
