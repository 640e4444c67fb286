"""What front ends may ask of a session, and what they get.

Border: everything here may be called from any thread unless it is a coroutine; coroutines run
on the engine thread (``EngineThread.submit``).
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from palimpsest.context.request_kinds.request_inputs import RequestInputs
from palimpsest.session.controls.context_edits import ContextEdit, ContextEditAction
from palimpsest.session.controls.session_controls import SessionControls
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.interfaces.revert_operations import RevertOperations
from palimpsest.store.session_state.state import State
from palimpsest.transcript.context_values.decisions import Decision, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import Messages, Origin
from palimpsest.transcript.session_record.events import PromptAdmitted, QuestionAsked, Record
from palimpsest.transcript.session_record.sessions import SessionInfo, Status
from palimpsest.transcript.values import Ask, Reply, Todo

RecordsCallback = Callable[[Sequence[Record]], None]


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
    def reverts(self) -> RevertOperations:
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

    def edit_context(self, action: ContextEditAction, name: str = "") -> ContextEdit:
        """Pin, leave out or bring back what a name stands for, from the next request on.

        ``undo`` undoes the newest compaction. Also while a turn runs, from any thread. Raises
        UserError when it cannot be, and where another kernel writes the session.
        """
        ...

    @property
    def control(self) -> SessionControls:
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

    def basis(self) -> RequestInputs:
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
