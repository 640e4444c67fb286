"""Run hooks and connect MCP servers when a turn begins, and journal the text they add.

Border: texts are journaled before they are sent: beside the prompt as synthetic parts, or in the
system prompt when that is first made. Failures become notices. Later requests and the review of a
session read the journal and call neither hooks nor servers.
"""

from typing import Any

from palimpsest.context.engine_text.system_prompt import joined_sections, with_further_instructions
from palimpsest.context.visible_messages import View
from palimpsest.processor.session_log import GuardedState, SessionLog
from palimpsest.processor.tool_call_runner import ToolLookup
from palimpsest.session.extensions.hook_points import HookedTools, HookPoints
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.tools.mcp.content import instructions_text, servers_in
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import sanitize
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import Message, UserMessage, parts_of, typed_texts
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.session_record.hook_values import PromptEvent, SystemEvent

MCP = "mcp"
"""Key in a text part's metadata: the servers whose instructions it holds. Also the subject of notices."""
HOOK = "hook"
"""Key in a text part's metadata: the rule of the hook that wrote it."""
NEW_SERVERS_TEXT = "MCP servers that came after the conversation began say of their tools:"


class TurnExtensions:
    """Runs the hooks and MCP servers of one session, for each of its turns."""

    def __init__(
        self, registry: HookRegistry | None, servers: McpServers | None, log: SessionLog, ids: Ids
    ) -> None:
        self.hooks = HookPoints(registry or HookRegistry(with_packages=False), self._session_id)
        self._servers = servers
        self._log = log
        self._ids = ids
        self._is_due = True
        self._extended_prompt_ids: set[str] = set()

    def mark_turn_begin(self) -> None:
        """Mark that a turn begins, so that ``prepare_turn`` prepares it before the next request."""
        self._is_due = True

    async def prepare_turn(self) -> None:
        """Prepare a turn, once: load hooks and connect the MCP servers that are not connected.

        For a further step of the turn, only update which tools the servers offer.
        """
        if not self._is_due:
            if self._servers is not None:
                self.hooks.notify(MCP, *await self._servers.step_began())
            return
        self._is_due = False
        await self.hooks.turn_began()
        if self._servers is not None:
            self.hooks.notify(MCP, *await self._servers.turn_began())

    async def journal_additions(self, policy: Policy, system: tuple[str, ...]) -> None:
        """Journal, beside prompts that were not sent yet, what hooks and newly connected servers add to them."""
        for message in _unsent_prompts(self._log.state):
            if message.id in self._extended_prompt_ids:
                continue
            self._extended_prompt_ids.add(message.id)
            await self._journal_hook_texts(message)
        self._journal_server_instructions(policy, system)

    async def finish_system(
        self, agent: str, model: str, texts: tuple[str, ...], *, is_fixed: bool
    ) -> tuple[str, ...]:
        """Return a new system prompt as hooks change it, with the servers' instructions at its end.

        Where an administrator fixed its contents (``is_fixed``), hooks can only add to it.
        """
        if self.hooks.has_hook("system"):
            event = SystemEvent(self._session_id(), agent, model, texts)
            texts = await self.hooks.system(event, is_fixed=is_fixed)
        servers = self._servers.connected_instructions() if self._servers is not None else ()
        if not servers:
            return texts
        return with_further_instructions(texts, "", instructions_text(servers))

    def wrap_tools(self, tools: ToolLookup) -> ToolLookup:
        """Return the tools of a step, wrapped with tool hooks where there are any."""
        if self.hooks.has_hook("tool_before", "tool_after"):
            return HookedTools(tools, self.hooks)
        return tools

    def _session_id(self) -> str:
        session = self._log.state.session
        return session.id if session is not None else ""

    async def _journal_hook_texts(self, message: Message) -> None:
        info = message.info
        if not self.hooks.has_hook("prompt") or not isinstance(info, UserMessage):
            return
        text = joined_sections(typed_texts(message))
        event = PromptEvent(self._session_id(), message.id, text, info.agent, info.model.id)
        additions = await self.hooks.prompt(event)
        self._log.append(*(self._part_event(info, text, {HOOK: rule}) for rule, text in additions))

    def _journal_server_instructions(self, policy: Policy, system: tuple[str, ...]) -> None:
        """Journal the instructions of servers that neither the system prompt nor a visible message holds yet.

        After a compaction that removed them they are journaled again.
        """
        if self._servers is None or not (prompts := _unsent_prompts(self._log.state)):
            return
        known_names = servers_in("\n".join(system))
        servers = [entry for entry in self._servers.connected_instructions() if entry[1].strip()]
        new_servers = [entry for entry in servers if sanitize(entry[0]) not in known_names]
        if not new_servers:
            return
        state = self._log.state
        visible_messages = View(state.messages(), state.decisions).folded_messages(policy.compact)
        named_before = {
            name for part in parts_of(visible_messages) for name in _server_names_in(part)
        }
        new_servers = [entry for entry in new_servers if entry[0] not in named_before]
        info = prompts[-1].info
        if new_servers and isinstance(info, UserMessage):
            text = f"{NEW_SERVERS_TEXT}\n{instructions_text(new_servers)}"
            self._log.append(self._part_event(info, text, {MCP: [name for name, _ in new_servers]}))

    def _part_event(self, info: UserMessage, text: str, metadata: dict[str, Any]) -> PartUpdated:
        new_ids = self._ids.part(info.session_id, info.id)
        return PartUpdated(part=TextPart(**new_ids, text=text, synthetic=True, metadata=metadata))


def _unsent_prompts(state: GuardedState) -> tuple[Message, ...]:
    """Return the user's prompts at the end of the transcript, which no request has contained yet."""
    prompts: list[Message] = []
    for message in reversed(state.messages()):
        info = message.info
        if not isinstance(info, UserMessage):
            break
        if typed_texts(message) and not info.by_engine:
            prompts.append(message)
    return tuple(reversed(prompts))


def _server_names_in(part: Any) -> tuple[str, ...]:
    metadata = getattr(part, "metadata", None) or {}
    names = metadata.get(MCP)
    return tuple(names) if isinstance(names, list) else ()
