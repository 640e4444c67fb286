"""What the session layer passes to a turn: the session's state, model, tools, permission asks and project files.

The loop decides what happens next; it neither opens sessions nor knows front ends. The session
layer builds one ``RunContext`` for each run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.context.visible_messages import View
from palimpsest.loop.run_inputs.compaction_state import CompactionState
from palimpsest.loop.run_inputs.hook_protocol import Hooks, NoHooks
from palimpsest.loop.run_inputs.policy_stage import PolicyStage
from palimpsest.loop.run_inputs.request_cache import RequestCache
from palimpsest.loop.run_inputs.request_hold import PostponedPruning, RequestHold
from palimpsest.model.interface import Model, ToolCalled
from palimpsest.processor.tool_call_runner import ToolLookup
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.interface import Store
from palimpsest.store.log.session_log import SessionLog
from palimpsest.tools.tool import Abort, AskFunction, Namespace, NotebookReader, PythonRunner
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import Messages, UserMessage
from palimpsest.transcript.redaction.secret_removal import scrub
from palimpsest.transcript.session_record.events import Event
from palimpsest.transcript.session_record.sessions import Spent
from palimpsest.transcript.values import ModelInfo, ToolSpec


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
class RunContext:
    """Everything one run of the loop works with."""

    session_id: str
    log: SessionLog
    blobs: Store
    ids: Ids
    clock: Callable[[], int]
    """Milliseconds since 1970."""
    abort: Abort
    root: Path
    cwd: Path
    setup: Callable[[UserMessage], Awaitable[StepSetup]]
    """Resolve the settings of a user message; raises UserError or ModelFailed with a sentence."""
    deliver: Callable[[], bool]
    """Turn steered prompts into messages, now; true when there were any."""
    ask: Callable[[str, str, str], AskFunction]
    """``(message id, call id, tool)`` returns the function with which that call asks for permission."""
    guard: Callable[[str, ToolCalled], Awaitable[None]]
    """Awaited before a call runs; raises PermissionDenied when a doom loop is rejected."""
    jitter: Callable[[], float]
    """A number from 0 to 1, for the wait before a retry."""
    afford: Callable[[ModelInfo], Awaitable[None]] | None = None
    """Awaited before each request; raises UserError when the spending limit was reached."""
    spent: Callable[[Spent], None] | None = None
    """Called with the usage and cost of a request, after they were added to the session."""
    python: PythonRunner | None = None
    namespace: Namespace | None = None
    notebook: NotebookReader | None = None
    request_cache: RequestCache = field(default_factory=RequestCache)
    """The chunks of the session's newest request."""
    compactions: CompactionState = field(default_factory=CompactionState)
    """Whether a compaction runs, for callers that wait for it."""
    clean: Callable[[str], str] = scrub
    """Redact secrets in text before it is sent or stored; the journal does the same."""
    first_time: Callable[[str], str] = lambda _provider: ""
    """The notice to the user before the first request to a provider; empty where it was shown."""
    files: ProjectFiles | None = None
    """Takes snapshots of the project; None where that is switched off."""
    hooks: Hooks = field(default_factory=NoHooks)
    own_policy: Callable[[], PolicyStage | None] = lambda: None
    """Returns the person's own policy that is asked before each request; None where there is none."""
    policy_notices: list[str] = field(default_factory=list)
    """Sentences about it for the user, which the next answer takes."""
    hold: Callable[[], RequestHold | None] = lambda: None
    """Returns what holds each request before it is sent; None where step mode is off."""
    postponed: PostponedPruning = field(default_factory=PostponedPruning)
    """What the session's last turn left for the next request that is let go."""
    refused_tools: set[tuple[str, str]] = field(default_factory=set)
    """Tools of the session that a provider refused: the provider, and the tool's spec as JSON."""
    extra: dict[str, Any] = field(default_factory=dict)
    """Further values for tools, such as ``environment``."""

    def write(self, *events: Event, sync: bool = False) -> int:
        """Append to the journal."""
        return self.log.append(*events, sync=sync)

    def view(self, messages: Messages | None = None) -> View:
        """Return the session at this moment, or only the given messages, as a view for deciders."""
        state = self.log.state
        found = state.messages() if messages is None else messages
        return View.of(found, state.decisions, self.blobs.get_blob)
