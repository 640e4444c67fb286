"""Keep the model requests of a session and unfold the items of the newest.

A request says "the first n items are those of the request before, then these"; so the newest one
is unfolded backwards, only as far as something is shared.
"""

from palimpsest.store.slots import Report, event_of
from palimpsest.transcript.decisions import ContextItem, StepRequest
from palimpsest.transcript.events import StepRequested


class Requests:
    """The chain of requests since the last one that was unfolded."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._newest: StepRequest | None = None
        self._items: tuple[ContextItem, ...] = ()
        self._pending: list[StepRequest | bytes] = []

    def put(self, request: StepRequest) -> None:
        """Take in a request."""
        self._pending.append(request)

    def put_line(self, line: bytes) -> None:
        """Take in a request's line, to be parsed later."""
        self._pending.append(line)

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
        return self._items

    def expanded(self) -> StepRequest | None:
        """Return the newest request with all its items in itself."""
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
        event = event_of(entry, self._report)
        if not isinstance(event, StepRequested):
            return None
        self._pending[index] = event.request
        return event.request
