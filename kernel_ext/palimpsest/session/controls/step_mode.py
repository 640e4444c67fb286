"""Step mode: hold each request of a session until the user releases it.

Whether it is on is stored with the user's permission grants, outside the project, so that no file of a project can
switch it on or release a request. A held request is not in the log. Requests of a subagent's session are held and
shown in its parent session, which is the one the user looks at.
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

STEP_MODE_KEY = "step"
"""Key of the stored grant by which step mode is on."""
CHANGING_EVENTS = (DecisionMade, SessionUpdated, PromptAdmitted)
"""Records after which a held request is proposed again: context edits, the session's policy and limit, and prompts
that join the turn."""
UNATTENDED_NOTICE = (
    "Step mode is on, and nobody is here to let a request go, so requests are sent as if it were off. "
    "%agent step off ends this."
)
HELD_NO_LONGER = "That request is held no longer, so nothing was changed."
NO_NEW_SUMMARY = (
    "This request is not the first to use a new summary, so there is none to put aside. "
    "%agent compact requests a summary."
)
NONE_PUT_ASIDE = (
    "No summary was put aside for this request, so there is none to take back. "
    "%agent step another puts a new one aside."
)


class HeldSession(Protocol):
    """The session of a held request, with the settings by which the user may change the request before it is sent."""

    @property
    def budget(self) -> Budget:
        """The spending limit that applies."""

    def edit_context(self, action: ContextEditAction, name: str = "") -> ContextEdit:
        """Pin, exclude or restore a part or message by name."""

    async def use_policy(self, *arguments: Any) -> Policy:
        """Choose the context policy."""


class _HeldRequest:
    """One held request: its newest proposal, and what the user decided about it."""

    def __init__(self, session: HeldSession) -> None:
        self.id = f"hold_{uuid.uuid4().hex}"
        self.session = session
        self.proposal: ProposedRequest | None = None
        self.chosen_release: Release | None = None
        self.is_stopped = False
        self.recheck_event = asyncio.Event()
        self.stopped_event = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    @property
    def is_undecided(self) -> bool:
        """Whether it waits for the user's decision; False as soon as its turn is stopped, which the engine notices later."""
        return self.chosen_release is None and not self.is_stopped

    def wake_task(self) -> None:
        """Wake the waiting task, so that it checks the request again; from any thread."""
        self._loop.call_soon_threadsafe(self.recheck_event.set)

    def stop(self) -> None:
        """End the wait for a proposal or a decision; from any thread."""
        self.is_stopped = True
        self._loop.call_soon_threadsafe(self.stopped_event.set)
        self.wake_task()

    def on_records(self, records: Sequence[Record]) -> None:
        """Propose again after records that change what would be sent; on the writer thread."""
        if any(isinstance(record.event, CHANGING_EVENTS) for record in records):
            self.wake_task()

    def differs(self, proposal: ProposedRequest) -> bool:
        """Return whether a proposal differs from the newest one in more than its time."""
        newest = self.proposal
        if newest is None:
            return True
        uncompared_fields = {"now": newest.now, "id": newest.id, "version": newest.version}
        return proposal.model_copy(update=uncompared_fields) != newest


async def _proposal_or_stop(
    propose: Propose, request: _HeldRequest, abort: Abort
) -> ProposedRequest | None:
    """Return the next proposal; None as soon as the turn is stopped, even if the user's own policy or hook still runs."""
    proposal_task = asyncio.ensure_future(propose())
    stopped = asyncio.ensure_future(request.stopped_event.wait())
    try:
        await asyncio.wait({proposal_task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        return proposal_task.result() if proposal_task.done() and not abort.is_set() else None
    finally:
        for task in (proposal_task, stopped):
            task.cancel()


@dataclass(eq=False, repr=False)
class StepMode:
    """The step mode of one session, and its held requests.

    Contract: ``await_release`` and ``wait_for_next_release`` are awaited on the engine's loop
    (``loop/run_inputs/request_hold.py``); everything else may be called from any thread. The first answer to a held
    request counts.
    """

    _session_id: Callable[[], str]
    _session: HeldSession
    _stored_grants: Grants
    subscribe: Callable[[Callable[[Sequence[Record]], None]], Callable[[], None]]
    """Calls back with the records of this session; returns a function that ends that."""
    _parent: Callable[[], "StepMode | None"] = lambda: None
    """Returns the step mode of the parent session of a subagent's session; else None."""
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _held_requests: dict[str, _HeldRequest] = field(default_factory=dict)
    _side_requests: list[asyncio.Future[None]] = field(default_factory=list)
    """Waits of requests outside of a turn, such as that for a title; each future ends when its request may be sent."""
    _listeners: tuple[Callable[[], None], ...] = ()
    _is_notice_shown: bool = False

    @property
    def is_on(self) -> bool:
        """Whether requests are held."""
        parent = self._parent()
        if parent is not None:
            return parent.is_on
        return self._stored_grants.newest_value(self._session_id(), STEP_MODE_KEY) is True

    def switch(self, *, is_on: bool) -> None:
        """Hold requests from the next one on if ``is_on``; else release the held ones."""
        if is_on:
            self._stored_grants.put(STEP_MODE_KEY, value=True, session=self._session_id())
        else:
            self._stored_grants.drop_grants(self._session_id(), STEP_MODE_KEY)
        with self._lock:
            self._is_notice_shown = False
            held_requests = tuple(self._held_requests.values())
            for request in held_requests if not is_on else ():
                # They are released even if step mode is switched on again at once.
                request.chosen_release = request.chosen_release or "send"
        for request in held_requests:
            request.wake_task()
        self._notify_listeners()

    @property
    def held(self) -> tuple[ProposedRequest, ...]:
        """The newest proposals of the held requests that wait for a decision, oldest request first."""
        with self._lock:
            return tuple(
                request.proposal
                for request in self._held_requests.values()
                if request.proposal is not None and request.is_undecided
            )

    def release(self, hold_id: str) -> bool:
        """Let a request be sent, after its context is decided once more; returns False when it is no longer held."""
        return self._decide_held(hold_id, "send")

    def another_summary(self, hold_id: str) -> bool:
        """Set aside the new summary that a request would be the first to use, and request another.

        Returns False when the request is no longer held; raises UserError where it uses no new summary.
        """
        return self._decide_summary(hold_id, "another-summary", "new_summary", NO_NEW_SUMMARY)

    def older_summary(self, hold_id: str) -> bool:
        """Use the summary that was set aside, in place of a newer one or of the request for one.

        Returns False when the request is no longer held; raises UserError where none was set aside.
        """
        return self._decide_summary(hold_id, "older-summary", "older_summary", NONE_PUT_ASIDE)

    def _decide_summary(
        self, hold_id: str, release: Release, required_field: str, error_sentence: str
    ) -> bool:
        with self._lock:
            request = self._held_requests.get(hold_id)
        if request is not None and getattr(request.proposal, required_field, None) is None:
            raise UserError(error_sentence)
        return self._decide_held(hold_id, release)

    def session_of(self, hold_id: str) -> HeldSession:
        """Return the session that a held request belongs to, such as a subagent's; raises UserError when it is no longer held."""
        with self._lock:
            request = self._held_requests.get(hold_id)
            if request is None or not request.is_undecided:
                raise UserError(HELD_NO_LONGER)
            return request.session

    def _decide_held(self, hold_id: str, release: Release) -> bool:
        with self._lock:
            request = self._held_requests.get(hold_id)
            if request is None or not request.is_undecided:
                return False
            request.chosen_release = release
        request.wake_task()
        return True

    def release_unattended(self, hold_id: str) -> str:
        """Release a request because no user is there to do it; returns a notice for the user the first time, else ""."""
        notice = "" if self._is_notice_shown else UNATTENDED_NOTICE
        if not self.release(hold_id):
            return ""
        self._is_notice_shown = True
        return notice

    def listen(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when a request is held, proposed again or released; returns a function that ends that."""
        with self._lock:
            self._listeners = (*self._listeners, callback)

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = tuple(other for other in self._listeners if other is not callback)

        return unsubscribe

    async def await_release(self, propose: Propose, abort: Abort) -> Release:
        """Return the user's decision about the request, ``send`` when step mode ends; raises Aborted at a stop."""
        showing_step_mode = self._topmost()
        request = _HeldRequest(self._session)
        # The parent's records change a subagent's request too: the parent's spending limit applies to it.
        step_modes = {self, showing_step_mode}
        unsubscribe_all = [step_mode.subscribe(request.on_records) for step_mode in step_modes]
        unregister = abort.on_abort(request.stop)
        try:
            while showing_step_mode.is_on and request.chosen_release is None:
                request.recheck_event.clear()
                proposal = await _proposal_or_stop(propose, request, abort)
                if proposal is not None:
                    showing_step_mode.show_proposal(request, proposal)
                    await request.recheck_event.wait()
                if abort.is_set():
                    raise Aborted(abort.reason or "Stopped.")
        finally:
            unregister()
            for unsubscribe in unsubscribe_all:
                unsubscribe()
            showing_step_mode.remove(request)
        for step_mode in step_modes:
            step_mode.release_side_requests()
        return request.chosen_release or "send"

    async def wait_for_next_release(self) -> None:
        """Hold a request outside of a turn until the next held request is released, or step mode is off."""
        if not self.is_on:
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._side_requests.append(future)
        with self._lock:
            held_requests = tuple(self._held_requests.values())
        for request in held_requests:
            request.wake_task()
        await future

    def show_proposal(self, request: _HeldRequest, proposal: ProposedRequest) -> None:
        """Show a proposal in this session, unless it equals the one that is shown."""
        has_side_requests = any(not future.done() for future in self._side_requests)
        budget = self._session.budget
        update = {
            "id": request.id,
            "beside": has_side_requests,
            "limit_usd": budget.usd if budget.usd_until is None else budget.usd_until,
            "limit_tokens": budget.tokens if budget.tokens_until is None else budget.tokens_until,
        }
        proposal = proposal.model_copy(update=update)
        if not request.differs(proposal):
            return
        version = request.proposal.version + 1 if request.proposal is not None else 1
        with self._lock:
            request.proposal = proposal.model_copy(update={"version": version})
            self._held_requests[request.id] = request
        self._notify_listeners()

    def remove(self, request: _HeldRequest) -> None:
        """Remove a request from those that are shown."""
        with self._lock:
            removed_request = self._held_requests.pop(request.id, None)
        if removed_request is not None:
            self._notify_listeners()

    def release_side_requests(self) -> None:
        """Release the requests outside of the turns, such as that for a title."""
        side_requests, self._side_requests = self._side_requests, []
        for future in side_requests:
            if not future.done():
                future.set_result(None)

    def _topmost(self) -> "StepMode":
        """Return the step mode of the topmost parent session, where held requests are shown."""
        parent = self._parent()
        return parent._topmost() if parent is not None else self  # noqa: SLF001  its own class

    def _notify_listeners(self) -> None:
        for listener in self._listeners:
            listener()
