"""What the session layer passes to a turn: the session's state, model, tools, permission asks and project files.

The loop decides what happens next; it neither opens sessions nor knows front ends. The session
layer builds one ``RunContext`` for each run.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

from palimpsest.context.visible_messages import View
from palimpsest.loop.run_inputs.compaction_state import CompactionState
from palimpsest.loop.run_inputs.hook_protocol import Hooks
from palimpsest.loop.run_inputs.policy_stage import PolicyStage
from palimpsest.loop.run_inputs.request_cache import RequestCache
from palimpsest.loop.run_inputs.request_hold import PostponedPruning, RequestHold
from palimpsest.model.interface import Model, ToolCalled
from palimpsest.processor.tool_call_runner import ToolLookup
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.interface import Store
from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.state import State
from palimpsest.tools.tool import (
    Abort,
    AskFunction,
    Namespace,
    NotebookReader,
    PythonRunner,
    ToolContext,
)
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import (
    AssistantMessage,
    Message,
    MessagePath,
    Messages,
    MessageTime,
    UserMessage,
)
from palimpsest.transcript.redaction.secret_patterns import scrub
from palimpsest.transcript.session_record.sessions import Spent
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

KEPT_SECONDS = 30.0
"""How long ``kept`` waits for a disk that does not respond."""
LOOK_SECONDS = 0.2
"""How often a wait for a stuck disk checks whether the turn was stopped."""

T = TypeVar("T")


class _Guarded(Generic[T]):
    """A value of a state, read under the journal's lock and kept until the next record."""

    def __init__(self, read: Callable[[State], T]) -> None:
        self._read = read

    def __set_name__(self, _owner: type, name: str) -> None:
        self._name = name

    def __get__(self, state: "GuardedState", _owner: type) -> T:
        with state.journal.lock:
            found = state.__dict__[self._name] = self._read(state.journal.state)
        return found


class GuardedState:
    """The folded state of a session; ``State`` says what each value is. Between two records each is read once."""

    __slots__ = ("__dict__", "_known", "journal")

    def __init__(self, journal: Journal) -> None:
        self.journal = journal
        self._known: dict[tuple[object, ...], Any] = {}
        journal.kept_reads += (self.__dict__, self._known)

    session = _Guarded(lambda state: state.session)
    decisions = _Guarded(lambda state: state.decisions)
    request = _Guarded(lambda state: state.request)
    items = _Guarded(lambda state: state.items)
    inbox = _Guarded(lambda state: dict(state.inbox))
    todos = _Guarded(lambda state: state.todos)
    diff = _Guarded(lambda state: state.diff)
    seq = _Guarded(lambda state: state.seq)

    def _of(self, read: Callable[..., T], *names: str) -> T:
        """Return what is read of the state as it is; words of a part that are not journaled yet wait on."""
        key = (read, *names)
        with self.journal.lock:
            if key not in self._known:
                self._known[key] = read(self.journal.state, *names)
            found: T = self._known[key]
            return found

    def messages(self) -> Messages:
        """Return the messages in order."""
        return self._of(State.messages)

    def newest_message(self) -> Message | None:
        """Return the newest message; no other is read."""
        return self._of(State.newest_message)

    def holding(self, kind: str) -> Messages:
        """Return the messages that hold a part of a type that is looked for, in order; no other is read."""
        return self._of(State.holding, kind)

    def message(self, message_id: str) -> Message | None:
        """Return one message."""
        return self._of(State.message, message_id)


class SessionLog:
    """One session as the loop, the questions and the runner read and write it: events, state, blobs and new ids."""

    def __init__(
        self,
        journal: Journal,
        *,
        blobs: Store,
        ids: Ids,
        clock: Callable[[], int],
        path: MessagePath,
        clean: Callable[[str], str] = scrub,
    ) -> None:
        self.journal = journal
        self.append = journal.append
        self.state = GuardedState(journal)
        self.blobs = blobs
        self.ids = ids
        self.clock = clock
        """Milliseconds since 1970."""
        self.clean = clean
        """Redacts secrets in text before it is sent or stored; the journal does the same."""
        self._path = path

    @property
    def session_id(self) -> str:
        """The id of the session whose log is written; the fork's after another kernel took over."""
        return self.journal.session_id

    def view(self, messages: Messages | None = None) -> View:
        """Return the session at this moment, or only the given messages, as a view for deciders."""
        found = self.state.messages() if messages is None else messages
        return View.of(found, self.state.decisions, self.blobs.get_blob)

    def new_answer(
        self, parent_id: str, agent: str, model: ModelRef, *, summary: bool = False
    ) -> AssistantMessage:
        """Return the info of an answer to a user message, or of a summary, that begins now."""
        return AssistantMessage(
            id=self.ids.new("msg"),
            session_id=self.session_id,
            parent_id=parent_id,
            time=MessageTime(created=self.clock()),
            agent=agent,
            model=model,
            path=self._path,
            summary=summary,
        )

    async def kept(self, ended: Callable[[], bool] = lambda: False) -> str:
        """Wait until everything appended is written; returns one sentence if that takes too long, else "".

        Events that the disk refuses stay in memory, and the error is reported at once; they are not waited for.
        """
        stall = self.journal.stall
        written = asyncio.ensure_future(self.journal.flush())
        while not written.done():
            await asyncio.wait({written}, timeout=LOOK_SECONDS)
            words = stall.words
            if ended() or (words and time.monotonic() - stall.since > KEPT_SECONDS):
                written.cancel()
                return words
        return ""


@dataclass(frozen=True, slots=True)
class SummaryModel:
    """The model that is to write summaries instead of the session's."""

    name: str
    model: Model | None = None
    """None where it cannot be used, and ``problem`` says why."""
    info: ModelInfo | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class StepSetup:
    """The resolved settings of one user message: agent, model, policy, system prompt and tools."""

    agent: str
    model: Model
    info: ModelInfo
    policy: Policy
    count: Callable[[str], int]
    system: tuple[str, ...]
    specs: tuple[ToolSpec, ...]
    offer: ToolLookup
    max_steps: int
    summary_model: SummaryModel | None = None
    """Writes summaries, where the policy names a model for them."""
    summary_system_prompt: str | None = None
    """The system prompt for summaries, where the user configured another than ours."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that the agent sets for every request, such as a temperature."""
    retries: int | None = None
    """How often a plain-text answer is asked for again as structured output; None where none is required."""

    @property
    def wants_structured(self) -> bool:
        """Whether the turn is to end with a structured answer."""
        return self.retries is not None


@dataclass
class ProjectFiles:
    """Snapshots of the project's files for one session's steps."""

    snapshots: Snapshots
    leave_out: Callable[[], frozenset[str]]
    """Files that the Jupyter page writes, such as the session's notebook; snapshots leave them out."""
    problem: str = ""
    """Why no snapshot was taken at the last step; empty when one was."""
    background: set[asyncio.Task[Any]] = field(default_factory=set)
    """Tasks that still write the changes of turns that have ended."""

    async def take(self) -> str | None:
        """Take a snapshot; None where that fails, and ``problem`` says why."""
        try:
            name = await asyncio.to_thread(self.snapshots.take, self.leave_out())
        except UserError as problem:
            self.problem = str(problem)
            return None
        self.problem = ""
        return name


@dataclass(slots=True)
class RunTools:
    """What the tool calls of a run get: the session, folders, permission, and what the kernel has for them."""

    log: SessionLog
    abort: Abort
    root: Path
    cwd: Path
    ask: Callable[[str, str, str], AskFunction]
    """``(message id, call id, tool)`` returns the function with which that call asks for permission."""
    guard: Callable[[str, ToolCalled], Awaitable[None]]
    """Awaited before a call runs; raises PermissionDenied when a doom loop is rejected."""
    python: PythonRunner | None = None
    namespace: Namespace | None = None
    notebook: NotebookReader | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    """Further values for tools, such as ``environment``."""

    def context(
        self, message_id: str, call_id: str, agent: str, ask: AskFunction, **more: Any
    ) -> ToolContext:
        """Return what one tool call receives; ``more`` are further values of ``ToolContext``."""
        extra = {**self.extra, **more.pop("extra", {})}
        return ToolContext(
            session_id=self.log.session_id,
            message_id=message_id,
            call_id=call_id,
            agent=agent,
            abort=self.abort,
            messages=self.log.state.messages(),
            root=self.root,
            cwd=self.cwd,
            ask=ask,
            notebook=self.notebook,
            extra=extra,
            **more,
        )


@dataclass(slots=True)
class RequestServices:
    """What the requests of a run are made of and with, and who is asked before one is sent."""

    log: SessionLog
    abort: Abort
    setup: Callable[[UserMessage], Awaitable[StepSetup]]
    """Resolve the settings of a user message; raises UserError or ModelFailed with a sentence."""
    jitter: Callable[[], float]
    """A number from 0 to 1, for the wait before a retry."""
    hooks: Hooks
    hold: Callable[[], RequestHold | None] = lambda: None
    """Returns what holds each request before it is sent; None where step mode is off."""
    afford: Callable[[ModelInfo], Awaitable[None]] | None = None
    """Awaited before each request; raises UserError when the spending limit was reached."""
    spent: Callable[[Spent], None] | None = None
    """Called with the usage and cost of a request, after they were added to the session."""
    first_time: Callable[[str], str] = lambda _provider: ""
    """The notice to the user before the first request to a provider; empty where it was shown."""
    own_policy: Callable[[], PolicyStage | None] = lambda: None
    """Returns the person's own policy that is asked before each request; None where there is none."""
    policy_notices: list[str] = field(default_factory=list)
    """Sentences about it for the user, which the next answer takes."""
    refused_tools: set[tuple[str, str]] = field(default_factory=set)
    """Tools of the session that a provider refused: the provider, and the tool's spec as JSON."""
    cache: RequestCache = field(default_factory=RequestCache)
    """The chunks of the session's newest request."""


@dataclass(slots=True)
class TurnServices:
    """What goes on around the steps of a run: steered prompts, compactions and snapshots."""

    deliver: Callable[[], bool]
    """Turn steered prompts into messages, now; true when there were any."""
    postponed: PostponedPruning = field(default_factory=PostponedPruning)
    """What the session's last turn left for the next request that is let go."""
    compactions: CompactionState = field(default_factory=CompactionState)
    """Whether a compaction runs, for callers that wait for it."""
    files: ProjectFiles | None = None
    """Takes snapshots of the project; None where that is switched off."""


@dataclass(slots=True)
class RunContext:
    """What one run of the loop works with, by who uses it; what only reads or writes the session takes its log."""

    requests: RequestServices
    tools: RunTools
    turn: TurnServices
