"""What the loop reads of a session is what the journal's state holds, though it is read once between two records."""

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.store.record_builders import OWNER, SESSION, assistant, session, text

from palimpsest.processor.session_log import SessionLog
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.store.session_state.state import State
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import MessagePath
from palimpsest.transcript.session_record.events import (
    MessageRemoved,
    PartDelta,
    SessionCreated,
    SessionUpdated,
    TodoUpdated,
)
from palimpsest.transcript.values import Todo

STEPS = st.sampled_from(["answer", "part", "delta", "todos", "title", "remove", "widen", "look"])


@settings(deadline=None)
@given(st.lists(STEPS, max_size=12))
def test_what_is_read_equals_the_state_after_every_change(steps: list[str]) -> None:
    store = MemoryStore()
    writer = store.acquire(SESSION, OWNER, create=True)
    journal = Journal(writer, State(), clock=lambda: 0, tick_seconds=0.001)
    log = SessionLog(
        journal,
        blobs=store,
        ids=Ids(lambda: 0, lambda length: bytes(length)),
        clock=lambda: 0,
        path=MessagePath(cwd="/w", root="/w"),
    )
    log.append(SessionCreated(session=session()))
    for number, step in enumerate(steps):
        message = f"msg_made_{number}"
        match step:
            case "answer":
                log.append(assistant(message))
            case "part":
                log.append(assistant(message), text(f"prt_{number}", message, "words"))
            case "delta":
                log.append(assistant(message), text(f"prt_{number}", message, "words"))
                log.append(
                    PartDelta(
                        message_id=message, part_id=f"prt_{number}", field="text", delta=" and more"
                    )
                )
            case "todos":
                todo = Todo(content=str(number))
                log.append(TodoUpdated(todos=(todo,)))
            case "title" if log.state.session is not None:
                titled = log.state.session.model_copy(update={"title": str(number)})
                log.append(SessionUpdated(session=titled))
            case "remove" if log.state.messages():
                log.append(MessageRemoved(message_id=log.state.messages()[-1].id))
            case "widen":
                journal.load_whole(lambda: store.load(SESSION))
            case _:
                pass
        state, seen = journal.state, log.state
        assert seen.messages() == state.messages()
        assert seen.newest_message() == state.newest_message()
        assert (seen.session, seen.todos, seen.seq) == (state.session, state.todos, state.seq)
        assert seen.message(message) == state.message(message)
        assert seen.messages_with_part("subtask") == state.messages_with_part("subtask")
    journal.close()
