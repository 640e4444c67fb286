"""Write a checkpoint of a session, with which opening it reads only the messages of its live window."""

from palimpsest.store.interface import Store, Writer
from palimpsest.store.session_state.live_window import live_window, window_checkpoint
from palimpsest.store.session_state.state import State
from palimpsest.transcript.session_record.events import Record


def write_checkpoint(store: Store, writer: Writer, state: State, now: int) -> None:
    """Write a checkpoint, so that opening the session reads only the messages of its live window.

    It holds the index of the window's messages; the index of all messages is stored beside the log.
    """
    window = live_window(state)
    event = window_checkpoint(state, window, writer.locate(window.seq), writer.written)
    writer.append([Record(seq=state.seq + 1, ts=now, event=event)], sync=True)
    store.keep_index(writer.session_id, state)
