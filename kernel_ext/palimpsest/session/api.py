"""What front ends may ask of a session, and what they get.

Border: everything here may be called from any thread unless it is a coroutine; coroutines run
on the engine thread (``EngineThread.submit``).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from palimpsest.context.request_kinds.request_inputs import Basis
from palimpsest.session.control import Control
from palimpsest.session.listing import Page, Query
from palimpsest.session.retention import PrunePlan, RetentionLimits, SessionTree
from palimpsest.session.sharing_api import Sharing
from palimpsest.session.undo_api import Undoing
from palimpsest.session.wishes import Wish, WishAction
from palimpsest.store.blobs.blob_sweep import Sweep, Unneeded
from palimpsest.store.blobs.disk_usage import Sizes
from palimpsest.store.interface import Problem, SessionSummary
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import Message, Messages, Origin
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.session_record.events import Event, PromptAdmitted, QuestionAsked, Record
from palimpsest.transcript.session_record.sessions import SessionInfo, Status
from palimpsest.transcript.stop_reasons import StoppedBy
from palimpsest.transcript.values import Ask, Reply, Todo, Usage

Delivery = Literal["steer", "queue"]
RecordsCallback = Callable[[Sequence[Record]], None]


@dataclass(frozen=True, slots=True)
class PromptOptions:
    """What comes with a prompt; None means "as the session or the configuration says"."""

    model: str | None = None
    """``provider/name`` or a bare name that the catalog knows."""
    variant: str | None = None
    agent: str | None = None
    system: str | None = None
    tools: Sequence[str] | Mapping[str, bool] | None = None
    """Names: only these tools are offered, an empty sequence means none. A mapping of name to bool
    switches single tools on and off, and leaves the others as they are; ``"*"`` stands for all that
    it does not name."""
    files: tuple[Attachment, ...] = ()
    """Pictures and documents, as ``data:`` or ``blob:`` urls."""
    format: Mapping[str, Any] | None = None
    """The form that the answer must have: ``type`` (``json_schema``), ``schema`` and ``retryCount``."""
    max_steps: int | None = None
    yes: bool = False
    """Answer permission questions of this turn with "once"; never a deny, a doom loop or a budget."""
    delivery: Delivery = "queue"
    """For a prompt that arrives while a turn runs: before the next request, or after the turn."""
    origin: Origin = field(default_factory=Origin)
    prompt_id: str | None = None
    """Given by the sender, so that sending again is harmless."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a prompt. Returned, never raised: a failed or stopped turn is an answer too."""

    session_id: str
    turn_id: str
    """Id of the user message that began the turn; empty when the prompt was withdrawn."""
    messages: tuple[Message, ...] = ()
    """The assistant messages of the turn, in order."""
    text: str = ""
    """The text of the last assistant message."""
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    """US dollars; None means unknown."""
    steps: int = 0
    error: ErrorValue | None = None
    stopped_by: StoppedBy = "error"
    """Why the turn ended; ``finished`` is the provider's own end of the answer and nothing else."""
    seq: tuple[int, int] = (0, 0)
    """First and last journal record of the turn."""
    structured: dict[str, Any] | None = None
    """The answer in the form that ``format`` asked for; None where it asked for none, or the turn failed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """An immutable picture of a session, safe to read from any thread."""

    session: SessionInfo | None
    status: Status
    messages: Messages
    asks: tuple[Ask, ...]
    inbox: tuple[PromptAdmitted, ...]
    todos: tuple[Todo, ...]
    request: StepRequest | None
    seq: int
    replies: Mapping[str, Reply] = field(default_factory=dict)
    """What was answered, by the id of the tool call that asked."""
    questions: tuple[QuestionAsked, ...] = ()
    """What the model asks the person, and nobody answered yet."""
    partial: bool = False
    """Messages that a summary stands for are in the log only."""
    problem: str = ""
    """One sentence while what is said cannot be written, since the disk does not answer."""

    @classmethod
    def of(cls, state: State) -> "Snapshot":
        """Take the picture; the caller holds the lock that protects the state."""
        return cls(
            session=state.session,
            status=state.status,
            messages=state.messages(),
            asks=tuple(state.asks.values()),
            inbox=tuple(state.inbox.values()),
            todos=state.todos,
            request=state.request,
            seq=state.seq,
            replies=dict(state.replies),
            questions=tuple(state.questions.values()),
            partial=state.partial,
        )


class KernelSession(Protocol):
    """A session that this kernel has open."""

    @property
    def read_only(self) -> bool:
        """Another kernel writes it; prompts are refused with a sentence, reading and forking work."""
        ...

    @property
    def id(self) -> str:
        """The session's id; a fork's after another kernel took the session over."""
        ...

    @property
    def undoing(self) -> Undoing:
        """Takes back what was said and done, undoes that, or makes it final."""
        ...

    def take_withheld(self) -> str:
        """Return what its log claims and does not hold, in words for a person; empty once it was told."""
        ...

    async def prompt(self, text: str, options: PromptOptions) -> Answer:
        """Send a prompt and await its own answer; raises UserError before anything was done."""
        ...

    async def retry(self) -> Answer:
        """Send the newest turn's failed request again; raises UserError when none failed.

        The user's message is not said twice, and what the turn did before stays. Questions are
        asked again, also when the prompt came with ``--yes``.
        """
        ...

    async def loop(self) -> Answer:
        """Join the run and await its final answer; all who join get the same one.

        Where none runs, one is begun over what was left: a message without an answer, and prompts
        that wait. Raises UserError when nothing was said.
        """
        ...

    async def compact(
        self,
        focus: str | None = None,
        origin: Origin | None = None,
        *,
        model: str | None = None,
        auto: bool = False,
    ) -> Answer:
        """Put a summary in the place of what was said, and await it; joins one that runs already.

        ``model`` writes this one summary; with ``auto`` the work goes on after it, and what it comes to
        is awaited too. Raises UserError when there is nothing to summarise, or a turn runs that does
        not compact, and ConfigError for a model that there is not.
        """
        ...

    async def wait_compaction(self) -> bool:
        """Return when no compaction runs and what it interrupted was tried again.

        False when that takes longer than the policy waits. Raises WaitAborted where the session is
        closed, before or meanwhile.
        """
        ...

    def policy(self) -> Policy:
        """Return the context policy that holds from the next request on; raises UserError."""
        ...

    async def use_policy(self, *words: str | Policy) -> Policy:
        """Choose the context policy of this session, from the next request on; returns it.

        Words are the name of a preset, ``name=value`` for one number, or ``default``. Raises
        ConfigError for words that are none.
        """
        ...

    def wish(self, action: WishAction, name: str = "") -> Wish:
        """Pin, leave out or bring back what a name stands for, from the next request on.

        ``undo`` undoes the newest compaction. Also while a turn runs, from any thread. Raises
        UserError when it cannot be, and where another kernel writes the session.
        """
        ...

    @property
    def control(self) -> Control:
        """Its mode, what is always allowed, its spending limit; raises SessionHeld."""
        ...

    def cancel(self, reason: str = "Stopped.") -> bool:
        """Stop the turn that runs and what waits in the inbox; false when nothing ran."""
        ...

    def reply(self, ask_id: str, reply: Reply) -> bool:
        """Answer a question; the first answer wins, false when it was answered already."""
        ...

    def answer(self, question_id: str, answers: Sequence[Sequence[str]] | None) -> bool:
        """Answer what the model asks, for each question the labels chosen or own words.

        None declines; the model goes on without an answer. The first answer wins, false when it
        was answered already. Raises UserError when the answers do not go with the questions.
        """
        ...

    def nobody_answers(self, question_id: str) -> bool:
        """Tell the model that nobody is here to answer; false when somebody did."""
        ...

    def picture(self, url: str) -> str:
        """Return a picture that the log keeps as a blob as a ``data:`` address; raises NotFound."""
        ...

    def withdraw(self, prompt_id: str) -> bool:
        """Take a waiting prompt back; false when it was delivered already."""
        ...

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Be told every record after it was written, on the writer thread; returns a way out."""
        ...

    def on_problem(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, on any thread, when ``Snapshot.problem`` changed; returns a way out."""
        ...

    def snapshot(self) -> Snapshot:
        """Return the newest immutable picture."""
        ...

    def decisions(self) -> tuple[Decision, ...]:
        """Return what was scraped off for the model so far, in order."""
        ...

    def basis(self) -> Basis:
        """Return what the next request would be made from; nothing is sent or written.

        Raises UserError where that is not known: another kernel writes the session, and asked
        nothing yet.
        """
        ...

    def records_after(self, seq: int, only: Collection[str] = ()) -> Sequence[Record]:
        """Return the records after a sequence number (what is not yet written is left out).

        ``only`` names types of records, where not all are wanted.
        """
        ...

    async def close(self) -> None:
        """Write a checkpoint and give the session back."""
        ...


class ProjectSessions(Protocol):
    """The sessions of one project, as one kernel sees them."""

    project: Path
    warning: str | None
    """One sentence when storage fell back to memory."""
    notice: str
    """One sentence when the sessions were brought to a newer layout; else empty."""

    @property
    def giving(self) -> Sharing:
        """Shares, exports and imports sessions."""
        ...

    async def current(self, notebook: str | None) -> KernelSession:
        """Return the notebook's session: the one used here last, its newest one, or a new one."""
        ...

    async def known(self, notebook: str | None) -> KernelSession | None:
        """Return the notebook's session if it has one; none is begun."""
        ...

    async def new(
        self,
        notebook: str | None,
        *,
        title: str | None = None,
        parent: str | None = None,
        permission: Mapping[str, Any] | str | None = None,
    ) -> KernelSession:
        """Begin a new session for the notebook and make it current; one with a parent does not become that."""
        ...

    async def open(self, session_id: str, notebook: str | None = None) -> KernelSession:
        """Open a session by id or unambiguous beginning of one and make it current; raises NotFound."""
        ...

    async def rename(self, before: str, after: str) -> None:
        """Let the sessions of a notebook go with it to its new name."""
        ...

    async def fork(
        self, session_id: str, message_id: str | None = None, *, notebook: str | None = None
    ) -> KernelSession:
        """Begin a new session with everything of another one before a message (or all).

        It belongs to the notebook that is named, else to the parent's, and is its current one.
        """
        ...

    def sessions(self) -> Sequence[SessionSummary]:
        """List all sessions of the project, newest first."""
        ...

    def current_id(self, notebook: str | None) -> str:
        """Return the id of the notebook's session without opening it; empty when it has none yet."""
        ...

    async def page(self, query: Query) -> Page:
        """Return a page of the sessions that a query finds, newest first."""
        ...

    async def problems(self, session_id: str) -> Sequence[Problem]:
        """Read all of a session's log, and say what of it cannot be read; raises NotFound."""
        ...

    async def family(self, session_id: str) -> tuple[SessionSummary, ...]:
        """Return a session with those that it began: all that goes with it, its own line last."""
        ...

    async def storage(self) -> tuple[Sizes, Sequence[SessionSummary]]:
        """Weigh the project's folder; raises UserError where nothing is kept on a disk."""
        ...

    async def plan(self, limits: RetentionLimits) -> PrunePlan:
        """Say which sessions would go under limits of age and size, and which are never taken."""
        ...

    async def prune(self, limits: RetentionLimits) -> tuple[PrunePlan, tuple[SessionTree, ...]]:
        """Delete what may go under limits; returns the plan, and what went of it."""
        ...

    async def children(self, session_id: str) -> Sequence[SessionSummary]:
        """List the sessions that ``task`` calls of a session began, oldest first."""
        ...

    async def retitle(self, session_id: str, title: str) -> str:
        """Call a session otherwise; returns the title as it is kept."""
        ...

    async def archive(self, session_id: str, *, archived: bool = True) -> str:
        """Put a session away, or fetch it back; returns its id."""
        ...

    async def record(self, session_id: str, change: Callable[[State], Sequence[Event]]) -> None:
        """Append what ``change`` makes of a session's whole state to its log.

        Raises SessionBusy while its agent works, and SessionHeld where another kernel writes it.
        """
        ...

    async def delete(self, session_id: str) -> tuple[str, ...]:
        """Delete a session and its children for good; returns their ids, the session's own last.

        Raises SessionHeld when another kernel writes one of them; nothing is deleted then.
        """
        ...

    async def sweep(
        self, days: float, *, delete: bool = False
    ) -> tuple[Sweep, tuple[Unneeded, ...]]:
        """Look for long texts that no session has needed for so many days.

        With ``delete`` they are deleted; returns what was found, and what went. Raises UserError
        where nothing is kept on a disk.
        """
        ...

    async def close(self) -> None:
        """Close every open session."""
        ...
