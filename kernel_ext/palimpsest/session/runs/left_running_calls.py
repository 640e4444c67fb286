"""Record in each Python call whether threads or processes that its code started still run.

A kernel that ends without warning cannot report what it was doing. So the work that a call left running is recorded
in the call's metadata, and removed when it ends or the session is closed: work that is still recorded when the next
kernel opens the session was running when the kernel ended (``store/session_state/interrupted_work.py``).
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

    Contract: any thread may report the end of such work, also before its call is in the log.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._marked_calls: dict[str, ToolPart] = {}
        """Calls whose record names work left running, by call id."""
        self._ended_call_ids: set[str] = set()
        """Ids of calls whose work has ended before their record was seen here."""
        journal.subscribe(self._on_records)

    def watched_runner(self, runner: PythonRunner) -> PythonRunner:
        """Return a runner that reports here when the work left running by its code has ended."""

        def on_code_ended(_code: str, call_id: str, outcome: PythonOutcome) -> None:
            if outcome.left_running is not None:
                all_ended = outcome.left_running.all_ended
                all_ended.add_done_callback(lambda _future: self._remove_mark(call_id))

        return ObservedRunner(runner, on_code_ended)

    def close(self) -> None:
        """Remove the work left running from all calls' records, since the kernel ends properly or closes the session."""
        with self._lock:
            call_ids = list(self._marked_calls)
        for call_id in call_ids:
            self._remove_mark(call_id)

    def _on_records(self, records: Sequence[Record]) -> None:
        for record in records:
            part = record.event.part if isinstance(record.event, PartUpdated) else None
            if not isinstance(part, ToolPart):
                continue
            with self._lock:
                if left_running(part):
                    self._marked_calls[part.call_id] = part
                else:
                    self._marked_calls.pop(part.call_id, None)
                has_ended = part.call_id in self._ended_call_ids
            if has_ended:
                self._remove_mark(part.call_id)

    def _remove_mark(self, call_id: str) -> None:
        with self._lock:
            part = self._marked_calls.pop(call_id, None)
            if part is None:
                self._ended_call_ids.add(call_id)
                return
            self._ended_call_ids.discard(call_id)
        with suppress(StorageFailed):  # the session was closed, or another kernel took it over
            newest_part = self._journal.read_state(
                lambda state: state.part(part.message_id, part.id)
            )
            if isinstance(newest_part, ToolPart) and left_running(newest_part):
                self._journal.append(PartUpdated(part=without_left_running(newest_part)), sync=True)
