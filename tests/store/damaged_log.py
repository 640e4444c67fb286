"""Build a small session with all kinds of records, and check what a damaged copy must still contain."""

import hashlib
import json
import random
from pathlib import Path

from tests.bench.generate_session import LogAuthor, generate
from tests.store.record_builders import OWNER, SESSION, assistant, text, whole_state

from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.transcript.messages import Message

TURNS = 6
TURN_BYTES = 2_000


class FarIds(LogAuthor):
    """An author with distant ids, so that no flipped bit turns one into another."""

    def new(self, prefix: str) -> str:
        """Return a new id."""
        self.count += 1
        return f"{prefix}_{hashlib.sha256(str(self.count).encode()).hexdigest()[:26]}"


def write_session(store: JsonlStore, *, turns: int = TURNS, close: bool = True) -> None:
    """Write a session with streamed answers, tools, requests, and a compaction in the middle."""
    author = FarIds(SESSION, random.Random(3), turns, TURN_BYTES, compact_every=4)
    generate(store, SESSION, turns=turns, close=close, author=author)


def log_of(store: JsonlStore, epoch: int = 1) -> Path:
    """Return the path of one of the session's segments."""
    return store.layout.session(SESSION) / f"log-{epoch}.jsonl"


def _names(line: bytes) -> set[str]:
    try:
        data = json.loads(line)
    except ValueError:
        return set()
    named = {data.get("message_id")} if str(data.get("type")).startswith("message.") else set()
    named |= {data.get("info", {}).get("id"), data.get("part", {}).get("message_id")}
    return {name for name in named if name}


def touched(before: bytes, after: bytes) -> set[str]:
    """Return the ids of messages with a line that was changed, moved or removed."""
    old, new = before.split(b"\n"), after.split(b"\n")
    shorter = min(len(old), len(new))
    begin = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    same = range(shorter - begin)
    end = next((at for at in same if old[-1 - at] != new[-1 - at]), shorter - begin)
    return {name for line in old[begin : len(old) - end] for name in _names(line)}


def untouched(messages: tuple[Message, ...], gone: set[str]) -> list[Message]:
    """Return the undamaged messages, in order."""
    return [message for message in messages if message.id not in gone]


def check_kept(
    store: JsonlStore, messages: tuple[Message, ...], gone: set[str], live: set[str]
) -> None:
    """Assert that only damaged messages are lost, however the session is opened."""
    wanted = untouched(messages, gone)
    names = {message.id for message in wanted}
    whole = store.load(SESSION)
    assert [m for m in whole.messages() if m.id in names] == wanted
    inside = [message for message in wanted if message.id in live]
    opened = store.open_live(SESSION)
    assert [m for m in opened.messages() if m.id in live & names] == inside
    for state in (whole, opened):
        whole_state(state)
        state.summary()
        json.dumps(state.summary())


def go_on(store: JsonlStore, message_id: str = "msg_new") -> None:
    """Open the session as a kernel does, write an answer, and close it."""
    writer = store.acquire(SESSION, OWNER)
    journal = Journal(writer, store.open_live(SESSION), clock=lambda: 1_790_000_900_000)
    journal.append(assistant(message_id, created=1_790_000_900_000))
    journal.append(text("prt_new", message_id, "Written afterwards."))
    assert journal.flush_sync(), journal.failure
    journal.close()
