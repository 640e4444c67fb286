"""The system prompt of a session: the same bytes for its whole life, for each agent and model.

A changed byte would make the provider read the whole conversation anew, so what changes (day,
mode, variables) is told later, in messages (``session.news``).
"""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from palimpsest.context.system import system, with_added
from palimpsest.session.agents import SUBAGENT_NOTE, Agent
from palimpsest.session.family import is_child
from palimpsest.session.log import SessionLog
from palimpsest.session.notebooks import from_start
from palimpsest.session.services import Services
from palimpsest.session.surroundings import read_surroundings
from palimpsest.tools.permissions import disabled
from palimpsest.tools.skill import SKILL, listed
from palimpsest.transcript.errors import NotFound
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.policies import Policy
from palimpsest.transcript.values import ModelInfo

Added = Callable[[str, str, tuple[str, ...]], Awaitable[tuple[str, str]]]
"""Asks what is added to a new system prompt: further words, and what MCP servers say."""


class Systems:
    """The system prompts of one session, by agent, model and what a prompt added."""

    def __init__(
        self, services: Services, log: SessionLog, policy: Callable[[], Policy] | None = None
    ) -> None:
        self._services = services
        self._log = log
        self._policy = policy or (lambda: services.policy)
        self._settled: dict[tuple[str, str, str | None], tuple[str, ...]] = {}

    async def settle(
        self, agent: Agent, info: ModelInfo, user: UserMessage, added: Added
    ) -> tuple[str, ...]:
        """Return the system prompt, and keep it for the session's whole life."""
        key = (agent.name, info.ref.id, user.system)
        found = self._settled.get(key) or self._recorded(key)
        if found is None:
            new = self._new(agent, info, user)
            found = with_added(new, *await added(agent.name, info.ref.id, new))
        return self._settled.setdefault(key, found)

    def known(self, agent: Agent, info: ModelInfo, user: UserMessage) -> tuple[str, ...]:
        """Return the system prompt as it would be now; looking at it settles nothing."""
        key = (agent.name, info.ref.id, user.system)
        return self._settled.get(key) or self._recorded(key) or self._new(agent, info, user)

    def _recorded(self, key: tuple[str, str, str | None]) -> tuple[str, ...] | None:
        """Take the prompt of the newest request again, when it was for the same agent and model."""
        state = self._log.state
        request = state.request
        message = state.message(request.message_id) if request and request.message_id else None
        if request is None or message is None or request.model.ref.id != key[1]:
            return None
        if request.purpose != "step":
            return None  # what asks for a summary or a title is told another job
        parent = state.message(getattr(message.info, "parent_id", ""))
        if parent is None or not isinstance(parent.info, UserMessage):
            return None
        if (parent.info.agent, parent.info.system) != (key[0], key[2]):
            return None
        with suppress(NotFound):  # one that is gone is written anew: the session goes on
            return tuple(json.loads(self._services.store.get_blob(request.system.sha256)))
        return None

    def _new(self, agent: Agent, info: ModelInfo, user: UserMessage) -> tuple[str, ...]:
        session = self._log.state.session
        services = self._services
        surroundings = read_surroundings(
            info.ref.id,
            services.cwd,
            services.root,
            from_start(session.notebook if session else None, services.cwd, services.root),
            session.time.created if session else services.clock(),
            services.instruction_files,
        )
        note = SUBAGENT_NOTE if is_child(session) else ""
        extra = (services.extra_system or "", agent.note or "", note, user.system or "")
        return system(
            surroundings,
            agent_prompt=agent.prompt,
            extra=extra,
            skills=self._skills(agent),
            words=self._policy().environment,
        )

    def _skills(self, agent: Agent) -> str:
        """List the skills, for an agent that may load one."""
        services, session = self._services, self._log.state.session
        rules = services.permitting.rules_of(session, services.rules, agent.rules)
        if services.library is None or disabled({SKILL: SKILL}, rules):
            return ""
        return listed(services.library.skills)
