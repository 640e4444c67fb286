"""What a turn is given from above: the session's state, its model, its tools, its way to ask.

The loop decides what happens next; it neither opens sessions nor knows front ends. The session
layer builds one ``RunContext`` for each run.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from palimpsest.context.visible_messages.view import View
from palimpsest.loop.run_inputs.compaction_state import CompactionState
from palimpsest.loop.run_inputs.hook_protocol import Hooks, NoHooks
from palimpsest.loop.run_inputs.project_files import ProjectFiles
from palimpsest.loop.run_inputs.request_cache import RequestCache
from palimpsest.model.interface import Model, ToolCalled
from palimpsest.processor.stream_services import Recorder
from palimpsest.processor.tool_call_runner import ToolLookup
from palimpsest.tools.tool import Abort, AskFunction, Namespace, PythonRunner
from palimpsest.transcript.context_values.decisions import ContextItem, Decision, StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import Message, Messages, UserMessage
from palimpsest.transcript.redaction.text import scrub
from palimpsest.transcript.session_record.budgets import Spent
from palimpsest.transcript.session_record.events import Event, PromptAdmitted
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import BlobRef, ModelInfo, Todo, ToolSpec


class StateView(Protocol):
    """The folded session, read safely from the engine's thread."""

    @property
    def session(self) -> SessionInfo | None:
        """The session's own record."""
        ...

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All decisions so far."""
        ...

    @property
    def request(self) -> StepRequest | None:
        """The newest model request."""
        ...

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """All items of the newest request."""
        ...

    @property
    def inbox(self) -> dict[str, PromptAdmitted]:
        """Prompts that wait, in order."""
        ...

    @property
    def todos(self) -> tuple[Todo, ...]:
        """The todo list."""
        ...

    @property
    def diff(self) -> tuple[dict[str, Any], ...]:
        """The files that the session changed."""
        ...

    @property
    def seq(self) -> int:
        """The highest sequence number."""
        ...

    def messages(self) -> Messages:
        """Return the messages in order."""
        ...

    def message(self, message_id: str) -> Message | None:
        """Return one message."""
        ...


class Log(Recorder, Protocol):
    """The journal as the loop sees it: what can be written, and the state that follows."""

    @property
    def state(self) -> StateView:
        """The fold of everything written so far."""
        ...

    async def kept(self, ended: Callable[[], bool] = ...) -> str:
        """Return when all that was appended is written; one sentence where that takes too long."""
        ...


class Blobs(Protocol):
    """Content by hash; the store is one."""

    def put_blob(self, content: bytes, mime: str = "text/plain") -> BlobRef:
        """Keep content."""
        ...

    def get_blob(self, sha256: str) -> bytes:
        """Return content; raises NotFound."""
        ...


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
    """What one user message asks for, resolved."""

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
    """The system prompt of who writes summaries, where somebody wrote another than ours."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """What the agent asks of every request, such as a temperature."""
    retries: int | None = None
    """How often an answer in words is asked for in the form that the prompt wants; None where it wants none."""


@dataclass(slots=True)
class RunContext:
    """Everything one run of the loop works with."""

    session_id: str
    log: Log
    blobs: Blobs
    ids: Ids
    clock: Callable[[], int]
    """Milliseconds since 1970."""
    abort: Abort
    root: Path
    cwd: Path
    setup: Callable[[UserMessage], Awaitable[StepSetup]]
    """Resolve a user message; raises UserError or ModelFailed with a sentence."""
    deliver: Callable[[], bool]
    """Turn steered prompts into messages, now; true when there were any."""
    ask: Callable[[str, str, str], AskFunction]
    """``(message id, call id, tool)`` gives the function with which that call asks."""
    guard: Callable[[str, ToolCalled], Awaitable[None]]
    """Awaited before a call runs; raises PermissionDenied when a doom loop is rejected."""
    jitter: Callable[[], float]
    """A number from 0 to 1, for the wait before a retry."""
    afford: Callable[[ModelInfo], Awaitable[None]] | None = None
    """Awaited before each request; raises UserError when the spending limit was reached."""
    spent: Callable[[Spent], None] | None = None
    """Told what a request took, after it was added to the session."""
    python: PythonRunner | None = None
    namespace: Namespace | None = None
    request_cache: RequestCache = field(default_factory=RequestCache)
    """What the session's newest request was made of."""
    compactions: CompactionState = field(default_factory=CompactionState)
    """Says whether a compaction runs, to whoever waits for it."""
    clean: Callable[[str], str] = scrub
    """Take secrets out of text before it is sent or kept; the journal does the same."""
    first_time: Callable[[str], str] = lambda _provider: ""
    """What a person is told before the first request to a provider; empty where it was told."""
    files: ProjectFiles | None = None
    """Takes snapshots of the project; None where that is switched off."""
    hooks: Hooks = field(default_factory=NoHooks)
    extra: dict[str, Any] = field(default_factory=dict)
    """What tools are given besides, such as ``environment``."""

    def write(self, *events: Event, sync: bool = False) -> int:
        """Append to the journal."""
        return self.log.append(*events, sync=sync)

    def view(self, messages: Messages | None = None) -> View:
        """Return what the session holds at this moment, or these of its messages, for who decides about it."""
        state = self.log.state
        found = state.messages() if messages is None else messages
        return View.of(found, state.decisions, self.blobs.get_blob)
