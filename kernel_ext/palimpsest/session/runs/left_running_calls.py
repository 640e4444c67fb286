"""Keep in each Python call's record whether something that its code left still runs.

A kernel that ends without warning cannot say what it was doing. So what goes on after a call stands in the call's
metadata from its end on, and is taken out when it is over or the session is closed: what still stands there when
the next kernel opens the session was running when the kernel ended (``store/session_state/interrupted_work.py``).
"""

import threading
from collections.abc import Sequence
from contextlib import suppress

from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.interrupted_work import left_running, without_left_running
from palimpsest.tools.execution.python import ObservedRunner
from palimpsest.tools.tool import PythonOutcome, PythonRunner
from palimpsest.transcript.errors import StorageFailed
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import PartUpdated, Record


class LeftRunningCalls:
    """The calls of one session whose code left something running.

    Contract: any thread may report that something is over, also before its call is in the log.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._marked: dict[str, ToolPart] = {}
        """Calls in whose record something is left running, by call id."""
        self._over: set[str] = set()
        """Calls of which nothing runs any more, and whose record may still say so."""
        journal.subscribe(self._written)

    def watch(self, runner: PythonRunner) -> PythonRunner:
        """Return a runner that reports here when what its code left running is over."""

        def ended(_code: str, call_id: str, outcome: PythonOutcome) -> None:
            if outcome.left_running is not None:
                outcome.left_running.over.add_done_callback(lambda _over: self._end(call_id))

        return ObservedRunner(runner, ended)

    def close(self) -> None:
        """Take all of it out of the record: the kernel ends as it should, or lets the session go."""
        with self._lock:
            calls = list(self._marked)
        for call_id in calls:
            self._end(call_id)

    def _written(self, records: Sequence[Record]) -> None:
        for record in records:
            part = record.event.part if isinstance(record.event, PartUpdated) else None
            if not isinstance(part, ToolPart):
                continue
            with self._lock:
                if left_running(part):
                    self._marked[part.call_id] = part
                else:
                    self._marked.pop(part.call_id, None)
                ended = part.call_id in self._over
            if ended:
                self._end(part.call_id)

    def _end(self, call_id: str) -> None:
        with self._lock:
            part = self._marked.pop(call_id, None)
            if part is None:
                self._over.add(call_id)
                return
            self._over.discard(call_id)
        with suppress(StorageFailed):  # the session was closed, or another kernel took it over
            newest = self._journal.read_state(lambda state: state.part(part.message_id, part.id))
            if isinstance(newest, ToolPart) and left_running(newest):
                self._journal.append(PartUpdated(part=without_left_running(newest)), sync=True)
