"""Keep the model requests of a session and expand the items of the newest.

A request record says "the first n items are those of the request before, then these"; so the newest one
is expanded backwards, only as far as items are shared. A shortened line refers to another one among
the applied lines, since each segment and each checkpoint begins with a full one. A request for a title or
a turn summary is not part of this chain: it shares nothing, and is never the newest.
"""

from typing import Any

from palimpsest.store.format.record_lines import load_line, seq_of
from palimpsest.store.format.request_shorthand import SHORT, FullRequests
from palimpsest.store.session_state.message_list import Report, event_of
from palimpsest.transcript.context_values.decisions import BESIDE, ContextItem, StepRequest
from palimpsest.transcript.session_record.events import StepRequested

ASIDE = tuple(f'"purpose":"{name}"'.encode() for name in sorted(BESIDE))
ASIDE_BYTES = 200
"""The purpose is within this many bytes of a line's beginning: it is the second field of a request."""


class Requests:
    """Holds the requests since the last one whose items were expanded."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._newest: StepRequest | None = None
        self._items: tuple[ContextItem, ...] = ()
        self._pending: list[StepRequest | bytes] = []
        self._lines: dict[int, bytes] = {}
        """Full lines, to which shortened ones may refer, by sequence number."""
        self._longhand = FullRequests(self._line)

    def put(self, request: StepRequest) -> None:
        """Add a request."""
        if request.purpose not in BESIDE:
            self._pending.append(request)

    def put_line(self, line: bytes) -> None:
        """Add a request's line, to be parsed later."""
        if any(one in line[:ASIDE_BYTES] for one in ASIDE):
            return
        self._pending.append(line)
        if SHORT not in line:
            number = seq_of(line)
            if number is not None:
                self._lines[number] = line

    @property
    def newest(self) -> StepRequest | None:
        """The newest request, as it was journaled."""
        while self._pending:
            request = self._parsed(len(self._pending) - 1)
            if request is not None:
                return request
            self._pending.pop()
        return self._newest

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """All items of the newest request."""
        newest = self.newest
        if self._pending:
            self._items = self._unfold()
            self._newest = newest
            self._pending.clear()
            self._lines = dict(list(self._lines.items())[-1:])
        return self._items

    def expanded(self) -> StepRequest | None:
        """Return the newest request with all its items expanded."""
        items, newest = self.items, self.newest
        return None if newest is None else newest.model_copy(update={"same": 0, "items": items})

    def _unfold(self) -> tuple[ContextItem, ...]:
        pieces: list[tuple[ContextItem, ...]] = []
        shared: int | None = None
        for index in range(len(self._pending) - 1, -1, -1):
            request = self._parsed(index)
            if request is None:
                continue
            own = (
                request.items if shared is None else request.items[: max(0, shared - request.same)]
            )
            pieces.append(own)
            shared = request.same if shared is None else min(shared, request.same)
            if shared == 0:
                break
        if shared:
            pieces.append(self._items[:shared])
        return tuple(item for piece in reversed(pieces) for item in piece)

    def _parsed(self, index: int) -> StepRequest | None:
        entry = self._pending[index]
        if isinstance(entry, StepRequest):
            return entry
        found = self._whole(entry) if SHORT in entry else self._read(entry)
        if found is not None:
            self._pending[index] = found
        return found

    def _read(self, line: bytes) -> StepRequest | None:
        event = event_of(line, self._report)
        return event.request if isinstance(event, StepRequested) else None

    def _whole(self, line: bytes) -> StepRequest | None:
        """Parse a shortened line; None when it cannot be read, which is reported."""
        try:
            data = self._longhand.fill(load_line(line) or {})
            return StepRequest.model_validate(data.get("request"))
        except ValueError as problem:
            self._report(line, str(problem))
            return None

    def _line(self, seq: int) -> dict[str, Any] | None:
        line = self._lines.get(seq)
        return None if line is None else load_line(line)
