"""Make the checkpoint of a session: its state without messages, where its live window begins, and an index of a long one."""

from collections.abc import Callable

from palimpsest.store.session_state.interrupted_work import is_settled
from palimpsest.store.session_state.live_window import LiveWindow
from palimpsest.store.session_state.message_index import INDEXED_MESSAGES, message_index
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import Checkpoint


def window_checkpoint(
    state: State,
    window: LiveWindow,
    place: tuple[str, int],
    written: Callable[[str, int], bytes],
) -> Checkpoint:
    """Return the checkpoint of a state whose window begins at a place: a segment, and a byte offset in it.

    ``written`` returns the segment's bytes from an offset on. An index with which the session was opened is kept as
    long as few messages came since.
    """
    segment, offset = place
    fields = state.summary() | window.extra
    indexed = len(window.extra.get("index", {}).get("ids", ()))
    if window.messages - indexed >= INDEXED_MESSAGES:
        messages = {message.id: message for message in state.messages()}
        index = message_index(written(segment, offset), window.seq, messages, is_settled)
        if index is not None and len(index.ids) > indexed:
            fields["index"] = index.model_dump(mode="json", exclude_none=True)
    return Checkpoint(
        state=fields, window_seq=window.seq, window_segment=segment, window_offset=offset
    )
