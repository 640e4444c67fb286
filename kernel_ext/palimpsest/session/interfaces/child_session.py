"""The interface of a child session, which works on a task for its parent session.

Border: the interface alone. ``LiveSession`` implements it; it is defined here because a live session
creates children and so is in a layer above the code that runs them.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from palimpsest.processor.session_log import SessionLog
from palimpsest.session.engine import RecordsCallback, Run
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.permissions.asks import Asks
from palimpsest.session.records.recall_archive import SessionArchive
from palimpsest.tools.workflow.question import Interview
from palimpsest.transcript.session_record.sessions import SessionInfo


class SettlingReverts(Protocol):
    """What a task does with the reverts of its session."""

    async def settle(self) -> None:
        """Make a revert final before the session is continued."""


class ChildRunner(Protocol):
    """Runs the prompts of a task's session. Contract: on the engine's loop."""

    @property
    def busy(self) -> bool:
        """Whether a run is active."""

    @property
    def run(self) -> Run | None:
        """The active run, if any."""

    async def prompt(self, text: str, options: PromptOptions) -> Answer:
        """Add a prompt to the inbox and await its own answer."""

    def cancel(self, reason: str) -> bool:
        """Stop the run and withdraw waiting prompts; returns whether there was anything to stop."""


class ChildSession(Protocol):
    """A session that a task call created.

    Contract: on the engine's loop; open until ``ChildSessionFactory.end`` is called for the task.
    """

    archive: SessionArchive
    asks: Asks
    interview: Interview
    """Asks the user the model's questions."""
    log: SessionLog

    @property
    def runner(self) -> ChildRunner:
        """Runs the session's prompts."""

    @property
    def id(self) -> str:
        """The session's id."""

    @property
    def reverts(self) -> SettlingReverts:
        """The revert operations; ``settle`` is called before the next prompt."""

    def subscribe(self, callback: RecordsCallback) -> Callable[[], None]:
        """Call back with written records, on the writer thread; returns a function that unsubscribes."""


@dataclass(slots=True)
class ChildSessionFactory:
    """Creates, resumes and releases child sessions; the workspace sets its functions."""

    begin: Callable[[SessionInfo], Awaitable[ChildSession]] | None = None
    """Create a session with this record."""
    resume: Callable[[str], Awaitable[ChildSession]] | None = None
    """Open a session by id; raises UserError."""
    end: Callable[[str], object] = lambda _session_id: None
    """Report that a task's work in a session, created or resumed, is over."""
    depth: int = 1
    """Maximum nesting depth of subagents."""
