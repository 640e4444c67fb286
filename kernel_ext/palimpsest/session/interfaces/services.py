"""The services that all sessions of a workspace share; ``app`` wires them once."""

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.loop.run_inputs.policy_stage import PolicyStageFactory, no_policy_stage
from palimpsest.model.interface import Model
from palimpsest.session.config.setting_files import LockedSettings
from palimpsest.session.config.settings import ReplayMode, ShareMode
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.definitions.project_definitions import ProjectDefinitions
from palimpsest.session.engine import Run
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.session.interfaces.prompt_mentions import QuietNamespace
from palimpsest.session.permissions.approved_code import ApprovedCode
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.exchange.importer import import_sessions
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.interface import Store
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.tools.registration.registry import Registry
from palimpsest.tools.tool import Detail, Namespace, NotebookReader, PythonRunner, WithoutPage
from palimpsest.tools.workflow.task import SubagentRunner
from palimpsest.transcript.context_values.cell_runs import NotebookDetail
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.redaction.secret_removal import KernelSecrets
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Density, ModelInfo


def any_model(_info: ModelInfo) -> None:
    """Accept every model, since only the caller that supplies models knows which exist."""


@dataclass(frozen=True, slots=True)
class ModelServices:
    """The models and their adapters, and the settings of requests other than answers, such as for titles."""

    model: Callable[[ModelInfo], Model]
    """The adapter that answers for a model."""
    info: Callable[[str, str | None], ModelInfo]
    """``(model id, variant)`` to the facts about the model; raises ConfigError for an invalid id."""
    default_model: Callable[[], str]
    count: Callable[[str], Callable[[str], int]]
    """Token counter by estimator name."""
    check_model: Callable[[ModelInfo], None] = any_model
    """Raises ConfigError for a model that the user names and that is known not to exist."""
    small_model: Callable[[ModelInfo], ModelInfo] = lambda info: info
    """Returns the model that writes titles and turn summaries, given the model that answers."""
    titles: bool = False
    """Whether a title for each new session is requested from a model."""
    turn_summaries: bool = False
    """Whether a summary of each turn is requested from a model."""
    first_time: Callable[[str], str] = lambda _provider: ""
    """Returns a notice for the user before the first request to a provider; empty where none is due."""


@dataclass(frozen=True, slots=True)
class AgentServices:
    """The agents with their tools, and what every system prompt and turn is given."""

    registry: Registry
    known_agents: dict[str, Agent]
    default_agent: str
    definitions: ProjectDefinitions | None = None
    """Agents, commands and skills from files; None where there are none."""
    hooks: HookRegistry | None = None
    servers: McpServers | None = None
    """The MCP servers of this kernel."""
    instruction_files: tuple[str, ...] = ()
    """Files that the configuration reads into every system prompt; absolute, may hold ``*``."""
    extra_system: str | None = None
    """Text that the configuration adds to every system prompt."""
    history_limits: Mapping[str, Any] = field(default_factory=dict)
    """Maximum turns that are sent: ``history_limit``, ``dm_history_limit`` and ``dms``, where configured."""
    max_steps: int | None = None
    most_steps: int | None = None
    """Upper limit of ``max_steps`` in an untrusted project, unless the user asks for more."""


@dataclass(frozen=True, slots=True)
class RuleServices:
    """The permission rules and the context policy: as configured, as locked, and as in force now."""

    base_rules: Rules
    """Defaults, mode and configuration; an agent's own rules come after."""
    policy: Policy
    """The configured context policy; a session may choose another."""
    effective_rules: EffectiveRules = field(default_factory=EffectiveRules)
    """Rules, mode and spending limit as configured, and the approvals for the project."""
    locked_settings: LockedSettings = field(default_factory=LockedSettings)
    """The settings that an administrator locked."""
    policy_fixed: Mapping[str, str] = field(default_factory=dict)
    """Values of the policy that an administrator fixed, by name, and the file that fixes each."""
    policy_stage: PolicyStageFactory = no_policy_stage
    """Makes the stage that runs a policy of the user's own before each request, from the policy or its name."""
    approved_code: ApprovedCode = field(default_factory=ApprovedCode)
    """The Python that ran here with the user's approval."""


@dataclass(frozen=True, slots=True)
class KernelServices:
    """This kernel's Python, variables and notebook, and how much of them the model is shown; empty in a script."""

    python: Callable[[str], PythonRunner] | None = None
    """Returns the runner for the agent's Python, by session id; None where there is no kernel."""
    namespace: Callable[[str], Namespace] | None = None
    quiet_namespace: Callable[[str], QuietNamespace] | None = None
    """Returns the reader of variables for a prompt that is being typed, by session id."""
    notebook: NotebookReader | None = None
    """Reads which cells the user ran in this kernel; None where there is no kernel."""
    notebook_detail: NotebookDetail = "all"
    """Which of the user's cells are described to the model."""
    notebook_tokens: int = 6_000
    """Maximum tokens of the note about the user's cells beside one prompt."""
    cells_without_page: WithoutPage = "refuse"
    """What becomes of changes to a notebook that no page shows and that may be open elsewhere."""
    variables: Detail = "names and types"
    """How much the model is told about variables that no prompt or call names."""
    script: bool = False
    """Whether there is no kernel, so that a prompt that names no session continues the folder's newest session."""
    replay_mode: ReplayMode = "ask"
    """Whether cells show their recorded answers."""


@dataclass(slots=True)
class ChildSessionFactory:
    """Creates, resumes and releases child sessions; the workspace sets its functions."""

    create_session: Callable[[SessionInfo], Awaitable[Any]] | None = None
    """Create a session with this record, and return it as a ``LiveSession``."""
    open_session: Callable[[str], Awaitable[Any]] | None = None
    """Open a session by id, and return it as a ``LiveSession``; raises UserError."""
    report_end: Callable[[str], object] = lambda _session_id: None
    """Report that a task's work in a session that was created or resumed has ended."""
    runner: Callable[[Any, Run], SubagentRunner | None] = lambda _session, _run: None
    """Returns the runner of subagent tasks for one run of a ``LiveSession``; None where no subagent is available."""
    depth: int = 1
    """Maximum nesting depth of subagents."""


@dataclass(frozen=True, slots=True)
class SessionServices:
    """Services for more than one session: pages, snapshots, imports, and registers of the open sessions."""

    share: ShareMode = "manual"
    """When a session's page is written: after every turn, on request, or never."""
    density: Density = "quiet"
    """How much of a turn is shown, unless the reader of a page chose another density."""
    snapshots: Snapshots | None = None
    """Stores earlier states of the project's files; None where that is off or impossible."""
    import_sessions: Callable[[Store, Path, Callable[[], int], ImportControl], ImportReport] = (
        import_sessions
    )
    """Imports the sessions at a path; ``app`` sets a function that also reads other agents' recordings."""
    spending_limits: dict[str, Any] = field(default_factory=dict)
    """The spending limits of the sessions that this kernel writes, by session id."""
    step_modes: dict[str, Any] = field(default_factory=dict)
    """The step modes of the sessions that this kernel writes, by session id."""
    joined_session_ids: set[str] = field(default_factory=set)
    """Ids of the sessions in which this kernel took part."""
    child_sessions: ChildSessionFactory = field(default_factory=ChildSessionFactory)
    """Creates and resumes child sessions."""


@dataclass(frozen=True, slots=True)
class Services:
    """The services that all sessions of a workspace share, grouped by their purpose; made by ``app``."""

    store: Store
    ids: Ids
    clock: Callable[[], int]
    jitter: Callable[[], float]
    root: Path
    cwd: Path
    models: ModelServices
    agents: AgentServices
    rules: RuleServices
    kernel: KernelServices = field(default_factory=KernelServices)
    sessions: SessionServices = field(default_factory=SessionServices)
    user: str = ""
    """Login name of the kernel's user; empty where it is unknown."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The kernel's environment variables; processes that tools start get them without secrets."""
    secrets: KernelSecrets = field(default_factory=lambda: KernelSecrets({}, time.monotonic))
    """The secret values that this kernel holds now; they are removed from logs and requests."""
