"""Step mode: hold each request of a session until a person lets it go.

Whether it is on is kept with what the user allowed, outside the project, so that no file of a project can switch it
on or answer it. Nothing of a held request is in the log. The requests of a task's session are held by the session
that handed the task on, which is the one that a person looks at.
"""

import asyncio
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.loop.run_inputs.request_hold import Propose, Release
from palimpsest.session.controls.context_edits import ContextEdit, ContextEditAction
from palimpsest.session.permissions.grants import Grants
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import Aborted, UserError
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    PromptAdmitted,
    Record,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import Budget

KEY = "step"
CHANGES = (DecisionMade, SessionUpdated, PromptAdmitted)
"""Records after which a held request is proposed anew: context edits, the session's policy and limit, and prompts
that join the turn."""
INERT = (
    "Step mode is on, and nobody is here to let a request go, so requests are sent as if it were off. "
    "%agent step off ends this."
)
LATE = "That request is held no longer, so nothing was changed."
NO_NEW_SUMMARY = (
    "This request is not the first to use a new summary, so there is none to put aside. "
    "%agent compact requests a summary."
)
NONE_PUT_ASIDE = (
    "No summary was put aside for this request, so there is none to take back. "
    "%agent step another puts a new one aside."
)


class HeldSession(Protocol):
    """The session that a held request belongs to, with what changes the request."""

    @property
    def budget(self) -> Budget:
        """The spending limit that applies."""

    def edit_context(self, action: ContextEditAction, name: str = "") -> ContextEdit:
        """Pin, exclude or restore a part or message by name."""

    async def use_policy(self, *given: Any) -> Policy:
        """Choose the context policy."""


class _HeldRequest:
    """One request that waits: its newest proposal, and what a person decided about it."""

    def __init__(self, session: HeldSession) -> None:
        self.id = f"hold_{uuid.uuid4().hex}"
        self.session = session
        self.proposal: ProposedRequest | None = None
        self.release: Release | None = None
        self.changed = asyncio.Event()
        self.stopped = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def wake(self) -> None:
        """Look again at what holds; from any thread."""
        self._loop.call_soon_threadsafe(self.changed.set)

    def stop(self) -> None:
        """Wait for no proposal any longer; from any thread."""
        self._loop.call_soon_threadsafe(self.stopped.set)
        self.wake()

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


async def _proposed(propose: Propose, one: _HeldRequest, abort: Abort) -> ProposedRequest | None:
    """Return a proposal; None at a stop, which does not wait for a person's own policy or hook."""
    proposing = asyncio.ensure_future(propose())
    stopped = asyncio.ensure_future(one.stopped.wait())
    try:
        await asyncio.wait({proposing, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return proposing.result() if proposing.done() and not abort.is_set() else None
    finally:
        for task in (proposing, stopped):
            task.cancel()


@dataclass(eq=False, repr=False)
class StepMode:
    """The step mode of one session, and its held requests.

    Contract: ``hold`` and ``beside`` are awaited on the engine's loop (``loop/run_inputs/request_hold.py``);
    everything else may be called from any thread. The first answer to a held request counts.
    """

    _session_id: Callable[[], str]
    _session: HeldSession
    _grants: Grants
    subscribe: Callable[[Callable[[Sequence[Record]], None]], Callable[[], None]]
    """Calls back with the records of this session; returns a function that ends that."""
    _above: Callable[[], "StepMode | None"] = lambda: None
    """Returns the step mode of the session that handed the task of this one on."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held: dict[str, _HeldRequest] = field(default_factory=dict)
    _beside: list[asyncio.Future[None]] = field(default_factory=list)
    _listeners: tuple[Callable[[], None], ...] = ()
    _is_told: bool = False

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
            for one in held if not on else ():
                # Also where it is switched on again at once.
                one.release = one.release or "send"
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
        return self._decide(hold_id, "send")

    def another_summary(self, hold_id: str) -> bool:
        """Put the new summary aside that a request would be the first to use, and request another.

        Returns False when the request is no longer held; raises UserError where it uses no new summary.
        """
        with self._lock:
            one = self._held.get(hold_id)
        if one is not None and (one.proposal is None or one.proposal.new_summary is None):
            raise UserError(NO_NEW_SUMMARY)
        return self._decide(hold_id, "another-summary")

    def older_summary(self, hold_id: str) -> bool:
        """Use the summary that was put aside, in place of a newer one or of the request for one.

        Returns False when the request is no longer held; raises UserError where none was put aside.
        """
        with self._lock:
            one = self._held.get(hold_id)
        if one is not None and (one.proposal is None or one.proposal.older_summary is None):
            raise UserError(NONE_PUT_ASIDE)
        return self._decide(hold_id, "older-summary")

    def session_of(self, hold_id: str) -> HeldSession:
        """Return the session that a held request belongs to, such as a subagent's; raises UserError when it is late."""
        with self._lock:
            one = self._held.get(hold_id)
            if one is None or one.release is not None:
                raise UserError(LATE)
            return one.session

    def _decide(self, hold_id: str, release: Release) -> bool:
        with self._lock:
            one = self._held.get(hold_id)
            if one is None or one.release is not None:
                return False
            one.release = release
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

    async def hold(self, propose: Propose, abort: Abort) -> Release:
        """Return what a person decides about the request, ``send`` when step mode ends; raises Aborted at a stop."""
        shown_in = self._top()
        one = _HeldRequest(self._session)
        # The limit of a subagent's request is that of the session above.
        forget = [step_mode.subscribe(one.heard) for step_mode in {self, shown_in}]
        unregister = abort.on_abort(one.stop)
        try:
            while shown_in.on and one.release is None:
                one.changed.clear()
                proposal = await _proposed(propose, one, abort)
                if proposal is not None:
                    shown_in.show(one, proposal)
                    await one.changed.wait()
                if abort.is_set():
                    raise Aborted(abort.reason or "Stopped.")
        finally:
            unregister()
            for end in forget:
                end()
            shown_in.remove(one)
        for session in {self, shown_in}:
            session.let_beside_go()
        return one.release or "send"

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
        budget = self._session.budget
        update = {
            "id": one.id,
            "beside": waits,
            "limit_usd": budget.usd if budget.usd_until is None else budget.usd_until,
            "limit_tokens": budget.tokens if budget.tokens_until is None else budget.tokens_until,
        }
        proposal = proposal.model_copy(update=update)
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
