"""The services and settings that the session layer passes to a turn: for requests, tool calls and the turn itself.

The loop neither opens sessions nor knows front ends. The session layer builds one ``RunContext`` for each run.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from palimpsest.loop.run_inputs.compaction_state import CompactionState
from palimpsest.loop.run_inputs.policy_stage import PolicyStage
from palimpsest.loop.run_inputs.request_cache import RequestCache
from palimpsest.loop.run_inputs.request_hold import PostponedPruning, RequestHold
from palimpsest.model.interface import Model
from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.tool_call_runner import RunTools, ToolLookup
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.session_record.hook_values import (
    Compacting,
    CompactingEvent,
    DecideEvent,
    HookDecision,
)
from palimpsest.transcript.session_record.sessions import Spent
from palimpsest.transcript.values import ModelInfo, ToolSpec


@dataclass(frozen=True, slots=True)
class SummaryModel:
    """The model that writes summaries instead of the session's."""

    name: str
    model: Model | None = None
    """The model itself; None where it cannot be used, for the reason in ``problem``."""
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
    """Returns the estimated tokens of a text."""
    system: tuple[str, ...]
    specs: tuple[ToolSpec, ...]
    offer: ToolLookup
    """Finds an offered tool by its name."""
    max_steps: int
    summary_model: SummaryModel | None = None
    """The model for summaries, where the policy names one; else None."""
    summary_system_prompt: str | None = None
    """The system prompt for summaries, where the user configured another one."""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Parameters that the agent sets for every request, such as a temperature."""
    wants_structured: bool = False
    """Whether the turn must end with a structured answer."""
    retries: int = 0
    """How often the model is asked again after a plain-text answer."""


@dataclass
class ProjectFiles:
    """Snapshots of the project's files for one session's steps."""

    snapshots: Snapshots
    leave_out: Callable[[], frozenset[str]]
    """Returns the paths of files that the Jupyter page writes, such as the notebook; snapshots leave them out."""
    problem: str = ""
    """Why no snapshot was taken at the last step; empty when one was."""
    background_tasks: set[asyncio.Task[Any]] = field(default_factory=set)
    """Tasks that still write the changes of turns that have ended."""


class Hooks(Protocol):
    """Calls the hooks of a session; the session layer implements it.

    Contract: returns the hooks' answers in their order; never raises. A hook that fails, is slow or gives an
    invalid answer is skipped, and ``take_notices`` then returns a sentence about it, once in a turn.
    """

    def has_hook(self, name: str) -> bool:
        """Return whether any hook handles the event of this name, such as ``decide``."""

    async def decide(self, event: DecideEvent) -> Sequence[HookDecision]:
        """Return the hooks' decisions to leave parts out of later requests, or to keep them."""

    async def compacting(self, event: CompactingEvent) -> Compacting | None:
        """Return the hooks' additions to the request for a summary."""

    async def request(
        self, model: str, messages: Sequence[Mapping[str, Any]]
    ) -> tuple[str, tuple[dict[str, Any], ...]] | None:
        """Return the rule of the last hook that changed a request's messages, and the messages; else None."""

    def note_skipped(self, rule: str, reason: str) -> None:
        """Note that the answer of a hook could not be used."""

    def take_notices(self) -> tuple[tuple[str, str], ...]:
        """Return and clear the pending notices for the user: a topic and a sentence each."""


@dataclass(slots=True)
class RequestServices:
    """The services for the requests of a run: their inputs, and the checks before they are sent."""

    log: SessionLog
    abort: Abort
    resolve_setup: Callable[[UserMessage], Awaitable[StepSetup]]
    """Resolves the settings of a user message; raises UserError or ModelFailed with a sentence."""
    jitter: Callable[[], float]
    """Returns a number from 0 to 1, for the wait before a retry."""
    hooks: Hooks
    request_hold: Callable[[], RequestHold | None] = lambda: None
    """Returns the hold on requests before they are sent; None where step mode is off."""
    wait_for_budget: Callable[[ModelInfo], Awaitable[None]] | None = None
    """Awaited before each request; raises UserError when the spending limit was reached."""
    on_spending: Callable[[Spent], None] | None = None
    """Called with the usage and cost of a request, after they were added to the session."""
    first_time: Callable[[str], str] = lambda _provider: ""
    """Returns the notice to the user before the first request to a provider; empty where it was shown."""
    own_policy: Callable[[], PolicyStage | None] = lambda: None
    """Returns the user's own policy, which runs before each request; else None."""
    policy_notices: list[str] = field(default_factory=list)
    """Sentences for the user about the user's own policy, shown with the next answer."""
    refused_tools: set[tuple[str, str]] = field(default_factory=set)
    """Tools of the session that a provider refused: the provider, and the tool's spec as JSON."""
    cache: RequestCache = field(default_factory=RequestCache)
    """The chunks of the session's newest request."""


@dataclass(slots=True)
class TurnServices:
    """The services around the steps of a run: steered prompts, compactions and snapshots."""

    deliver_prompts: Callable[[], bool]
    """Turns steered prompts, sent while the turn runs, into messages; returns whether there were any."""
    postponed_pruning: PostponedPruning = field(default_factory=PostponedPruning)
    """The pruning that the session's last turn postponed to the next released request."""
    compactions: CompactionState = field(default_factory=CompactionState)
    """Whether a compaction runs, for callers that wait for it."""
    files: ProjectFiles | None = None
    """Takes snapshots of the project; None where that is switched off."""
    may_write_again: bool = True
    """Whether a defective summary may be requested once more, as long as none of this run failed."""


@dataclass(slots=True)
class RunContext:
    """The services of one run of the loop; code that only reads or writes the session takes its log instead."""

    request_services: RequestServices
    run_tools: RunTools
    turn_services: TurnServices
