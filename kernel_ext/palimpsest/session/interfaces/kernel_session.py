"""The operations and values of a session that front ends use.

Border: everything here may be called from any thread unless it is a coroutine; coroutines run
on the engine thread (``EngineThread.submit``).
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, Protocol

from palimpsest.context.request_kinds.request_inputs import RequestInputs
from palimpsest.session.controls.context_edits import ContextEdit, ContextEditAction
from palimpsest.session.controls.session_controls import SessionControls
from palimpsest.session.controls.step_mode import StepMode
from palimpsest.session.engine import Snapshot
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.interfaces.prompt_mentions import PromptMentions
from palimpsest.session.interfaces.revert_operations import RevertOperations
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.messages import Messages, Origin
from palimpsest.transcript.session_record.events import Record
from palimpsest.transcript.values import Reply

RecordsCallback = Callable[[Sequence[Record]], None]


class KernelSession(Protocol):
    """A session that this kernel has open."""

    @property
    def read_only(self) -> bool:
        """Whether prompts are refused with a sentence: another kernel writes it, or it is a task's session."""
        ...

    @property
    def id(self) -> str:
        """The session's id; a fork's after another kernel took the session over."""
        ...

    @property
    def reverts(self) -> RevertOperations:
        """The operations that revert messages and files, undo that, or make it final."""
        ...

    @property
    def mentions(self) -> PromptMentions:
        """What its prompts may name with an at sign; raises SessionHeld."""
        ...

    @property
    def opening_words(self) -> str:
        """What ``take_withheld`` would return now, for a page that shows it until the next prompt."""
        ...

    def take_withheld(self) -> str:
        """Return what the user is told of its opening: withheld claims, a moved notebook; empty after the first call."""
        ...

    async def prompt(self, text: str, options: PromptOptions) -> Answer:
        """Send a prompt and await its own answer; raises UserError before anything was done.

        A cancelled wait withdraws the prompt, or stops the turn that it began; so do ``retry``, ``loop`` and
        ``compact``. What others began, or still await, goes on.
        """
        ...

    async def wait_stopped(self, seconds: float) -> None:
        """Wait, at most so long, until a turn that was told to stop has ended; returns at once where none was."""
        ...

    async def retry(self) -> Answer:
        """Send the newest turn's failed request again; raises UserError when none failed.

        The user's message is not repeated, and what the turn did before is kept. Questions are
        asked again, even if the prompt came with ``--yes``.
        """
        ...

    async def loop(self) -> Answer:
        """Join the run and await its final answer; all callers that join get the same one.

        Where none runs, one is started for what was left: a message without an answer, and prompts
        that wait. Raises UserError when the session has neither messages nor prompts.
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
        """Compact the session and await the summary; joins a compaction that runs already.

        ``model`` writes this one summary; with ``auto`` the turn continues after it, and its answer is
        awaited too. Raises UserError when there is nothing to summarise, or a turn runs that does
        not compact, and ConfigError for an unknown model.
        """
        ...

    async def wait_compaction(self) -> bool:
        """Wait until no compaction runs and the answer it interrupted was tried again.

        Returns False when that takes longer than the policy waits. Raises WaitAborted where the session is
        closed, before or meanwhile.
        """
        ...

    def policy(self) -> Policy:
        """Return the context policy from the next request on; raises UserError."""
        ...

    @property
    def own_policy_acts(self) -> bool:
        """Whether a policy of the person's own acts in this kernel."""
        ...

    async def use_policy(self, *given: Any) -> Policy:
        """Choose the context policy of this session, from the next request on; returns it.

        Each argument is a policy, the name of a preset, ``name=value`` for one value, ``default``, or a
        policy of the person's own, which acts before the other. Raises ConfigError for an invalid one.
        """
        ...

    def edit_context(self, action: ContextEditAction, name: str = "") -> ContextEdit:
        """Pin, exclude or restore a part or message by name, from the next request on.

        ``undo`` undoes the newest compaction. May be called while a turn runs, from any thread. Raises
        UserError when it cannot be done, and where another kernel writes the session.
        """
        ...

    @property
    def control(self) -> SessionControls:
        """Its mode, approvals and spending limit; raises SessionHeld."""
        ...

    def cancel(self, reason: str = "Stopped.") -> bool:
        """Stop the running turn and withdraw the prompts in the inbox; returns whether there was anything."""
        ...

    def reply(self, ask_id: str, reply: Reply) -> bool:
        """Answer a permission question; the first answer counts, and False means it was answered already."""
        ...

    def answer(self, question_id: str, answers: Sequence[Sequence[str]] | None) -> bool:
        """Answer the model's questions: for each, the labels chosen or the user's own text.

        None declines, and the model continues without an answer. The first answer counts, and False means it
        was answered already. Raises UserError when the answers do not match the questions.
        """
        ...

    def nobody_answers(self, question_id: str) -> bool:
        """Decline a question of the model because no user is present; False when it was answered already."""
        ...

    def picture(self, url: str) -> str:
        """Return a picture that is stored as a blob as a ``data:`` URL; raises NotFound."""
        ...

    def withdraw(self, prompt_id: str) -> bool:
        """Withdraw a prompt that waits in the inbox; returns False when it was delivered already."""
        ...

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Call back with written records, on the writer thread; returns a function that unsubscribes."""
        ...

    def on_problem(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, on any thread, when ``Snapshot.problem`` or ``held`` changed; returns a function that ends that."""
        ...

    @property
    def held(self) -> tuple[ProposedRequest, ...]:
        """The requests that step mode holds, as they would be sent now; ``step_mode`` lets them go."""
        ...

    @property
    def stepping(self) -> bool:
        """Whether step mode holds its requests in this kernel."""
        ...

    @property
    def step_mode(self) -> StepMode:
        """Its step mode; raises SessionHeld where another kernel writes the session."""
        ...

    def snapshot(self, *, messages: bool = True) -> Snapshot:
        """Return an immutable snapshot of the newest state; without messages where none is looked at."""
        ...

    def message_page(self, count: int, before: str = "") -> Messages:
        """Return so many messages before one, or the newest, in order; raises NotFound where there is no such message."""
        ...

    def decisions(self) -> tuple[Decision, ...]:
        """Return the context decisions so far, in order."""
        ...

    def basis(self) -> RequestInputs:
        """Return what the next request would be made from; nothing is sent or written.

        Raises UserError where that is unknown: another kernel writes the session, and has sent
        no request yet.
        """
        ...

    def records_after(self, seq: int, only: Collection[str] = ()) -> Sequence[Record]:
        """Return the written records after a sequence number.

        ``only`` names record types, where not all are wanted.
        """
        ...

    async def close(self) -> None:
        """Write a checkpoint and release the session's lease."""
        ...
