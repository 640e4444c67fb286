"""A recorded session that is written in OpenCode's layout and read again has the same messages."""

from pathlib import Path

from hypothesis import HealthCheck, given, settings
from tests.harness.sample_session import BEGUN, SampleSession
from tests.recordings.formats.session_values import values_of
from tests.recordings.formats.test_atif_round_trip import recordings
from tests.store.record_builders import SESSION

from palimpsest.recordings.reading.recorded import Recorded
from palimpsest.session.sharing.exports import export_session
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.log.memory_store import MemoryStore
from palimpsest.transcript.messages import Message
from palimpsest.transcript.session_record.events import MessageUpdated, PartUpdated


def stored(recorded: list[Recorded]) -> MemoryStore:
    store, sample_session = MemoryStore(), SampleSession()
    for number, message in enumerate(values_of(recorded)[0].messages):
        created = message.info.time.model_copy(update={"created": BEGUN + number})
        info = message.info.model_copy(update={"session_id": SESSION, "time": created})
        sample_session.events.append(MessageUpdated(info=info))
        for part in message.parts:
            sample_session.events.append(
                PartUpdated(part=part.model_copy(update={"session_id": SESSION}))
            )
    sample_session.write(store)
    return store


def free(value: object) -> dict[str, float]:
    """Return a cost that is unknown as OpenCode has it, 0; nothing for other values."""
    unknown = hasattr(value, "cost") and value.cost is None
    return {"cost": 0.0} if unknown else {}


def known(message: Message) -> Message:
    """Return a message without notes on the translation; OpenCode has no word for an unknown cost."""
    info = message.info.model_copy(update={"opencode": None} | free(message.info))
    parts = [
        text_part.model_copy(update={"opencode": None} | free(text_part))
        for text_part in message.parts
    ]
    parts.sort(key=lambda part: part.id)  # ids that are not OpenCode's say nothing of the order
    return message.model_copy(update={"info": info, "parts": tuple(parts)})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(recordings())
def test_messages_calls_results_and_usage_survive(tmp_path: Path, recorded: list[Recorded]) -> None:
    store, elsewhere = stored(recorded), MemoryStore()
    folder = tmp_path / str(len(list(tmp_path.iterdir())))

    export_session(store, SESSION, "opencode", folder, cwd=tmp_path, environment={})
    report = import_sessions(elsewhere, folder, lambda: BEGUN)

    assert report.problems == ()
    found = [known(message) for message in elsewhere.load(SESSION).messages()]
    assert found == [known(message) for message in store.load(SESSION).messages()]
