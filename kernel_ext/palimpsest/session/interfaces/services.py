"""What every session of a workspace works with; ``app`` wires it once."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from palimpsest.model.interface import Model
from palimpsest.session.config.locked_settings import LockedSettings
from palimpsest.session.config.settings import ShareMode
from palimpsest.session.definitions.agents import Agent
from palimpsest.session.definitions.project_definitions import ProjectDefinitions
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.session.interfaces.child_session import ChildSessionFactory
from palimpsest.session.permissions.effective_rules import EffectiveRules
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.interface import Store
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.permission_rules.permissions import Rules
from palimpsest.tools.registration.registry import Registry
from palimpsest.tools.tool import Detail, Namespace, PythonRunner
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.redaction.text import scrub
from palimpsest.transcript.values import ModelInfo


def same_model(info: ModelInfo) -> ModelInfo:
    """Let the model that answers do all the rest as well."""
    return info


def any_model(_info: ModelInfo) -> None:
    """Take every model, since only its maker knows which there are."""


@dataclass(frozen=True, slots=True)
class Services:
    """What every session of a workspace works with; wired by ``app``."""

    store: Store
    ids: Ids
    clock: Callable[[], int]
    jitter: Callable[[], float]
    root: Path
    cwd: Path
    registry: Registry
    model: Callable[[ModelInfo], Model]
    """The adapter that answers for a model."""
    info: Callable[[str, str | None], ModelInfo]
    """``(model id, variant)`` to what is known of it; raises ConfigError for nonsense."""
    default_model: Callable[[], str]
    count: Callable[[str], Callable[[str], int]]
    """Token counter by estimator name."""
    agents: dict[str, Agent]
    default_agent: str
    rules: Rules
    """Defaults, mode and configuration; an agent's own rules come after."""
    policy: Policy
    """The configured context policy; a session may choose another."""
    policy_fixed: Mapping[str, str] = field(default_factory=dict)
    """Numbers of it that an administrator fixed, and the file that says so."""
    effective_rules: EffectiveRules = field(default_factory=EffectiveRules)
    """Rules, mode and spending limit as configured, and what was approved for the project."""
    locked_settings: LockedSettings = field(default_factory=LockedSettings)
    """What an administrator holds fast."""
    spending_limits: dict[str, Any] = field(default_factory=dict)
    """What the sessions that this kernel writes spend, by id."""
    joined_sessions: set[str] = field(default_factory=set)
    """Ids of the sessions in which this kernel took part."""
    history_limits: Mapping[str, Any] = field(default_factory=dict)
    """Turns that are sent: ``history_limit``, ``dm_history_limit`` and ``dms``, where configured."""
    user: str = ""
    """Login name of the person whose kernel this is; empty where nobody knows."""
    instruction_files: tuple[str, ...] = ()
    """Files that the configuration reads into every system prompt; absolute, may hold ``*``."""
    extra_system: str | None = None
    """Words that the configuration adds to every system prompt."""
    max_steps: int | None = None
    most_steps: int | None = None
    """What a project that nobody trusted lets any agent take, unless a person asks for more."""
    check_model: Callable[[ModelInfo], None] = any_model
    """Raises ConfigError for a model that a person names and that is known not to be there."""
    titles: bool = False
    """A model is asked for the title of a new session."""
    turn_summaries: bool = False
    """A model is asked after each turn for what was done in it, in words."""
    small_model: Callable[[ModelInfo], ModelInfo] = same_model
    """The model that writes titles and turn summaries beside the one that answers."""
    share: ShareMode = "manual"
    """When a session becomes a page: after every turn, when a person says so, or never."""
    snapshots: Snapshots | None = None
    """Keeps the project's files as they were; None where that is off, or nothing can be kept."""
    variables: Detail = "names and types"
    """What is told of the user's variables of which nobody spoke."""
    first_time: Callable[[str], str] = lambda _provider: ""
    """What a person is told before the first request to a provider."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Of this kernel; what tools start gets it without its secrets."""
    secrets: Callable[[], tuple[str, ...]] = tuple
    """Values that this kernel holds as secrets now; they stand in no log and in no request."""
    python: Callable[[str], PythonRunner] | None = None
    """By session id; None where no kernel is."""
    namespace: Callable[[str], Namespace] | None = None
    script: bool = False
    """No kernel is here: what is asked without naming a session goes on with the folder's."""
    family: ChildSessionFactory = field(default_factory=ChildSessionFactory)
    """How a session begins others."""
    definitions: ProjectDefinitions | None = None
    """Agents, commands and skills from files; None where there are none."""
    hooks: HookRegistry | None = None
    servers: McpServers | None = None
    """The MCP servers of this kernel."""

    def clean(self, text: str) -> str:
        """Return the text without secrets, known ones and those that look like one."""
        return scrub(text, self.secrets())
