"""A process that takes a session's lease repeatedly.

Usage: ``python -m tests.store.takeover_kernel PROJECT SESSION KERNEL SECONDS SEED``. It takes the session
from its holder, writes for a moment, and repeats. It begins with the first line that it reads, and prints that it
waits for it, then what was acknowledged: the message, and the session that holds it.
"""

import random
import sys
import time
from pathlib import Path

from tests.store.record_builders import assistant
from tests.store.second_kernel import say

from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.layout import open_project_folder
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.transcript.errors import UserError


def main() -> None:
    """Take the lease and write until the time is over."""
    say({"waits": True})
    sys.stdin.readline()
    project, session_id, kernel_id = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    until, rng = time.monotonic() + float(sys.argv[4]), random.Random(sys.argv[5])
    number = 0
    while time.monotonic() < until:
        store = JsonlStore(open_project_folder(project), heartbeat_seconds=0.01, watch_seconds=0.02)
        try:
            writer = store.acquire(session_id, this_owner(kernel_id), steal=True)
        except UserError:
            continue
        book = Journal(writer, store.load(session_id), clock=lambda: 1, tick_seconds=0)
        for _ in range(rng.randrange(1, 12)):
            number += 1
            name = f"msg_{kernel_id}_{number}"
            # Long lines too, so that the growth of a file during a write can be observed.
            book.append(assistant(name, "msg_" + "x" * rng.choice((1, 20_000, 400_000))))
            is_written = book.flush_sync(sync=rng.random() < 0.2)
            if is_written:
                say({"kept": name, "session": book.session_id})
            time.sleep(rng.random() * 0.004)
        book.close()


if __name__ == "__main__":
    main()
