"""Step mode: hold each request of a session until a person lets it go.

Whether it is on is kept with what the user allowed, outside the project, so that no file of a project can switch it
on or answer it. Nothing of a held request is in the log. The requests of a task's session are held by the session
that handed the task on, which is the one that a person looks at.
"""

import asyncio
import threading
import uuid
from collections.abc import Callable, Sequence

from palimpsest.loop.run_inputs.request_hold import Propose
from palimpsest.session.permissions.grants import Grants
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import Aborted
from palimpsest.transcript.session_record.events import DecisionMade, Record, SessionUpdated

KEY = "step"
CHANGES = (DecisionMade, SessionUpdated)
"""Records after which a held request is proposed anew: context edits, and the session's policy and limit."""
INERT = (
    "Step mode is on, and nobody is here to let a request go, so requests are sent as if it were off. "
    "%agent step off ends this."
)


class _HeldRequest:
    """One request that waits: its newest proposal, and whether it was let go."""

    def __init__(self) -> None:
        self.id = f"hold_{uuid.uuid4().hex}"
        self.proposal: ProposedRequest | None = None
        self.released = False
        self.changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def wake(self) -> None:
        """Look again at what holds; from any thread."""
        self._loop.call_soon_threadsafe(self.changed.set)

    def heard(self, records: Sequence[Record]) -> None:
        """Propose anew after records that change what would be sent; on the writer thread."""
        if any(isinstance(one.event, CHANGES) for one in records):
            self.wake()

    def differs(self, proposal: ProposedRequest) -> bool:
        """Return whether a proposal says something else than the newest one, apart from its time."""
        before = self.proposal
        if before is None:
            return True
        same = {"now": before.now, "id": before.id, "version": before.version}
        return proposal.model_copy(update=same) != before


class StepMode:
    """The step mode of one session, and its held requests.

    Contract: ``hold`` and ``beside`` are awaited on the engine's loop (``loop/run_inputs/request_hold.py``);
    everything else may be called from any thread. The first answer to a held request counts.
    """

    def __init__(
        self,
        session_id: Callable[[], str],
        grants: Grants,
        subscribe: Callable[[Callable[[Sequence[Record]], None]], Callable[[], None]],
        above: Callable[[], "StepMode | None"] = lambda: None,
    ) -> None:
        """``above`` returns the step mode of the session that handed the task of this one on."""
        self._session_id = session_id
        self._grants = grants
        self._subscribe = subscribe
        self._above = above
        self._lock = threading.Lock()
        self._held: dict[str, _HeldRequest] = {}
        self._beside: list[asyncio.Future[None]] = []
        self._listeners: tuple[Callable[[], None], ...] = ()
        self._is_told = False

    @property
    def on(self) -> bool:
        """Whether requests are held."""
        above = self._above()
        if above is not None:
            return above.on
        return self._grants.newest(self._session_id(), KEY) is True

    def switch(self, *, on: bool) -> None:
        """Hold requests from the next one on, or no more; switching off lets go what is held."""
        if on:
            self._grants.put(KEY, value=True, session=self._session_id())
        else:
            self._grants.drop(self._session_id(), KEY)
        with self._lock:
            self._is_told = False
            held = tuple(self._held.values())
        for one in held:
            one.wake()
        self._tell()

    @property
    def held(self) -> tuple[ProposedRequest, ...]:
        """The newest proposals of the held requests, oldest request first."""
        with self._lock:
            return tuple(one.proposal for one in self._held.values() if one.proposal is not None)

    def release(self, hold_id: str) -> bool:
        """Let a request go: it is decided anew and sent; False when it is no longer held."""
        with self._lock:
            one = self._held.get(hold_id)
            if one is None or one.released:
                return False
            one.released = True
        one.wake()
        return True

    def nobody(self, hold_id: str) -> str:
        """Let a request go because nobody is there to do it; returns a sentence for the user, once."""
        words = "" if self._is_told else INERT
        if not self.release(hold_id):
            return ""
        self._is_told = True
        return words

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when a request is held, proposed anew or let go; returns a function that ends that."""
        with self._lock:
            self._listeners = (*self._listeners, callback)

        def forget() -> None:
            with self._lock:
                self._listeners = tuple(one for one in self._listeners if one is not callback)

        return forget

    async def hold(self, propose: Propose, abort: Abort) -> None:
        """Return when a person lets the request go, or step mode ends; raises Aborted at a stop."""
        shown_in = self._top()
        one = _HeldRequest()
        forget = self._subscribe(one.heard)
        unregister = abort.on_abort(one.wake)
        try:
            while shown_in.on and not one.released:
                one.changed.clear()
                shown_in.show(one, await propose())
                if not abort.is_set():
                    await one.changed.wait()
                if abort.is_set():
                    raise Aborted(abort.reason or "Stopped.")
        finally:
            unregister()
            forget()
            shown_in.remove(one)
        for session in {self, shown_in}:
            session.let_beside_go()

    async def beside(self) -> None:
        """Return when the next request is let go, or step mode is off."""
        if not self.on:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._beside.append(future)
        with self._lock:
            held = tuple(self._held.values())
        for one in held:
            one.wake()
        await future

    def show(self, one: _HeldRequest, proposal: ProposedRequest) -> None:
        """Show a proposal in this session; one that says the same as before changes nothing."""
        waits = any(not future.done() for future in self._beside)
        proposal = proposal.model_copy(update={"id": one.id, "beside": waits})
        if not one.differs(proposal):
            return
        version = one.proposal.version + 1 if one.proposal is not None else 1
        with self._lock:
            one.proposal = proposal.model_copy(update={"version": version})
            self._held[one.id] = one
        self._tell()

    def remove(self, one: _HeldRequest) -> None:
        """Show a request no longer."""
        with self._lock:
            was = self._held.pop(one.id, None)
        if was is not None:
            self._tell()

    def let_beside_go(self) -> None:
        """Let the requests outside of the turns go."""
        waiting, self._beside = self._beside, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def _top(self) -> "StepMode":
        """Return the step mode of the session that a person looks at."""
        above = self._above()
        return above._top() if above is not None else self  # noqa: SLF001  its own class

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()
