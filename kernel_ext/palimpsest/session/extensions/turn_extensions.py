"""Run hooks and connect MCP servers when a turn begins, and journal the text they add.

Border: what they add is journaled before it is sent: beside the prompt as synthetic parts, or in the
system prompt when that is first made. Failures become notices. Later requests and the review of a
session read the journal and call nothing.
"""

from typing import Any

from palimpsest.context.engine_text.system_prompt import joined_sections, with_added
from palimpsest.context.visible_messages import View
from palimpsest.processor.session_log import GuardedState, SessionLog
from palimpsest.processor.tool_call_runner import ToolLookup
from palimpsest.session.extensions.hook_points import HookedTools, HookPoints
from palimpsest.session.extensions.hooks import HookRegistry
from palimpsest.tools.mcp.content import instructions, names_told
from palimpsest.tools.mcp.servers import McpServers
from palimpsest.tools.mcp.values import sanitize
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import Message, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.session_record.hook_values import PromptEvent, SystemEvent

MCP = "mcp"
"""Key in a text part's metadata: the servers whose instructions it holds. Also the subject of notices."""
HOOK = "hook"
"""Key in a text part's metadata: the rule of the hook that wrote it."""
ARRIVED = "MCP servers that came after the conversation began say of their tools:"


class TurnExtensions:
    """Runs the hooks and MCP servers of one session, for each of its turns."""

    def __init__(
        self, book: HookRegistry | None, servers: McpServers | None, log: SessionLog, ids: Ids
    ) -> None:
        self.hooks = HookPoints(book or HookRegistry(installed=False), self._session_id)
        self._servers = servers
        self._log = log
        self._ids = ids
        self._due = True
        self._greeted: set[str] = set()

    def run_began(self) -> None:
        """Mark that a turn begins, so that ``begin`` prepares it before the next request."""
        self._due = True

    async def begin(self) -> None:
        """Prepare a turn, once: load hooks and connect the MCP servers that are not connected.

        For a further step of the turn, only update which tools the servers offer.
        """
        if not self._due:
            if self._servers is not None:
                self.hooks.tell(MCP, *await self._servers.step_began())
            return
        self._due = False
        await self.hooks.turn_began()
        if self._servers is not None:
            self.hooks.tell(MCP, *await self._servers.turn_began())

    async def greet(self, policy: Policy, system: tuple[str, ...]) -> None:
        """Journal, beside prompts that were not sent yet, what hooks and newly connected servers add to them."""
        for message in _waiting(self._log.state):
            if message.id in self._greeted:
                continue
            self._greeted.add(message.id)
            await self._ask_hooks(message)
        self._tell_of_servers(policy, system)

    async def finish_system(
        self, agent: str, model: str, texts: tuple[str, ...], *, fixed: bool
    ) -> tuple[str, ...]:
        """Return a new system prompt as hooks change it, with the servers' instructions at its end.

        Where an administrator ``fixed`` its contents, hooks can only add to it.
        """
        if self.hooks.any("system"):
            event = SystemEvent(self._session_id(), agent, model, texts)
            texts = await self.hooks.system(event, fixed=fixed)
        said = self._servers.connected() if self._servers is not None else ()
        return with_added(texts, "", instructions(said)) if said else texts

    def offer(self, offer: ToolLookup) -> ToolLookup:
        """Return the tools of a step, wrapped with tool hooks where there are any."""
        if self.hooks.any("tool_before", "tool_after"):
            return HookedTools(offer, self.hooks)
        return offer

    def _session_id(self) -> str:
        session = self._log.state.session
        return session.id if session is not None else ""

    async def _ask_hooks(self, message: Message) -> None:
        info = message.info
        if not self.hooks.any("prompt") or not isinstance(info, UserMessage):
            return
        words = (
            part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic
        )
        event = PromptEvent(
            self._session_id(), message.id, joined_sections(tuple(words)), info.agent, info.model.id
        )
        said = await self.hooks.prompt(event)
        self._log.append(*(self._part(info, text, {HOOK: rule}) for rule, text in said))

    def _tell_of_servers(self, policy: Policy, system: tuple[str, ...]) -> None:
        """Journal the instructions of servers that neither the system prompt nor a visible message holds yet.

        After a compaction that removed them they are journaled again.
        """
        if self._servers is None or not (waiting := _waiting(self._log.state)):
            return
        said = [(name, text) for name, text in self._servers.connected() if text.strip()]
        known = names_told("\n".join(system))
        new = [one for one in said if sanitize(one[0]) not in known]
        if not new:
            return
        state = self._log.state
        seen = View(state.messages(), state.decisions).folded(policy.compact)
        told = {name for one in seen for part in one.parts for name in _servers_in(part)}
        new = [(name, text) for name, text in new if name not in told]
        info = waiting[-1].info
        if new and isinstance(info, UserMessage):
            text = f"{ARRIVED}\n{instructions(new)}"
            self._log.append(self._part(info, text, {MCP: [name for name, _ in new]}))

    def _part(self, info: UserMessage, text: str, metadata: dict[str, Any]) -> PartUpdated:
        part = TextPart(
            **self._ids.part(info.session_id, info.id),
            text=text,
            synthetic=True,
            metadata=metadata,
        )
        return PartUpdated(part=part)


def _waiting(state: GuardedState) -> tuple[Message, ...]:
    """Return the user's prompts at the end of the transcript, which no request has contained yet."""
    found: list[Message] = []
    for message in reversed(state.messages()):
        info = message.info
        if not isinstance(info, UserMessage):
            break
        said = any(isinstance(part, TextPart) and not part.synthetic for part in message.parts)
        if said and not info.by_engine:
            found.append(message)
    return tuple(reversed(found))


def _servers_in(part: Any) -> tuple[str, ...]:
    metadata = getattr(part, "metadata", None) or {}
    names = metadata.get(MCP)
    return tuple(names) if isinstance(names, list) else ()
