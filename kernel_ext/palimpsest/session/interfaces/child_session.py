"""What somebody needs of a session that works for another one.

Border: the interface alone. ``LiveSession`` implements it; it stands here, since a live session
begins children and so lies above whoever runs them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from palimpsest.session.engine.run_state import Run
from palimpsest.session.engine.session_log import SessionLog
from palimpsest.session.interfaces.kernel_session import RecordsCallback
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.interfaces.revert_operations import RevertOperations
from palimpsest.session.permissions.asks import Asks
from palimpsest.session.records.recall_archive import SessionArchive
from palimpsest.tools.workflow.question import Interview
from palimpsest.transcript.session_record.sessions import SessionInfo


class SettlingReverts(RevertOperations, Protocol):
    """Contract: as ``RevertOperations``; of a session that this kernel writes, so it can be settled too."""

    async def settle(self) -> None:
        """Make a revert final, since something new is about to be said."""
        ...


class ChildRunner(Protocol):
    """What a task needs of whoever runs its session's prompts. Contract: on the engine's loop."""

    @property
    def busy(self) -> bool:
        """Whether a run goes on."""
        ...

    @property
    def run(self) -> Run | None:
        """The run that is going on, if any."""
        ...

    async def prompt(self, text: str, options: PromptOptions) -> Answer:
        """Admit a prompt and await its own answer."""
        ...

    def cancel(self, reason: str) -> bool:
        """Stop the run and everything that waits; false when nothing ran."""
        ...


class ChildSession(Protocol):
    """A session that a task call began.

    Contract: on the engine's loop; open until the factory is told that the task's work is over.
    """

    archive: SessionArchive
    asks: Asks
    interview: Interview
    """Who is asked what the model asks."""
    log: SessionLog

    @property
    def runner(self) -> ChildRunner:
        """Runs its prompts."""
        ...

    @property
    def id(self) -> str:
        """The session's id."""
        ...

    @property
    def reverts(self) -> SettlingReverts:
        """Takes back what was said and done; settled before the next prompt."""
        ...

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Be told every record after it was written, on the writer thread; returns a way out."""
        ...


def _unheard(_session_id: str) -> None:
    """Nobody listens."""


@dataclass(slots=True)
class ChildSessionFactory:
    """How the sessions of a workspace begin others; the workspace fills it in."""

    begin: Callable[[SessionInfo], Awaitable[ChildSession]] | None = None
    """Begin a session with this record."""
    resume: Callable[[str], Awaitable[ChildSession]] | None = None
    """Open a session by id; raises UserError."""
    end: Callable[[str], None] = _unheard
    """Say that a task's work in a session, begun or resumed, is over."""
    depth: int = 1
    """How deep work may be handed on."""
