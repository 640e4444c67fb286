"""Wire the application: which store, models, tools and kernel the layers below use.

This is the only place of wiring; everything below gets its dependencies from here. There is one ``App`` per
kernel, or per script without a kernel; the session object that a user holds in a variable is in ``public``.
"""

import atexit
import functools
import getpass
import os
import random
import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from palimpsest.app.applied_settings import (
    apply_permission_settings,
    hook_sources,
    server_specs,
)
from palimpsest.app.first_request_notice import FirstRequestNotice
from palimpsest.app.loaded_config import (
    Config,
    ConfigFolders,
    LoadedConfig,
    distrust_project,
    load,
    still_trusted,
    trust_project,
)
from palimpsest.context.budget.window_guard import window_text, with_window
from palimpsest.context.policy_overrides import number_names, possible_values
from palimpsest.context.presets import PRESETS
from palimpsest.loop.run_inputs.policy_stage import PolicyStage
from palimpsest.model.adapter.litellm_model import LitellmModel, preload
from palimpsest.model.catalog import discovery, local_servers, model_info
from palimpsest.model.catalog.gateway_names import source_remark
from palimpsest.model.catalog.local_servers import LocalModels
from palimpsest.model.catalog.model_check import check_model, model_lister
from palimpsest.model.direct.direct_model import DirectModel
from palimpsest.model.direct.direct_model import preload as preload_http
from palimpsest.model.direct.supported_models import needs_litellm
from palimpsest.model.interface import Model
from palimpsest.model.tokenizer import counter
from palimpsest.paused_collection import collection_paused
from palimpsest.session.config.context_policy import DEFAULT
from palimpsest.session.config.layer_merge import UntrustedSetting, dotted_name
from palimpsest.session.config.setting_files import PROJECT_ORIGIN, LockedSettings
from palimpsest.session.config.state_folder import use_state_folder
from palimpsest.session.definitions.agents import Agent, subagents_of
from palimpsest.session.definitions.project_definitions import (
    DefinitionSources,
    ProjectDefinitions,
    register_definitions,
    skill_rules,
)
from palimpsest.session.engine import EngineThread
from palimpsest.session.extensions.hooks import close_registry, open_registry
from palimpsest.session.interfaces.prompt_mentions import QuietNamespace
from palimpsest.session.interfaces.services import (
    AgentServices,
    ChildSessionFactory,
    KernelServices,
    ModelServices,
    RuleServices,
    Services,
    SessionServices,
    any_model,
)
from palimpsest.session.permissions.approved_code import ApprovedCode
from palimpsest.session.permissions.effective_rules import Approvals, EffectiveRules
from palimpsest.session.permissions.grants import Grants, ProjectMoveWatch
from palimpsest.session.prompts.hidden_variables import (
    HiddenNames,
    HidingNamespace,
    HidingQuietNamespace,
)
from palimpsest.session.trust.trust_store import TrustStore
from palimpsest.store.exchange.import_report import ImportControl, ImportReport
from palimpsest.store.file_snapshots.snapshots import Snapshots
from palimpsest.store.interface import Store
from palimpsest.store.log.journal import now_ms
from palimpsest.store.log.jsonl_store import JsonlStore
from palimpsest.store.log.store_factory import find_project, open_store
from palimpsest.store.project_folder.layout import ProjectNumber
from palimpsest.store.project_folder.lease import this_owner
from palimpsest.tools.file_access.gitignore import ALWAYS_SKIPPED, GitignoreRules
from palimpsest.tools.file_access.paths import protection_of
from palimpsest.tools.mcp.server import MAX_CLOSE_SECONDS
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.permission_rules.permissions import Rules, merge_rules
from palimpsest.tools.registration.builtin_tools import DEFAULT_RULES
from palimpsest.tools.registration.function_tools import FunctionTool
from palimpsest.tools.registration.registry import Registry, builtin_tools
from palimpsest.tools.tool import Namespace, NotebookReader, PythonRunner
from palimpsest.transcript.errors import ConfigError, NotFound
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.redaction.secret_removal import KernelSecrets
from palimpsest.transcript.values import ModelInfo, Price

if TYPE_CHECKING:
    from palimpsest.frontends.inspector.inspections import Inspections
    from palimpsest.session.open_sessions.workspace import Workspace

APPS: list["App"] = []
"""The open apps of this process, newest last."""

ToolFunction = TypeVar("ToolFunction", bound=Callable[..., Any])

USER_TOOLS: list[Callable[..., Any]] = []
"""Functions registered with ``@palimpsest.tool``, also for apps that are made later."""

REHEARSAL_MODULE = "palimpsest.rehearsal.rehearsal_model"
MIN_QUERY_SECONDS = 30.0
"""Minimum seconds between two queries for local models."""
MIN_CONFIGURED_QUERY_SECONDS = 2.0
"""The same where a configured server had no models: it may be starting."""
SERVER_ROW_NAME = "(server)"
"""Takes the place of a model's name in the row of a server that does not respond."""
NO_FOLDER_SENTENCE = "There is no folder {path!r}. Make it, or name another as start."
TRUST_CHANGED_SENTENCE = (
    "Files of this project changed since you trusted them. %agent config trust believes them, from the "
    "next start of the kernel."
)


class App:
    """One kernel's engine, workspace and configuration.

    ``python``, ``namespace`` and ``quiet_namespace`` are called with a session's id.
    """

    def __init__(
        self,
        *,
        start: str | os.PathLike[str] | None = None,
        kernel_id: str | None = None,
        environment: Mapping[str, str] | None = None,
        overrides: Mapping[str, Any] | None = None,
        python: Callable[[str], PythonRunner] | None = None,
        namespace: Callable[[str], Namespace] | None = None,
        quiet_namespace: Callable[[str], QuietNamespace] | None = None,
        notebook_runs: NotebookReader | None = None,
        model: Callable[[ModelInfo], Model] | None = None,
        engine: EngineThread | None = None,
        notebook: Callable[[], str | None] = lambda: None,
    ) -> None:
        self.start = Path(start or Path.cwd()).resolve()
        if not self.start.is_dir():
            raise NotFound(NO_FOLDER_SENTENCE.format(path=str(self.start)))
        self.environment = environment if environment is not None else os.environ
        self.engine = engine or EngineThread()
        self.notebook = notebook
        """Returns the path of the notebook that this kernel belongs to."""
        self.in_kernel = python is not None
        self.notebook_runs = notebook_runs
        """Reads which cells the user ran in this kernel."""
        self._overrides = dict(overrides or {})
        self._config: LoadedConfig = load(self.start, self.environment, self._overrides)
        use_state_folder(self._config.state)
        self.project = find_project(self.start)
        store, self.warning = open_store(self.project)
        self.notice = store.layout.notice if isinstance(store, JsonlStore) else ""
        """One sentence when the sessions were migrated to a newer layout; else empty."""
        self._are_notices_taken = False
        self.ids = Ids(now_ms, secrets.token_bytes)
        self.registry = Registry(builtin_tools(kernel=python is not None))
        for function in USER_TOOLS:
            self.registry.add(function)
        self.views: dict[str, Any] = {}
        """The widgets that ``Session.view`` made, by session id, and those of ``Session.inspect``."""
        self._provider_model = DirectModel(LitellmModel(), direct=lambda: self.config.value.direct)
        self._rehearsal_model: Model | None = None
        self._local_models_at: tuple[float, LocalModels] = (-MIN_QUERY_SECONDS, LocalModels())
        self._is_closed = False
        atexit.register(self.close)
        APPS.append(self)
        self._uses_providers = model is None
        """Whether providers answer, since the caller supplied no ``model`` in their place."""
        config, policy = self._config.value, self._config.policy
        hidden_names = self.hidden_names = HiddenNames(config.hidden_variables)
        self.locked_settings = LockedSettings(self._config.locked_settings, config)
        self.hooks = open_registry(
            hook_sources(config.hooks, self._config.origins),
            self.locked_settings.locked_by("hooks"),
            self._trust_refusal,
        )
        is_limited = self._config.is_limited("max_steps")
        specs = server_specs(config.mcp, self._config.origins)
        self.servers = McpServers(
            specs, self.registry, self.environment, self.project, start_refusal=self._trust_refusal
        )
        user = _user_name(self.environment)
        stored = _stored_grants_and_snapshots(store, self.project, user)
        approvals, approved_code, snapshots = stored
        self.effective_rules = EffectiveRules(approvals=approvals)
        self.effective_rules.project_move = ProjectMoveWatch(self.effective_rules.grants)
        apply_permission_settings(self.effective_rules, self._config)
        trust_folder = ConfigFolders.of_platform(self.environment).trust_folder
        self._trust_store = TrustStore(trust_folder, self.project)
        self.definitions = ProjectDefinitions(self._definition_sources(), self._base_rules)
        self.effective_rules.granted_rules = lambda: skill_rules(self.definitions.skills)
        register_definitions(self.registry, self.definitions)
        agents = self.definitions.agents
        own_rules = self._config.rules("permission", config.permission)
        is_small_model_locked = bool(self.locked_settings.locked_by("small_model"))
        notice = FirstRequestNotice(self.project, config.variables, cells=config.notebook)
        self.services = Services(
            store=store,
            ids=self.ids,
            clock=now_ms,
            jitter=random.random,
            root=self.project,
            cwd=self.start,
            user=user,
            environment=self.environment,
            secrets=KernelSecrets(self.environment, time.monotonic),
            models=ModelServices(
                model=model or self._model_of,
                info=self.info,
                default_model=self.default_model,
                check_model=any_model if model else self._check_model,
                count=counter,
                titles=config.titles,
                turn_summaries=config.turn_summaries,
                small_model=functools.partial(
                    _small_model,
                    config.small_model,
                    {} if is_small_model_locked else agents,
                    self.info,
                ),
                # The caller that supplies models itself also informs its users.
                first_time=(lambda _provider: "") if model else notice.notice_text,
            ),
            agents=AgentServices(
                registry=self.registry,
                known_agents=agents,
                default_agent=self.definitions.default_agent,
                definitions=self.definitions,
                hooks=self.hooks,
                servers=self.servers if specs else None,
                instruction_files=config.instructions,
                extra_system=config.system,
                history_limits=_history_limits(config),
                max_steps=None if is_limited else config.max_steps,
                most_steps=config.max_steps if is_limited else None,
            ),
            rules=RuleServices(
                base_rules=merge_rules(DEFAULT_RULES, own_rules),
                effective_rules=self.effective_rules,
                locked_settings=self.locked_settings,
                policy=policy.policy,
                policy_fixed=policy.fixed_by,
                policy_stage=_policy_stage,
                approved_code=approved_code,
            ),
            kernel=KernelServices(
                python=python
                and (
                    lambda session_id: approved_code.observed_runner(python(session_id), session_id)
                ),
                namespace=namespace
                and (lambda session_id: HidingNamespace(namespace(session_id), hidden_names)),
                quiet_namespace=quiet_namespace
                and (
                    lambda session_id: HidingQuietNamespace(
                        quiet_namespace(session_id), hidden_names
                    )
                ),
                notebook=notebook_runs,
                notebook_detail=config.notebook,
                notebook_tokens=config.notebook_tokens,
                cells_without_page=config.cells_without_page,
                variables=config.variables,
                script=not self.in_kernel,
                replay_mode=config.replay,
            ),
            sessions=SessionServices(
                share=config.share,
                density=config.density,
                snapshots=snapshots if config.snapshot else None,
                import_sessions=_import_sessions,
                child_sessions=ChildSessionFactory(depth=config.subagent_depth),
            ),
        )
        self._owner = this_owner(kernel_id or f"process-{os.getpid()}-{secrets.token_hex(4)}")

    @functools.cached_property
    def workspace(self) -> "Workspace":
        """The open sessions; imported at the first use."""
        with collection_paused():
            from palimpsest.session.open_sessions.workspace import Workspace

        return Workspace(
            self.services,
            self._owner,
            project_id=self.services.store.project_id,
            warning=self.warning,
            notice=self.notice,
        )

    @functools.cached_property
    def inspections(self) -> "Inspections":
        """Answers inspectors' questions; imported at the first use, since it imports all of review."""
        from palimpsest.frontends.inspector.inspections import Inspections

        return Inspections(self.services.store, self.workspace.journal_of, self.price, self.start)

    def price(self, model: str) -> Price | None:
        """Return the price of a model, also of one that is no longer sold, for old sessions; None where it is unknown."""
        from palimpsest.review.prices.offline_prices import offline_price

        try:
            price = self.info(model).price
        except ConfigError:
            return None
        return offline_price(model) if price == Price() else price

    def _definition_sources(self) -> DefinitionSources:
        config = self._config
        agents, rules = _agents_and_rules(config)
        tables = config.value.command.items()
        commands = {name: table.model_dump(exclude_none=True) for name, table in tables}
        return DefinitionSources(
            self.start,
            ConfigFolders.of_platform(self.environment),
            agents,
            rules,
            commands,
            config.value.default_agent,
            user_agent_names=config.own_tables("agent"),
            locked_settings=self.locked_settings,
            trusts=lambda digest: (
                bool(self._config.trusted_by) or self._trust_store.is_trusted(digest)
            ),
        )

    def _trust_refusal(self, origin: str) -> str:
        """Return the reason why the project's hooks and servers must not run any more; empty while they may."""
        config = self._config
        if PROJECT_ORIGIN not in origin or config.trusted_by:
            return ""
        is_unchanged = still_trusted(self.start, self.environment, config.trusted_digest)
        return "" if is_unchanged else TRUST_CHANGED_SENTENCE

    def _base_rules(self) -> Rules:
        """Return the permission rules for every agent."""
        rules = self.effective_rules.rules
        return rules if rules is not None else DEFAULT_RULES

    @property
    def config(self) -> LoadedConfig:
        """The merged settings, with everything that needs the user's trust."""
        held_back_settings = self.definitions.definition_trust.held_back_settings
        problems = self.definitions.problems
        agent_problems = [text for text in problems if text.startswith("default_agent ")]
        if not held_back_settings and not agent_problems:
            return self._config
        return replace(
            self._config,
            untrusted_settings=(*self._config.untrusted_settings, *held_back_settings),
            problems=(*self._config.problems, *agent_problems),
        )

    def trust(self) -> Sequence[UntrustedSetting]:
        """Trust the project's files in their present state; returns the settings that take effect.

        Rules, mode and spending limit apply at once, other settings from the next start of the kernel.
        """
        self.definitions.refresh()
        definition_trust = self.definitions.definition_trust
        files = definition_trust.files
        settings = trust_project(self.start, self.environment, definitions=files)
        self._reload_settings()
        return (*settings, *definition_trust.held_back_settings)

    @property
    def trust_unwritten(self) -> str:
        """Why trust in the project's files ends with this kernel, in sentences; empty where it is stored."""
        return self._trust_store.unwritten(self.project)

    def distrust(self) -> bool:
        """Revoke trust in the project's files; return whether it was trusted."""
        was_trusted = distrust_project(self.start, self.environment)
        self._reload_settings()
        return was_trusted

    def _reload_settings(self) -> None:
        self._config = load(self.start, self.environment, self._overrides)
        apply_permission_settings(self.effective_rules, self._config)
        self.definitions.read_again()
        self.definitions.refresh()

    def take_notices(self) -> tuple[str, ...]:
        """Return, on the first call only, sentences for the user about where sessions are stored."""
        were_taken, self._are_notices_taken = self._are_notices_taken, True
        if were_taken:
            return ()
        return tuple(sentence for sentence in (self.warning, self.notice) if sentence)

    def preload_model(self, model_id: str | None = None) -> None:
        """Import a model's libraries in the background; without an id, those of the model that will probably answer."""
        model_id = model_id or self._expected_model()
        if model_id is None or not self._uses_providers:
            return
        try:
            info = self.info(model_id)
        except ConfigError:  # reported when the model is asked
            return
        if info.ref.provider == model_info.REHEARSAL.provider:
            threading.Thread(
                target=import_module,
                args=(REHEARSAL_MODULE,),
                name="palimpsest-rehearsal",
                daemon=True,
            ).start()
        elif needs_litellm(info.ref, info.api_base, direct=self.config.value.direct):
            # Only where it is needed, since litellm takes seconds and 180 MB.
            preload(info.ref)
        else:
            preload_http()

    def _expected_model(self) -> str | None:
        """Return the model that answers where none is named; None if only a server has the list."""
        value = self.config.value
        model = discovery.expected_model(self.environment, value.models)
        return value.model or (model.id if model is not None else None)

    def info(self, model_id: str, variant: str | None = None) -> ModelInfo:
        """Return the facts about a model; raises ConfigError for a name that cannot be one."""
        config = self.config.value
        model = model_info.model_info(
            model_id,
            config.models,
            variant=self.locked_settings.unless_locked("variant", variant) or config.variant,
            environment=self.environment,
            trusted_ids=self.config.models() if model_info.holds_address(model_id) else (),
        )
        guard = self.config.policy.policy.guard
        return with_window(model, config.models, config.context_tokens, guard)

    def _check_model(self, info: ModelInfo) -> None:
        """Raise ConfigError for a model that is known not to exist."""
        check_model(info, self._config.models(), model_lister(self.environment))

    def check_model(self, name: str) -> None:
        """Raise ConfigError for a model that cannot answer here."""
        self.services.models.check_model(self.info(name))

    def default_model(self) -> str:
        """Return the id of the model that answers when none is named."""
        value = self.config.value
        if value.model:
            return value.model
        return discovery.choose_model(self.environment, self._queried_local_models, value.models).id

    def models(self) -> Sequence[tuple[str, str, str]]:
        """Return the models that can be used now as rows: id, window, and why it is listed."""
        overrides, guard = self.config.value.models, self.services.rules.policy.guard
        listed_models = discovery.known_models(
            self.environment, overrides, self._queried_local_models
        )
        models_by_id = {model.info.ref.id: model for model in listed_models}
        rows = [
            (model_id, window_text(model.info, guard), _with_remark(model.reason, model.info))
            for model_id, model in models_by_id.items()
        ]
        sentences = discovery.unresponsive_servers(self.environment, self._queried_local_models)
        rows += [(SERVER_ROW_NAME, "", sentence) for sentence in sentences]
        try:
            default_id = self.default_model()
        except ConfigError:
            return rows
        return (
            rows if default_id in models_by_id else [*rows, self._configured_model_row(default_id)]
        )

    def _configured_model_row(self, model_id: str) -> tuple[str, str, str]:
        """Return the row of the configured model, also where it is unusable."""
        try:
            info = self.info(model_id)
        except ConfigError as problem:
            return model_id, "", f"configured as the default, but: {problem}"
        window = window_text(info, self.services.rules.policy.guard)
        return model_id, window, _with_remark("configured as the default", info)

    def agents(self) -> Sequence[tuple[str, str]]:
        """Return names and descriptions of the agents, with the default one first."""
        self.definitions.refresh()
        agents_by_name, default_name = self.definitions.agents, self.services.agents.default_agent
        names = sorted(agents_by_name, key=lambda name: (name != default_name, name))
        return [
            (name, agents_by_name[name].description)
            for name in names
            if agents_by_name[name].answers
        ]

    def _queried_local_models(self, environment: Mapping[str, str]) -> LocalModels:
        """Return the local models, queried again only after ``MIN_QUERY_SECONDS``: a query may take half a second.

        A server that is configured, and has no models, is queried again after ``MIN_CONFIGURED_QUERY_SECONDS``.
        """
        queried_at_seconds, local_models = self._local_models_at
        is_settled = (
            bool(local_models.models) or local_servers.address_variable(environment) is None
        )
        min_seconds = MIN_QUERY_SECONDS if is_settled else MIN_CONFIGURED_QUERY_SECONDS
        if time.monotonic() - queried_at_seconds > min_seconds:
            local_models = local_servers.ollama_models(environment)
            self._local_models_at = time.monotonic(), local_models
            if local_models.models and self._expected_model() is None:
                self.preload_model(f"{local_servers.PROVIDER}/{local_models.models[0].name}")
        return local_models

    def completion_values(self, field: str) -> Sequence[str]:
        """Return values that an option may take, for completion."""
        match field:
            case "model":
                return [name for name, _, _ in self.models() if name != SERVER_ROW_NAME]
            case "agent":
                return [name for name, _ in self.agents()]
            case "mention":
                return sorted(subagents_of(self.definitions.agents))
            case "own command":
                self.definitions.refresh()
                return list(self.definitions.commands)
            case "tools":
                return self.registry.names
            case "policy":
                return [*sorted(PRESETS), DEFAULT, *(f"{name}=" for name in number_names())]
            case _ if field.startswith("policy="):
                name = field.removeprefix("policy=")
                return possible_values(name) if name in number_names() else ()
            case _:
                return ()

    def close(self, timeout: float = 5.0) -> None:
        """Close every session and end the engine; a second time does nothing."""
        if self._is_closed:
            return
        self._is_closed = True
        atexit.unregister(self.close)
        APPS.remove(self)
        try:
            if "workspace" in self.__dict__:
                self.engine.submit(self.workspace.close()).result(timeout)
        finally:
            # Also where a disk does not respond: no process that was started here is left running.
            close_registry(self.hooks)
            self._end_processes()
            self.engine.stop()

    def _end_processes(self) -> None:
        """End the processes started for the agent: servers, and commands in the background."""
        try:
            self.engine.submit(self.servers.close()).result(MAX_CLOSE_SECONDS + 1)
        finally:
            for name in self.registry.names:
                end_background = getattr(self.registry.resolve(name), "end_background", None)
                if end_background is not None:
                    end_background()

    def _model_of(self, info: ModelInfo) -> Model:
        if info.ref.provider != model_info.REHEARSAL.provider:
            return self._provider_model
        if self._rehearsal_model is None:
            with collection_paused():
                self._rehearsal_model = import_module(REHEARSAL_MODULE).Rehearsal()
        return self._rehearsal_model


def tool(function: ToolFunction) -> ToolFunction:
    """Offer a function to the agent as a tool; its signature and docstring become the description."""
    # An unsuitable function is reported here, not when the next agent starts.
    FunctionTool(function)
    USER_TOOLS.append(function)
    for app in APPS:
        app.registry.add(function)
    return function


def _with_remark(reason: str, info: ModelInfo) -> str:
    """Return why a model is listed, and the source of its limits and price if the model list lacks it."""
    return "; ".join(sentence for sentence in (reason, source_remark(info)) if sentence)


def _import_sessions(
    store: Store, path: Path, clock: Callable[[], int], control: ImportControl
) -> ImportReport:
    """Import the sessions at a path; the importers are loaded when the first is needed."""
    from palimpsest.recordings.formats.built_in import REGISTRY

    return REGISTRY.import_from(store, path, clock, control)


def _small_model(
    model_name: str | None,
    agents: Mapping[str, Agent],
    info_of: Callable[[str], ModelInfo],
    info: ModelInfo,
) -> ModelInfo:
    """Return the model that writes titles; its writer is loaded with the first turn."""
    from palimpsest.session.runs.title_writer import small_model

    return small_model(model_name, agents, info_of, info)


def _policy_stage(policy: object) -> PolicyStage | None:
    """Return the stage that runs the user's own policy in a live session; loads review at the first use."""
    from palimpsest.live_policies.live_stage import live_policy

    return live_policy(policy)


def _stored_grants_and_snapshots(
    store: Store, project: Path, user: str
) -> tuple[Approvals, ApprovedCode, Snapshots | None]:
    """Return the user's approvals in this project, the Python that ran with them, and the snapshots of its files.

    Where sessions are in memory only, approvals and Python are too, and there are no snapshots.
    """
    if not isinstance(store, JsonlStore):
        return Approvals(Grants(author=user)), ApprovedCode(), None
    folder = store.layout.root
    return (
        Approvals(Grants(project, ProjectNumber(folder), author=user), folder),
        ApprovedCode(project, ProjectNumber(folder)),
        Snapshots(
            project,
            store.layout.snapshots,
            rules=GitignoreRules,
            excluded_folders=ALWAYS_SKIPPED,
            protection=protection_of,
        ),
    )


def _history_limits(config: Config) -> Mapping[str, Any]:
    limits = config.model_dump(include={"history_limit", "dm_history_limit", "dms"})
    return {name: value for name, value in limits.items() if value not in (None, {})}


def _user_name(environment: Mapping[str, str]) -> str:
    """Return the login name of the kernel's user; empty where it is unknown."""
    try:
        return environment.get("JUPYTERHUB_USER") or getpass.getuser()
    except (OSError, KeyError, ImportError):
        return ""


def _agents_and_rules(config: LoadedConfig) -> tuple[dict[str, dict[str, Any]], dict[str, Rules]]:
    tables = config.value.agent
    fields_by_agent, rules_by_agent = {}, {}
    for name, agent in tables.items():
        fields_by_agent[name] = agent.model_dump(exclude_none=True, exclude={"permission"})
        rules_by_agent[name] = config.rules(
            dotted_name("agent", name, "permission"), agent.permission
        )
    return fields_by_agent, rules_by_agent
