"""A session that another kernel writes: read and followed here, never written.

Everything that would change it is refused with one sentence that says what can be done.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from palimpsest.context.basis import Basis, recorded
from palimpsest.context.changes import chosen
from palimpsest.context.projection import PROJECTION_VERSION
from palimpsest.context.texts import load_texts
from palimpsest.context.view import View
from palimpsest.model.tokenizer import counter
from palimpsest.session.api import Answer, PromptOptions, RecordsCallback, Snapshot
from palimpsest.session.control import Control
from palimpsest.session.pictures import picture
from palimpsest.session.undoing import HeldUndoing
from palimpsest.session.wishes import Wish, WishAction
from palimpsest.store.follow import Follower
from palimpsest.store.jsonl import JsonlStore
from palimpsest.store.snapshots import Snapshots
from palimpsest.store.state import State
from palimpsest.transcript.decisions import Decision
from palimpsest.transcript.errors import NotFound, SessionHeld
from palimpsest.transcript.events import Record, StepRequested
from palimpsest.transcript.messages import Origin
from palimpsest.transcript.policies import Policy
from palimpsest.transcript.values import Reply

LOG = logging.getLogger(__name__)

POLL_SECONDS = 0.2
"""Five looks a second follow a person's reading; each costs one file size while nothing changes."""
NOT_ASKED = (
    "Another kernel writes this session and has asked nothing yet, so there is no window to show."
)


class FollowedSession:
    """A session of another kernel, followed live.

    Responsibilities: fold new records, tell subscribers, refuse changes.
    """

    read_only = True

    def __init__(
        self,
        store: JsonlStore,
        session_id: str,
        state: State,
        reason: str,
        snapshots: Snapshots | None = None,
    ) -> None:
        self.id = session_id
        self.reason = reason
        """Who holds the session, and what to do."""
        self.undoing = HeldUndoing(reason, lambda: store.load(session_id), snapshots)
        self._store = store
        self._state = state
        self._lock = threading.Lock()
        self._subscribers: list[RecordsCallback] = []
        self._ended = threading.Event()
        self._follower = Follower(store, session_id, after=state.seq)
        self._resets = self._follower.resets
        self._thread = threading.Thread(
            target=self._follow, name=f"palimpsest-follow-{session_id[-6:]}", daemon=True
        )
        self._thread.start()

    async def prompt(self, text: str, options: PromptOptions) -> Answer:  # noqa: ARG002
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    @property
    def control(self) -> Control:
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    async def retry(self) -> Answer:
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    async def loop(self) -> Answer:
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    async def compact(self, focus: str | None = None, origin: Origin | None = None) -> Answer:  # noqa: ARG002
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    async def wait_compaction(self) -> bool:
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    def policy(self) -> Policy:
        """Return what was chosen, or what the newest request was made under."""
        with self._lock:
            session, request = self._state.session, self._state.request
        if session is not None and session.policy_choice is not None:
            return chosen(session.policy_choice)
        if request is not None and request.policy_blob is not None:
            kept = self._store.get_blob(request.policy_blob.sha256)
            return Policy.model_validate_json(kept)
        raise SessionHeld(self.reason)

    async def use_policy(self, *words: str | Policy) -> Policy:  # noqa: ARG002
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    def wish(self, action: WishAction, name: str = "") -> Wish:  # noqa: ARG002
        """Refuse: another kernel writes this session."""
        raise SessionHeld(self.reason)

    def cancel(self, reason: str = "Stopped.") -> bool:  # noqa: ARG002
        """Refuse quietly: what runs there is stopped there."""
        return False

    def reply(self, ask_id: str, reply: Reply) -> bool:  # noqa: ARG002
        """Refuse quietly: questions are answered in the kernel that asks."""
        return False

    def answer(self, question_id: str, answers: Sequence[Sequence[str]] | None) -> bool:  # noqa: ARG002
        """Refuse quietly: questions are answered in the kernel that asks."""
        return False

    def nobody_answers(self, question_id: str) -> bool:  # noqa: ARG002
        """Refuse quietly: who can answer is known in the kernel that asks."""
        return False

    def picture(self, url: str) -> str:
        """Return a picture as a page is shown it."""
        return picture(self.snapshot().messages, self._store.get_blob, url)

    def withdraw(self, prompt_id: str) -> bool:  # noqa: ARG002
        """Refuse quietly."""
        return False

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Be told every record that the other kernel wrote."""
        with self._lock:
            self._subscribers = [*self._subscribers, callback]

        def unsubscribe() -> None:
            with self._lock:
                self._subscribers = [held for held in self._subscribers if held is not callback]

        return unsubscribe

    def snapshot(self) -> Snapshot:
        """Return the newest immutable picture."""
        with self._lock:
            return Snapshot.of(self._state)

    def decisions(self) -> tuple[Decision, ...]:
        """Return what was scraped off for the model so far, in order."""
        with self._lock:
            return self._state.decisions

    def basis(self) -> Basis:
        """Return what the session holds, as the writing kernel's newest step would send it."""
        with self._lock:
            messages, decisions, older = (
                self._state.messages(),
                self._state.decisions,
                self._state.older,
            )
        steps = (
            record.event.request
            for record in self._store.read(self.id)
            if isinstance(record.event, StepRequested) and record.event.request.purpose == "step"
        )
        newest = deque(steps, maxlen=1)
        if not newest:
            raise SessionHeld(NOT_ASKED)
        read = self._store.get_blob
        view = View(messages, decisions, load_texts(messages, read, decisions))
        basis = recorded(newest[0], view, read, counter, self.id)
        return replace(basis, request_id="", version=PROJECTION_VERSION, older=older)

    def records_after(self, seq: int, only: Collection[str] = ()) -> Sequence[Record]:
        """Return the records after a sequence number, of some types or of all."""
        return tuple(self._store.read(self.id, after=seq, only=only))

    async def close(self) -> None:
        """Stop following."""
        self._ended.set()

    def _follow(self) -> None:
        while not self._ended.wait(POLL_SECONDS):
            try:
                records = self._follower.poll()
            except (OSError, NotFound):
                continue  # its disk is away, or it is being deleted: it may come back
            if not records:
                continue
            with self._lock:
                if self._follower.resets != self._resets:
                    # A take-over cut off what had been told: the records come from the beginning.
                    self._resets = self._follower.resets
                    self._state = State()
                for record in records:
                    self._state.apply(record)
                subscribers = self._subscribers
            for subscriber in subscribers:
                try:
                    subscriber(records)
                except Exception:
                    LOG.exception("A listener of a followed session failed; the others go on.")
