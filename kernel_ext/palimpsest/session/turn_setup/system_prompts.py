"""Make a session's system prompts, and keep each byte for byte for the session's whole life.

There is one for each agent and model. A changed byte would invalidate the provider's cache of the whole
conversation, so changes (of the day, the mode, variables) are noted in later messages
(``session/turn_setup/environment_updates.py``).
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from palimpsest.context.engine_text.system_prompt import system_prompt
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.definitions.agents import SUBAGENT_NOTE, Agent
from palimpsest.session.engine import call_off_loop
from palimpsest.session.interfaces.services import Services
from palimpsest.session.turn_setup.environment_updates import path_from_start, read_environment
from palimpsest.tools.permission_rules.permissions import hidden_tools
from palimpsest.tools.workflow.skill import SKILL_NAME, skill_list
from palimpsest.tools.workflow.structured_output import ANSWER_BY_TOOL
from palimpsest.transcript.context_values.decisions import StepRequest
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.session_record.events import MessageUpdated, StepRequested
from palimpsest.transcript.values import ModelInfo

SystemPromptExtender = Callable[..., Awaitable[tuple[str, ...]]]
"""``(agent, model, texts, is_fixed=...)`` returns the texts of a new system prompt as hooks and MCP servers change it."""
PromptKey = tuple[str, str, str | None]
"""Agent, model, and the text that the user's message adds to the system prompt."""
SEARCHED_EVENT_TYPES = ("message.updated", "step.requested")


class SystemPrompts:
    """The system prompts of one session, by agent, model and what a user's message added."""

    def __init__(self, services: Services, log: SessionLog, policy: Callable[[], Policy]) -> None:
        self._services = services
        self._log = log
        self._policy = policy
        self._settled_prompts: dict[PromptKey, tuple[str, ...]] = {}
        self._logged_requests: dict[PromptKey, StepRequest] | None = None
        """The requests whose system prompts the log holds; None until the log was read."""
        self.unread_file_notices: list[str] = []
        """Sentences about instruction files that were not read for a new system prompt."""

    async def settled_prompt(
        self, agent: Agent, info: ModelInfo, user: UserMessage, extend: SystemPromptExtender
    ) -> tuple[str, ...]:
        """Return the system prompt, from the journal or newly made, and use it from now on for the session's whole life."""
        key = (agent.name, info.ref.id, _added_text(user))
        prompt = self._settled_prompts.get(key)
        if prompt is None and not self._is_fixed:
            prompt = self._recorded_prompt(key) or await call_off_loop(
                lambda: self._older_prompt(key)
            )
        if prompt is None:
            new_texts = self._assemble_prompt(agent, info, user)
            prompt = await extend(agent.name, info.ref.id, new_texts, is_fixed=self._is_fixed)
            prompt = self._without_secrets(prompt)
        return self._settled_prompts.setdefault(key, prompt)

    def prompt_now(self, agent: Agent, info: ModelInfo, user: UserMessage) -> tuple[str, ...]:
        """Return the system prompt as it would be now, without keeping it."""
        key = (agent.name, info.ref.id, _added_text(user))
        prompt = self._settled_prompts.get(key)
        if prompt is None and not self._is_fixed:
            prompt = self._recorded_prompt(key) or self._older_prompt(key)
        return prompt or self._without_secrets(self._assemble_prompt(agent, info, user))

    def _without_secrets(self, texts: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._services.secrets.clean(text) for text in texts)

    @property
    def _is_fixed(self) -> bool:
        """Whether an administrator fixed the system prompt's contents, so that a prompt in the journal must not be used."""
        return bool(self._services.rules.locked_settings.locked_by("system", "instructions"))

    def _recorded_prompt(self, key: PromptKey) -> tuple[str, ...] | None:
        """Return the system prompt of the newest request, if that was for the same agent and model."""
        state = self._log.state
        request = state.request
        answer = state.message(request.message_id) if request and request.message_id else None
        if request is None or answer is None:
            return None
        prompt_message = state.message(getattr(answer.info, "parent_id", ""))
        messages = (answer, prompt_message)
        info_by_message_id = {
            message.id: message.info for message in messages if message is not None
        }
        if _request_key(request, info_by_message_id) != key:
            return None
        return self._stored_prompt(request)

    def _older_prompt(self, key: PromptKey) -> tuple[str, ...] | None:
        """Return the system prompt of an older request, where the newest one had another key; on any thread.

        Only requests of earlier kernels are searched, once: the prompts of this kernel are in memory.
        """
        if self._logged_requests is None:
            has_requests = self._log.state.request is not None
            self._logged_requests = self._read_logged_requests() if has_requests else {}
        request = self._logged_requests.get(key)
        return self._stored_prompt(request) if request is not None else None

    def _read_logged_requests(self) -> dict[PromptKey, StepRequest]:
        session = self._log.state.session
        session_id = session.id if session else ""
        info_by_message_id: dict[str, UserMessage | AssistantMessage] = {}
        requests: dict[PromptKey, StepRequest] = {}
        with suppress(NotFound, OSError):  # without a readable log the prompts are made again
            for record in self._services.store.read(session_id, only=SEARCHED_EVENT_TYPES):
                match record.event:
                    case MessageUpdated(info=info):
                        info_by_message_id[info.id] = info
                    case StepRequested(request=request):
                        key = _request_key(request, info_by_message_id)
                        requests |= {key: request} if key is not None else {}
                    case _:
                        pass
        return requests

    def _stored_prompt(self, request: StepRequest) -> tuple[str, ...] | None:
        with suppress(NotFound):  # a prompt whose blob is missing is made again
            return tuple(json.loads(self._services.store.get_blob(request.system.sha256)))
        return None

    def _assemble_prompt(self, agent: Agent, info: ModelInfo, user: UserMessage) -> tuple[str, ...]:
        session = self._log.state.session
        services = self._services
        environment = read_environment(
            info.ref.id,
            services.cwd,
            services.root,
            path_from_start(session.notebook if session else None, services.cwd, services.root),
            session.time.created if session else services.clock(),
            services.agents.instruction_files,
            self.unread_file_notices,
        )
        subagent_note = SUBAGENT_NOTE if session and session.is_child else ""
        added_texts = (services.agents.extra_system, agent.note, subagent_note, _added_text(user))
        return system_prompt(
            environment,
            agent_prompt=agent.prompt,
            extra=tuple(text or "" for text in added_texts),
            skills=self._skills(agent),
            environment_name=self._policy().environment,
        )

    def _skills(self, agent: Agent) -> str:
        """Return the list of skills, for an agent that may load one; else nothing."""
        definitions, rules = self._services.agents.definitions, self._services.rules
        if definitions is None or not definitions.skills:
            return ""
        session = self._log.state.session
        agent_rules = rules.effective_rules.rules_of(session, rules.base_rules, agent.rules)
        if hidden_tools({SKILL_NAME: SKILL_NAME}, agent_rules):
            return ""
        return skill_list(definitions.skills)


def _request_key(
    request: StepRequest, info_by_message_id: Mapping[str, UserMessage | AssistantMessage]
) -> PromptKey | None:
    """Return the key of a step's request; None for other requests."""
    answer = info_by_message_id.get(request.message_id or "")
    user = (
        info_by_message_id.get(answer.parent_id) if isinstance(answer, AssistantMessage) else None
    )
    if request.purpose != "step" or not isinstance(user, UserMessage):
        return None
    return user.agent, request.model.ref.id, _added_text(user)


def _added_text(user: UserMessage) -> str | None:
    """Return the prompt's own text for the system prompt, and the note that a structured answer is wanted."""
    texts = [user.system, ANSWER_BY_TOOL if user.format else None]
    return "\n\n".join(filter(None, texts)) or None
