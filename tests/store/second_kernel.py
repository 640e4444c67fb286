"""A process that writes to a session: ``python -m tests.store.second_kernel PROJECT SESSION KERNEL [PAUSE]``.

Writes one message after the other, and prints a JSON line for each acknowledged one: its id, the session
that its journal writes, and any failure. Ends when standard input does.
"""

import json
import select
import sys
from pathlib import Path

from tests.store.record_builders import assistant, session

from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.store.session_state.state import State
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.events import SessionCreated

HEARTBEAT_SECONDS = 0.05
WATCH_SECONDS = 0.5


def main() -> None:
    """Write messages until standard input ends."""
    project, session_id, kernel_id = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    pause = float(sys.argv[4]) if len(sys.argv) > 4 else 0.005
    store = JsonlStore(
        open_project_folder(project),
        heartbeat_seconds=HEARTBEAT_SECONDS,
        watch_seconds=WATCH_SECONDS,
    )
    try:
        writer = store.acquire(session_id, this_owner(kernel_id), create=True)
    except UserError as error:
        say({"refused": type(error).__name__, "why": str(error)})
        return
    book = Journal(writer, State(), clock=lambda: 1, tick_seconds=0.002)
    book.append(SessionCreated(session=session(session_id)))
    number = 0
    while not select.select([sys.stdin], [], [], pause if number else 0)[0]:
        number += 1
        name = f"msg_{kernel_id}_{number}"
        book.append(assistant(name), sync=True)
        if book.flush_sync(sync=True):
            say({"kept": name, "session": book.session_id, "failed": book.failure})
    book.close()


def say(line: dict[str, object]) -> None:
    """Print a line and flush."""
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
