"""Write a checkpoint of a session, with which opening it reads only the messages of its live window."""

from palimpsest.store.interface import Store, Writer
from palimpsest.store.session_state.live_window import LiveWindow, live_window, window_checkpoint
from palimpsest.store.session_state.message_facts import MessageFacts
from palimpsest.store.session_state.state import State, apply_records
from palimpsest.transcript.session_record.events import OTHER_EVENT_TYPES, Record


def write_checkpoint(store: Store, writer: Writer, state: State, now_ms: int) -> None:
    """Write a checkpoint, so that opening the session reads only the messages of its live window.

    It holds the index of the window's messages; the index of all messages is stored beside the log.
    """
    _write_window(writer, state, live_window(state), None, now_ms)
    store.keep_index(writer.session_id, MessageFacts.of_messages(state.messages()))


def write_recording_checkpoint(
    store: Store, writer: Writer, facts: MessageFacts, now_ms: int, *, has_summary: bool
) -> None:
    """Write the checkpoint of a recording's log without reading all of its messages, of which it may have any number.

    ``facts`` are of all messages. Without a summary all of them are in the window.
    """
    session_id = writer.session_id
    if has_summary:
        state = store.open_window(session_id)
        _write_window(writer, state, live_window(state), None, now_ms)
    else:
        state = apply_records(store.read(session_id, only=OTHER_EVENT_TYPES))
        window = LiveWindow(facts.first_seq, facts.message_count, {"messages": facts.message_count})
        _write_window(writer, state, window, facts, now_ms)
    store.keep_index(session_id, facts)


def _write_window(
    writer: Writer, state: State, window: LiveWindow, facts: MessageFacts | None, now_ms: int
) -> None:
    """Write the checkpoint of a window; without ``facts`` the state has the window's messages."""
    window_begin = writer.place_of_record(window.seq)
    event = window_checkpoint(state, window, window_begin, writer.written_lines, facts)
    writer.append([Record(seq=state.seq + 1, ts=now_ms, event=event)], sync=True)
