"""Follow a session that another kernel writes, and continue it here once that kernel has released it.

While the other kernel writes it, every change raises SessionHeld with a sentence about what the user can do.
When it is released, the first call that needs it takes it over, and this object delegates to the ``LiveSession``.
"""

import asyncio
import functools
import itertools
import logging
import threading
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Coroutine, Sequence
from dataclasses import replace
from typing import Any, Concatenate, ParamSpec, TypeVar

from palimpsest.context.policy_overrides import chosen_policy
from palimpsest.context.request_assembly.projection import PROJECTION_VERSION
from palimpsest.context.request_kinds.request_inputs import RequestInputs, recorded_inputs
from palimpsest.context.visible_messages import View
from palimpsest.model.tokenizer import counter
from palimpsest.session.controls.context_edits import ContextEdit, ContextEditAction
from palimpsest.session.controls.session_controls import SessionControls
from palimpsest.session.controls.step_mode import StepMode
from palimpsest.session.engine import RecordsCallback, Snapshot, runs_on
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.open_sessions.picture_preview import preview_picture
from palimpsest.session.prompts.mention_previews import MentionPreviews
from palimpsest.session.records.message_pages import message_page
from palimpsest.session.revert.operations import ReadOnlyReverts, Reverts
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.log.follower import Follower
from palimpsest.store.log.journal import Journal
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.project_folder.lease import LeaseFile, is_dead
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.cell_changes import CellReview
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import NotFound, SessionHeld
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.session_record.events import Record, StepRequested
from palimpsest.transcript.values import Density, Reply

P = ParamSpec("P")
T = TypeVar("T")

LOG = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""Interval between reads of the log; each costs one file size while nothing changes."""
READS_PER_LEASE_CHECK = 5
"""Number of reads, about a second, after which is checked whether the other kernel has released the session."""
NOT_ASKED_SENTENCE = (
    "Another kernel writes this session and has asked nothing yet, so there is no window to show."
)


def _when_released(
    method: Callable[Concatenate[LiveSession, P], Awaitable[T]],
) -> "Callable[Concatenate[FollowedSession, P], Coroutine[Any, Any, T]]":
    """Return a method that takes the session over, and then does what this method of ``LiveSession`` does."""

    @functools.wraps(method)
    async def take_over_and_call(
        self: "FollowedSession", /, *arguments: P.args, **keyword_arguments: P.kwargs
    ) -> T:
        return await method(await self._live_session(), *arguments, **keyword_arguments)

    return take_over_and_call


class FollowedSession:
    """A session that another kernel writes: followed live, and changes refused, until it can be continued here."""

    def __init__(
        self,
        store: JsonlStore,
        session_id: str,
        state: State,
        reason: str,
        snapshots: Snapshots | None = None,
        reopen: Callable[[], Awaitable[LiveSession]] | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        *,
        density: Density = "quiet",
    ) -> None:
        self._id = session_id
        self.density = density
        """How much of a turn is shown, by this kernel's settings."""
        self.reason = reason
        """Which kernel writes the session, and what the user can do."""
        self._reverts = ReadOnlyReverts(reason, lambda: store.load(session_id), snapshots)
        self._store = store
        self._state = state
        self._reopen = reopen
        self._loop = loop
        self._taken_over: LiveSession | None = None
        """The same session as this kernel writes it, after it was taken over."""
        self._is_free = False
        """Whether no kernel wrote it at the last check."""
        self._lease = LeaseFile(store.layout.session(session_id))
        self._lock = threading.Lock()
        self._subscribers: list[RecordsCallback] = []
        self._subscription_ends: dict[int, Callable[[], None]] = {}
        """Functions that end subscriptions made here and moved to the session that was taken over."""
        self._listeners: list[Callable[[], None]] = []
        self._listening_ends: dict[int, Callable[[], None]] = {}
        self._stop_event = threading.Event()
        self._follower = Follower(store, session_id, after=state.seq)
        self._applied_reset_count = self._follower.reset_count
        self._thread = threading.Thread(
            target=self._follow_log, name=f"palimpsest-follow-{session_id[-6:]}", daemon=True
        )
        self._thread.start()

    @property
    def id(self) -> str:
        """The session's id."""
        return self._id if self._taken_over is None else self._taken_over.id

    @property
    def read_only(self) -> bool:
        """Whether another kernel still writes it."""
        return not self._is_free if self._taken_over is None else self._taken_over.read_only

    @property
    def journal(self) -> Any:
        """The journal, once this kernel writes it; else None."""
        return getattr(self._taken_over, "journal", None)

    @property
    def reverts(self) -> Reverts:
        """The revert operations; read-only until this kernel writes the session."""
        return self._reverts if self._taken_over is None else self._taken_over.reverts

    @property
    def opening_notice(self) -> str:
        """The sentence that ``take_opening_notice`` would return now."""
        return "" if self._taken_over is None else self._taken_over.opening_notice

    def take_opening_notice(self) -> str:
        """Return the sentence about withheld claims of its log, once this kernel writes it; else empty."""
        return "" if self._taken_over is None else self._taken_over.take_opening_notice()

    @property
    def control(self) -> SessionControls:
        """The session's mode and limits, if the other kernel has released it; else raises SessionHeld."""
        return self._live_session_now().control

    @property
    def step_mode(self) -> StepMode:
        """The session's step mode, if the other kernel has released it; else raises SessionHeld."""
        return self._live_session_now().step_mode

    @property
    def stepping(self) -> bool:
        """Whether step mode holds its requests in this kernel."""
        return self._taken_over is not None and self._taken_over.stepping

    @property
    def held(self) -> tuple[ProposedRequest, ...]:
        """The requests that step mode holds in this kernel; requests held in another kernel are shown there."""
        return self._taken_over.held if self._taken_over is not None else ()

    @property
    def mentions(self) -> MentionPreviews:
        """The names that prompts may mention, if the other kernel has released the session; else raises SessionHeld."""
        return self._live_session_now().mentions

    # These continue the session here, if the other kernel has released it; else they raise SessionHeld.
    prompt = _when_released(LiveSession.prompt)
    attach = _when_released(LiveSession.attach)
    retry = _when_released(LiveSession.retry)
    loop = _when_released(LiveSession.loop)
    compact = _when_released(LiveSession.compact)
    use_policy = _when_released(LiveSession.use_policy)
    review_cells = _when_released(LiveSession.review_cells)

    async def wait_compaction(self) -> bool:
        """Wait for a compaction, if the other kernel has released the session."""
        return await (await self._live_session()).wait_compaction()

    async def wait_stopped(self, seconds: float) -> None:
        """Wait until a stopped turn has ended; this kernel has none while another one writes."""
        if self._taken_over is not None:
            await self._taken_over.wait_stopped(seconds)

    def policy(self) -> Policy:
        """Return the policy that was chosen, or the newest request's; raises SessionHeld where neither is known."""
        if self._taken_over is not None:
            return self._taken_over.policy()
        with self._lock:
            session, request = self._state.session, self._state.request
        if session is not None and session.policy_choice is not None:
            return chosen_policy(session.policy_choice)
        if request is not None and request.policy_blob is not None:
            return Policy.model_validate_json(self._store.get_blob(request.policy_blob.sha256))
        raise SessionHeld(self.reason)

    @property
    def own_policy_acts(self) -> bool:
        """Whether a policy of the user's own acts in this kernel."""
        return self._taken_over is not None and self._taken_over.own_policy_acts

    def edit_context(self, action: ContextEditAction, name: str = "") -> ContextEdit:
        """Pin, exclude or restore, if the other kernel has released the session."""
        return self._live_session_now().edit_context(action, name)

    def open_cell_changes(self) -> CellReview:
        """Return the changes of cells that nobody looked at yet; none while another kernel may look at them."""
        return self._taken_over.open_cell_changes() if self._taken_over else CellReview()

    def cancel(self, reason: str = "Stopped.") -> bool:
        """Stop what runs in this kernel; another kernel's turn is not stopped from here."""
        return self._taken_over is not None and self._taken_over.cancel(reason)

    def reply(self, ask_id: str, reply: Reply) -> bool:
        """Answer a permission question of this kernel; others are answered in the kernel that asks."""
        return self._taken_over is not None and self._taken_over.reply(ask_id, reply)

    def answer(self, question_id: str, answers: Sequence[Sequence[str]] | None) -> bool:
        """Answer a model's question of this kernel; others are answered in the kernel that asks."""
        return self._taken_over is not None and self._taken_over.answer(question_id, answers)

    def nobody_answers(self, question_id: str) -> bool:
        """Decline a model's question of this kernel because no user is present."""
        return self._taken_over is not None and self._taken_over.nobody_answers(question_id)

    def picture(self, url: str) -> str:
        """Return a picture of the session, scaled for a page, as a ``data:`` URL."""
        if self._taken_over is not None:
            return self._taken_over.picture(url)
        return preview_picture(self.snapshot().messages, self._store.get_blob, url)

    def withdraw(self, prompt_id: str) -> bool:
        """Withdraw a prompt that waits in this kernel's inbox."""
        return self._taken_over is not None and self._taken_over.withdraw(prompt_id)

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Call back with records, of the other kernel and later of this one; returns a function that unsubscribes."""
        with self._lock:
            self._subscribers = [*self._subscribers, callback]
            if self._taken_over is not None:
                self._subscription_ends[id(callback)] = self._taken_over.subscribe(callback)

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = [other for other in self._subscribers if other is not callback]
                end_subscription = self._subscription_ends.pop(id(callback), None)
            if end_subscription is not None:
                end_subscription()

        return unsubscribe

    def on_problem(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the session becomes free to continue here, or is taken again, or its problem changes."""
        with self._lock:
            self._listeners = [*self._listeners, callback]
            if self._taken_over is not None:
                self._listening_ends[id(callback)] = self._taken_over.on_problem(callback)

        def unsubscribe() -> None:
            with self._lock:
                self._listeners = [other for other in self._listeners if other is not callback]
                end_listening = self._listening_ends.pop(id(callback), None)
            if end_listening is not None:
                end_listening()

        return unsubscribe

    def snapshot(self, *, messages: bool = True) -> Snapshot:
        """Return an immutable snapshot of the newest state; without messages if ``messages`` is False."""
        if self._taken_over is not None:
            return self._taken_over.snapshot(messages=messages)
        with self._lock:
            return Snapshot.of_state(self._state, messages=messages)

    def message_page(self, count: int, before_id: str = "") -> Messages:
        """Return ``count`` messages before ``before_id``, or the newest, in order; raises NotFound for an unknown id."""
        if self._taken_over is not None:
            return self._taken_over.message_page(count, before_id)
        with self._lock:
            return message_page(
                self._store, self.id, lambda read: read(self._state), count, before_id
            )

    def decisions(self) -> tuple[Decision, ...]:
        """Return the context decisions so far, in order."""
        if self._taken_over is not None:
            return self._taken_over.decisions()
        with self._lock:
            return self._state.decisions

    def basis(self) -> RequestInputs:
        """Return the inputs of the newest step's request, with the messages as they are now."""
        if self._taken_over is not None:
            return self._taken_over.basis()
        with self._lock:
            messages, decisions = self._state.messages(), self._state.decisions
            older_count = self._state.older_count
        step_requests = (
            record.event.request
            for record in self._store.read(self.id)
            if isinstance(record.event, StepRequested) and record.event.request.purpose == "step"
        )
        newest_step = deque(step_requests, maxlen=1)
        if not newest_step:
            raise SessionHeld(NOT_ASKED_SENTENCE)
        read_blob = self._store.get_blob
        view = View.of(messages, decisions, read_blob)
        inputs = recorded_inputs(newest_step[0], view, read_blob, counter, self.id)
        return replace(
            inputs, request_id="", version=PROJECTION_VERSION, unloaded_count=older_count
        )

    def records_after(self, seq: int, event_types: Collection[str] = ()) -> Sequence[Record]:
        """Return the records after a sequence number, of some types or of all."""
        return tuple(self._store.read(self.id, after=seq, only=event_types))

    async def close(self, _reason: str = "", *, is_deleted: bool = False) -> None:  # noqa: ARG002
        """Stop following the log, to which this kernel writes nothing."""
        self._stop_event.set()

    # Continuing it here

    async def _live_session(self) -> LiveSession:
        """Return the session as this kernel writes it, taking it over; raises SessionHeld while another one does."""
        if self._taken_over is None:
            if self._reopen is None:
                raise SessionHeld(self.reason)
            self._taken_over = await self._reopen()
        return self._taken_over

    def _live_session_now(self) -> LiveSession:
        """Return the session as ``_live_session`` does; blocks, and raises SessionHeld on the engine's thread."""
        if self._taken_over is not None:
            return self._taken_over
        if not self._is_free or self._loop is None or runs_on(self._loop):
            raise SessionHeld(self.reason)
        return asyncio.run_coroutine_threadsafe(self._live_session(), self._loop).result()

    def catch_up(self) -> None:
        """Deliver the last records of the other kernel, and stop following; in a thread."""
        self._stop_event.set()
        self._thread.join()
        self._deliver_records()

    def move_subscribers_to(self, journal: Journal) -> None:
        """Move the subscribers to this kernel's journal."""
        with self._lock:
            for callback in self._subscribers:
                self._subscription_ends[id(callback)] = journal.subscribe(callback)

    def delegate_to(self, live_session: LiveSession) -> None:
        """Delegate to a session, which this kernel writes from now on."""
        with self._lock:
            self._taken_over = live_session
            listeners = self._listeners
            self._listening_ends = {
                id(listener): live_session.on_problem(listener) for listener in listeners
            }
        for listener in listeners:
            listener()

    def _follow_log(self) -> None:
        for read_number in itertools.count(1):
            if self._stop_event.wait(POLL_SECONDS):
                return
            self._deliver_records()
            if read_number % READS_PER_LEASE_CHECK == 0:
                self._check_lease()

    def _check_lease(self) -> None:
        """Check whether a kernel writes the session, and notify the listeners when that changed."""
        lease = self._lease.current_lease()
        is_free = self._reopen is not None and (lease is None or is_dead(lease))
        if is_free is not self._is_free:
            self._is_free = is_free
            for listener in self._listeners:
                listener()

    def _deliver_records(self) -> None:
        """Apply new records to the state, and pass them to the subscribers."""
        try:
            records = self._follower.new_records()
        except (OSError, NotFound):
            return  # its disk is unavailable, or it is being deleted: it may come back
        if not records:
            return
        with self._lock:
            if self._follower.reset_count != self._applied_reset_count:
                # A take-over cut off records that were already delivered: they come again from the beginning.
                self._applied_reset_count = self._follower.reset_count
                self._state = State()
            for record in records:
                self._state.apply(record)
            subscribers = self._subscribers
        for subscriber in subscribers:
            try:
                subscriber(records)
            except Exception:
                LOG.exception("A listener of a followed session failed; the others go on.")


KernelSession = LiveSession | FollowedSession
"""A session that this kernel has open: one that it writes, or one that another kernel writes and it follows."""
