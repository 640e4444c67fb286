"""A kernel that is killed during a compaction continues with the whole history."""

import os
import random
import signal
from itertools import count
from pathlib import Path

import pytest
from tests.kill.kill_runs import MAX_ACKNOWLEDGEMENTS, VictimForkServer, examine
from tests.sample_size import sample_size

from palimpsest.context.visible_messages import View, good_summaries, marker
from palimpsest.context_policies.whatif.exact_whatif import exact_whatif
from palimpsest.recordings.reconstruction.requests import rebuild_all
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.transcript.messages import AssistantMessage, Message
from palimpsest.transcript.session_record.events import SessionCompacted

KILLS = max(
    int(os.environ.get("PALIMPSEST_KILLS", sample_size(40, 10_000))) // 20, sample_size(2, 4)
)
MAX_LIFE_SECONDS = 0.2
"""About the duration of all summary parts, drafts, the check of the summary and the answer."""
SESSION = "ses_victim"


@pytest.mark.slow
@pytest.mark.timeout(300 + 10 * KILLS)
def test_a_kill_in_the_middle_of_a_compaction_cuts_nothing(tmp_path: Path) -> None:
    rng, wrong = random.Random(4), []
    halves = between = 0
    with VictimForkServer("tests.kill.compaction_workload:compactions") as victims:
        for number in count():
            # How many of the moments are worth something depends on the machine's load.
            if number >= KILLS and halves >= max(KILLS // 4, 1) and (between or KILLS < 10):
                break
            project = tmp_path / f"project{number // 3}"
            project.mkdir(exist_ok=True)
            life = victims.kill_one(
                project,
                SESSION,
                number,
                acks=rng.randint(1, MAX_ACKNOWLEDGEMENTS),
                life_seconds=rng.uniform(0, MAX_LIFE_SECONDS),
            )
            assert life.status == signal.SIGKILL
            faults, _, interrupted = examine(project, SESSION, life.acknowledged)
            wrong += faults
            store = JsonlStore(open_project_folder(project))
            wrong += seen_wrongly(store)
            halves += interrupted > 0
            between += stopped_between_parts(store)

    assert wrong == []


def seen_wrongly(store: JsonlStore) -> list[str]:
    """Return faults of the visible history: missing messages, or the effects of an unfinished compaction."""
    wrong = []
    state = store.load(SESSION)
    messages = state.messages()
    visible = View(messages, state.decisions).folded_messages()
    good = good_summaries(messages)
    newest = max((at for at, message in enumerate(messages) if message.id in good), default=None)
    first = 0 if newest is None else tail_of(messages, newest)
    missing = {message.id for message in messages[first:]} - {one.id for one in visible}
    if missing:
        wrong.append(f"messages are not shown: {sorted(missing)[:3]}")
    events = [record.event for record in store.read(SESSION)]
    claimed = {event.message_id for event in events if isinstance(event, SessionCompacted)}
    if not claimed <= set(good):
        wrong.append("a compaction was called complete that has no good summary")
    if not all(one.matches for one in rebuild_all(store, SESSION, store.read(SESSION))):
        wrong.append("a request is rebuilt otherwise than it was sent")
    if not exact_whatif(store, SESSION).is_unchanged:
        wrong.append("a request is replayed otherwise than it was sent")
    return wrong


def tail_of(messages: tuple[Message, ...], at: int) -> int:
    """Return the index at which the tail of this marker's compaction begins."""
    asked = marker(messages[at])
    ids = [message.id for message in messages]
    return ids.index(asked.tail_start_id) if asked and asked.tail_start_id in ids else at


def stopped_between_parts(store: JsonlStore) -> bool:
    """Return whether a summary was interrupted after its first part was recorded."""
    return any(
        isinstance(message.info, AssistantMessage)
        and message.info.summary
        and message.info.error is not None
        and any(getattr(part, "ignored", False) for part in message.parts)
        for message in store.load(SESSION).messages()
    )
