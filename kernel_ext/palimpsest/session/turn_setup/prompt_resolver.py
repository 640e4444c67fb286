"""Resolve a prompt's agent, model, context policy, tools and system prompt.

The loop calls ``setup`` before each request, so that a change takes effect from the next one on.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.context.budget.request_tokens import reserved_tokens
from palimpsest.context.budget.window_guard import tool_limit
from palimpsest.context.request_kinds.request_inputs import RequestInputs
from palimpsest.context.visible_messages import View, marker_of, policy_after_undo
from palimpsest.loop.context_management.summary_writer import SUMMARY_AGENT
from palimpsest.loop.model_requests.refused_tools import accepted_tools, refused_tools_sentence
from palimpsest.loop.model_requests.request_builder import calibration_ratio
from palimpsest.loop.run_inputs.run_context import StepSetup, SummaryModel
from palimpsest.model.catalog.model_check import check_effort, known_effort
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.config.context_policy import (
    ConfiguredPolicy,
    with_history_limit,
    without_recall,
    without_task,
)
from palimpsest.session.definitions.agents import Agent, find_agent
from palimpsest.session.engine import RedactedSpecs
from palimpsest.session.extensions.turn_extensions import TurnExtensions
from palimpsest.session.interfaces.services import Services
from palimpsest.session.prompts.answers import DEFAULT_RETRIES, MAX_RETRIES
from palimpsest.session.revert.plan import without_reverted
from palimpsest.session.runs.child_sessions import tools_hidden_by_limits
from palimpsest.session.turn_setup.environment_updates import EnvironmentUpdates
from palimpsest.session.turn_setup.notebook_updates import NOTEBOOK_TOOL, NotebookUpdates
from palimpsest.session.turn_setup.system_prompts import SystemPrompts
from palimpsest.store.log.journal import Journal
from palimpsest.tools.registration.registry import ALL_OTHERS, Registry
from palimpsest.tools.registration.tool_limits import ToolLimits, tools_within
from palimpsest.tools.tool import Namespace, Tool
from palimpsest.tools.workflow.recall import RECALL_NAME
from palimpsest.tools.workflow.structured_output import StructuredOutputTool
from palimpsest.tools.workflow.task import TASK_NAME
from palimpsest.transcript.context_values.decisions import TOOLS_RULE, Facts
from palimpsest.transcript.context_values.policies import Policy, RecoveryPolicy
from palimpsest.transcript.errors import ConfigError, UserError
from palimpsest.transcript.messages import Messages, MessageTime, UserMessage
from palimpsest.transcript.provider_profile.profile import limits_of
from palimpsest.transcript.session_record.sessions import standing_revert
from palimpsest.transcript.values import ModelInfo, ModelRef, ToolSpec

VARIABLES_TOOL = "variables"
"""Name of the tool; an agent that may not use it gets no notes about variables either."""
UNCHOSEN_MODEL_SENTENCE = (
    "The log of this session names the model {model}, and nobody named it in this project. Send the prompt "
    "again with -m {model} if you want it."
)
"""Error for a model that the user has not chosen in this project (``EffectiveRules.may_use``)."""
FILES_SUBJECT = "files"
"""The subject of a notice about files that were left out."""
TOOLS_SUBJECT = "tools"
"""The subject of a notice about tools that are not offered."""

NO_STRUCTURED_ANSWER_SENTENCE = (
    "The model {model} calls no tools, and an answer in a given form needs one. Ask without format, or choose "
    "another model."
)
UNCHOSEN_AGENT_SENTENCE = (
    "The log of this session names the agent {agent}, and nobody named it in this project. Send the prompt "
    "again with --agent {agent} if you want it."
)


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """The tools offered in one step."""

    registry: Registry
    tools: tuple[Tool, ...]

    def resolve(self, name: str) -> Tool | str:
        """Return the tool of a name, or a sentence for the model where it cannot be called."""
        return self.registry.resolve(name, self.tools)

    def validate(self, tool: Tool, tool_input: Any) -> Any:
        """Return the validated arguments, or a sentence for the model about what is wrong with them."""
        return self.registry.validate(tool, tool_input)


class PromptResolver:
    """Resolves the prompts of one session."""

    def __init__(
        self, services: Services, journal: Journal, log: SessionLog, configured: ConfiguredPolicy
    ) -> None:
        self._services = services
        self._journal = journal
        self._log = log
        self._configured_policy = configured
        self._system_prompts = SystemPrompts(services, log, self.policy)
        self._reported_problems: set[str] = set()
        self.refused_tools: set[tuple[str, str]] = set()
        """Tools that a provider refused, as in ``RequestServices.refused_tools``."""
        self.extensions = TurnExtensions(
            services.agents.hooks, services.agents.servers, log, services.ids
        )
        self._redacted_specs = RedactedSpecs(services.secrets)
        self._environment_updates = EnvironmentUpdates(services, log)
        self._notebook_updates = (
            None if services.kernel.notebook is None else NotebookUpdates(services, log)
        )

    def resolve(self, options: dict[str, Any]) -> tuple[str, ModelRef]:
        """Return agent and model of a prompt; raises ConfigError, before anything is journaled."""
        services = self._services
        session = self._log.state.session
        self._refuse_fixed(options)
        session_agent = session.agent if session else None
        name = options.get("agent") or session_agent or services.agents.default_agent
        agent = find_agent(self._agent_of(name), services.agents.known_agents)
        session_model_name = (
            session.model.id if session is not None and session.model is not None else None
        )
        name = (
            options.get("model")
            or agent.model
            or session_model_name
            or services.models.default_model()
        )
        variant = options.get("variant") or agent.variant
        if variant is not None:
            check_effort(variant)
        elif session is not None and session.model is not None and name == session_model_name:
            variant = known_effort(session.model.variant)
        self._check_tools_exist(options.get("tools") or ())
        info = self._model_info(name, variant)
        if variant is not None and options.get("variant"):
            check_effort(variant, info.ref)
        if options.get("model") and name != session_model_name:
            services.models.check_model(info)
        return agent.name, info.ref

    def accept_summariser(self, name: str) -> ModelRef:
        """Return the model that the user chose for one summary, and record this choice for the project.

        Raises ConfigError where there is no such model, or an administrator fixed another one.
        """
        services, locked_settings = self._services, self._services.rules.locked_settings
        info = services.models.info(name, None)
        key = "compaction.model" if locked_settings.locked_by("compaction.model") else "model"
        if locked_settings.locked_by(key):
            fixed_name = locked_settings.config.compaction.model or services.models.default_model()
            locked_settings.refuse(key, info.ref.id, services.models.info(fixed_name, None).ref.id)
        services.models.check_model(info)
        services.rules.effective_rules.record_choice(None, info.ref)
        return info.ref

    def _refuse_fixed(self, options: dict[str, Any]) -> None:
        """Raise ConfigError where the user names a value other than the one that an administrator fixed."""
        services, locked_settings = self._services, self._services.rules.locked_settings
        session = self._log.state.session
        if not locked_settings.origins or (session is not None and session.is_child):
            return  # choices that an agent makes for a task are ignored instead
        locked_settings.refuse("default_agent", options.get("agent"), services.agents.default_agent)
        locked_settings.refuse("variant", options.get("variant"), locked_settings.config.variant)
        locked_settings.refuse(
            "max_steps", options.get("max_steps"), locked_settings.config.max_steps
        )
        if locked_settings.locked_by("model") and options.get("model"):
            name = services.models.info(options["model"], None).ref.id
            default_name = services.models.info(services.models.default_model(), None).ref.id
            locked_settings.refuse("model", name, default_name)

    def _agent_of(self, name: str) -> str:
        """Return the name of the agent that answers: the chosen one, unless an administrator fixed another."""
        locked_settings, session = self._services.rules.locked_settings, self._log.state.session
        is_fixed = locked_settings.origins and locked_settings.locked_by("default_agent")
        may_choose = not is_fixed or (session is not None and session.is_child)
        return name if may_choose else self._services.agents.default_agent

    def _model_info(self, model: str, variant: str | None) -> ModelInfo:
        """Return the facts about the chosen model, or about the one that an administrator fixed."""
        models, locked_settings = self._services.models, self._services.rules.locked_settings
        if locked_settings.locked_by("model"):
            model = models.default_model()
        return models.info(model, locked_settings.unless_locked("variant", variant))

    def accept_options(self, options: dict[str, Any]) -> tuple[str, ModelRef]:
        """Return agent and model of a prompt that is sent now, and record that the user chose them in this project."""
        agent, model = self.resolve(options)
        self._services.rules.effective_rules.record_choice(agent, model)
        return agent, model

    def refuse_unchosen(self, agent: str, model: ModelRef | None) -> None:
        """Raise UserError for an agent or a model that only the log names, and nobody chose in this project."""
        rules, session_id = self._services.rules, self._journal.session_id
        is_fixed = rules.locked_settings.locked_by("model") != ""
        if model and not is_fixed and not rules.effective_rules.may_use(model, session_id):
            raise UserError(UNCHOSEN_MODEL_SENTENCE.format(model=model.id))
        if not rules.effective_rules.may_answer(agent, session_id):
            raise UserError(UNCHOSEN_AGENT_SENTENCE.format(agent=agent))

    async def find_tools(self, tools: Iterable[str] | None) -> None:
        """Connect MCP servers to find named tools that are not known yet; raises ConfigError for unknown ones."""
        servers = self._services.agents.servers
        if tools and servers is not None:
            names = [name for name in tools if name != ALL_OTHERS]
            self._check_tools_exist(names, await servers.connect_for_tools(names))

    def _check_tools_exist(self, tools: Iterable[str], reason: str = "") -> None:
        names = self._services.agents.registry.names
        for tool in tools:
            if tool not in names and tool != ALL_OTHERS:
                known_names = ", ".join(names)
                raise ConfigError(
                    f"There is no tool {tool!r}. Tools: {known_names}. {reason}".rstrip()
                )

    async def setup(self, user: UserMessage) -> StepSetup:
        """Return the setup of a step for a user message; raises UserError or ModelFailed with a sentence."""
        services = self._services
        agent = find_agent(self._agent_of(user.agent), services.agents.known_agents)
        self.refuse_unchosen(agent.name, user.model)
        info = self._model_info(user.model.id, user.model.variant)
        await self.extensions.prepare_turn()
        state = self._log.state
        messages = state.messages()
        policy = policy_after_undo(messages, state.decisions, self.policy())
        policy = self._with_history_limit(policy, agent, messages)
        offered_tools, left_out_sentence = self._within_limits(
            self._offered_tools(agent, user), info
        )
        if left_out_sentence and left_out_sentence not in self._reported_problems:
            self._reported_problems.add(left_out_sentence)
            self.extensions.hooks.notify(TOOLS_SUBJECT, left_out_sentence)
        if user.format and not info.tools:
            raise UserError(NO_STRUCTURED_ANSWER_SENTENCE.format(model=info.ref.id))
        session = self._log.state.session
        if session is not None and (session.agent, session.model) != (user.agent, user.model):
            self._log.change_session(agent=user.agent, model=user.model)
        tool_names = {tool.name for tool in offered_tools}
        sources = self._notebook_updates.sources() if self._notebook_updates is not None else ()
        if self._notebook_updates is not None and NOTEBOOK_TOOL in tool_names:
            await self._notebook_updates.journal_changes(user, policy, info)
        namespace = self.namespace() if VARIABLES_TOOL in tool_names else None
        await self._environment_updates.journal_changes(user, policy, namespace, sources)
        extend = self.extensions.finish_system
        system = await self._system_prompts.settled_prompt(agent, info, user, extend)
        self._report_left_out_files()
        await self.extensions.journal_additions(policy, system)
        specs = self._tool_specs(offered_tools, info)
        spec_names = {spec.name for spec in specs}
        if RECALL_NAME not in spec_names:
            policy = without_recall(policy)
        if TASK_NAME not in spec_names:
            policy = without_task(policy)
        locked_settings = services.rules.locked_settings
        compaction_agent = services.agents.known_agents.get(SUMMARY_AGENT)
        summary_model = compaction_agent.model if compaction_agent else None
        return StepSetup(
            agent=agent.name,
            model=services.models.model(info),
            info=info,
            policy=policy,
            count=services.models.count(policy.estimator),
            system=system,
            specs=specs,
            offer=self.extensions.wrap_tools(OfferedTools(services.agents.registry, offered_tools)),
            max_steps=locked_settings.unless_locked("max_steps", user.max_steps)
            or self._max_steps(agent),
            summary_model=self._summary_model(
                self._named_summary_model(messages, user)
                or policy.compact.model
                or locked_settings.unless_locked("compaction.model", summary_model)
            ),
            summary_system_prompt=self._summary_system_prompt(compaction_agent),
            parameters=agent.parameters,
            wants_structured=bool(_structured_answer_tools(user)),
            retries=_structured_retries(user),
        )

    def _max_steps(self, agent: Agent) -> int:
        """Return the maximum number of requests of a turn whose prompt sets none."""
        steps = self._services.agents.max_steps or agent.steps
        return min(steps, self._services.agents.most_steps or steps)

    def next_inputs(self, *, is_running: bool) -> RequestInputs:
        """Return the inputs from which the next request would be made; nothing is sent or written."""
        services = self._services
        all_messages, decisions, older_count, session = self._journal.read_state(
            lambda state: (state.messages(), state.decisions, state.older_count, state.session)
        )
        messages = without_reverted(all_messages, standing_revert(session))
        user = self._next_user(messages, is_running=is_running)
        agent = find_agent(self._agent_of(user.agent), services.agents.known_agents)
        info = self._model_info(user.model.id, user.model.variant)
        policy = self._with_history_limit(self.policy(), agent, messages)
        offered_tools, left_out_sentence = self._within_limits(
            self._offered_tools(agent, user), info
        )
        tool_sentences = (left_out_sentence, refused_tools_sentence(info, self.refused_tools))
        return RequestInputs(
            session_id=self._journal.session_id,
            view=View.of(messages, decisions, services.store.get_blob),
            system=self._system_prompts.prompt_now(agent, info, user),
            tools=self._tool_specs(offered_tools, info),
            tools_left_out=tuple(filter(None, tool_sentences)),
            model=info,
            policy=policy,
            facts=Facts(
                now=services.clock(),
                estimator=policy.estimator,
                calibration=calibration_ratio(self._log.state, info),
                window=info.window,
                reserve=reserved_tokens(policy, info),
            ),
            count=services.models.count(policy.estimator),
            unloaded_count=older_count,
        )

    def _within_limits(
        self, offered_tools: tuple[Tool, ...], info: ModelInfo
    ) -> tuple[tuple[Tool, ...], str]:
        """Return the tools that the model's provider accepts in a request, and a sentence about the others."""
        registry = self._services.agents.registry
        refused_counts = [
            decision.numbers.get("most")
            for decision in self._log.state.decisions
            if decision.rule == TOOLS_RULE and decision.numbers.get("model") == info.ref.id
        ]
        tool_counts = (tool_limit(info), *refused_counts)
        max_tool_counts = [count for count in tool_counts if isinstance(count, int)]
        max_schema_chars = limits_of(info).schema_chars
        if not max_tool_counts and max_schema_chars is None:
            return offered_tools, ""
        max_tools = min(max_tool_counts, default=None)
        limits = ToolLimits(model=info.ref.id, tools=max_tools, schema_chars=max_schema_chars)
        return tools_within(offered_tools, registry.spec, registry.positions_by_name, limits)

    def _report_left_out_files(self) -> None:
        """Queue one notice about files that were not read for the model, each file once."""
        definitions = self._services.agents.definitions
        sentences = [
            *self._system_prompts.unread_file_notices,
            *(definitions.left_out if definitions is not None else ()),
        ]
        new_sentences = [
            sentence
            for sentence in dict.fromkeys(sentences)
            if sentence not in self._reported_problems
        ]
        self._reported_problems.update(new_sentences)
        if new_sentences:
            self.extensions.hooks.notify(FILES_SUBJECT, " ".join(new_sentences))

    def policy(self) -> Policy:
        """Return the context policy from the next request on."""
        session = self._log.state.session
        if session is None or not (session.policy_choice or session.policy):
            return self._configured_policy.policy
        return self._configured_policy.policy_of(session)

    def recovery(self) -> RecoveryPolicy:
        """Return the recovery policy with its wait times; the configured one where the session's is unusable."""
        try:
            return self.policy().recovery
        except UserError:
            return self._services.rules.policy.recovery

    def namespace(self) -> Namespace | None:
        """Return access to the user's variables; None where there is no kernel."""
        namespace_of = self._services.kernel.namespace
        return namespace_of(self._journal.session_id) if namespace_of is not None else None

    def _with_history_limit(self, policy: Policy, agent: Agent, messages: Messages) -> Policy:
        """Return the policy with the history limit that applies to this session's key."""
        services, session = self._services, self._log.state.session
        if session is None or not services.agents.history_limits:
            return policy
        return with_history_limit(
            policy,
            services.agents.history_limits,
            agent=agent.name,
            session=session,
            messages=messages,
            user=services.user,
        )

    def _next_user(self, messages: Messages, *, is_running: bool) -> UserMessage:
        """Return the user message that the next request answers: the running turn's, or one without options."""
        if is_running:
            for message in reversed(messages):
                if isinstance(message.info, UserMessage):
                    return message.info
        agent, model = self.resolve({})
        time = MessageTime(created=self._services.clock())
        return UserMessage(
            id="", session_id=self._journal.session_id, time=time, agent=agent, model=model
        )

    def _summary_system_prompt(self, compaction_agent: Agent | None) -> str | None:
        """Return the system prompt for summaries if one is configured in place of the built-in one."""
        services = self._services
        configured_prompt = services.rules.locked_settings.unless_locked(
            "compaction.prompt", compaction_agent.prompt if compaction_agent else None
        )
        return services.secrets.clean(configured_prompt) if configured_prompt else None

    def _named_summary_model(self, messages: Messages, user: UserMessage) -> str | None:
        """Return the model that the user named for the summary that this marker message requests."""
        part = marker_of(messages, user)
        if part is None or part.model is None:
            return None
        if self._services.rules.locked_settings.locked_by("model", "compaction.model"):
            return None
        return part.model.id

    def _summary_model(self, name: str | None) -> SummaryModel | None:
        """Return the model that the policy names for summaries; the result for an unknown model holds the problem."""
        if not name:
            return None
        try:
            info = self._services.models.info(name, None)
            self._check_model_allowed(name, info.ref)
        except ConfigError as problem:
            return SummaryModel(name, problem=str(problem))
        return SummaryModel(name, self._services.models.model(info), info)

    def _check_model_allowed(self, name: str, model: ModelRef) -> None:
        """Raise ConfigError for a model that only the session's own journal names."""
        services, compaction_agent = (
            self._services,
            self._services.agents.known_agents.get(SUMMARY_AGENT),
        )
        configured = (
            services.rules.policy.compact.model,
            compaction_agent.model if compaction_agent is not None else None,
        )
        if name not in configured and not services.rules.effective_rules.may_use(model):
            raise ConfigError(UNCHOSEN_MODEL_SENTENCE.format(model=model.id))

    def _offered_tools(self, agent: Agent, user: UserMessage) -> tuple[Tool, ...]:
        rules_of, base_rules = (
            self._services.rules.effective_rules.rules_of,
            self._services.rules.base_rules,
        )
        session = self._log.state.session
        rules = rules_of(session, base_rules, agent.rules)
        offered_tools = tuple(self._services.agents.registry.offered_tools(rules, user.tools))
        if session is not None and session.limits:
            rules_without_agent = rules_of(session, base_rules, ())
            permissions = {tool.name: tool.permission for tool in offered_tools}
            hidden_names = tools_hidden_by_limits(session.limits, rules_without_agent, permissions)
            offered_tools = tuple(tool for tool in offered_tools if tool.name not in hidden_names)
        return (*offered_tools, *_structured_answer_tools(user))

    def _tool_specs(self, offered_tools: Sequence[Tool], info: ModelInfo) -> tuple[ToolSpec, ...]:
        if not info.tools:
            return ()
        specs = self._redacted_specs(self._services.agents.registry.specs(offered_tools))
        return accepted_tools(specs, info, self.refused_tools) if self.refused_tools else specs


def _structured_answer_tools(user: UserMessage) -> tuple[Tool, ...]:
    """Return the tool that takes a structured answer, where the prompt asks for one."""
    schema = (user.format or {}).get("schema")
    return (StructuredOutputTool(schema),) if isinstance(schema, Mapping) else ()


def _structured_retries(user: UserMessage) -> int:
    """Return how often the model is asked again for the structured answer that the prompt requested."""
    retries = (user.format or {}).get("retryCount", DEFAULT_RETRIES)
    return min(max(retries, 0), MAX_RETRIES) if isinstance(retries, int) else DEFAULT_RETRIES
