"""Look at the clock and the kernel before a prompt is answered, and write down what is new.

What is told stands beside the user's words as synthetic parts, so it is journaled before it is sent and
is sent the same in every later request. Of variables that a prompt does not name, no more is told
than the setting ``variables`` says: a value goes along only where somebody spoke of it.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palimpsest.context.engine_text.environment_changes import (
    EnvironmentChange,
    EnvironmentState,
    environment_changes,
    mentioned_words,
    tells_changes,
)
from palimpsest.context.engine_text.mode_notes import beside_newest, metadata_beside_newest
from palimpsest.context.visible_messages.view import View
from palimpsest.session.engine.session_log import SessionLog
from palimpsest.session.turn_setup.environment import day_of
from palimpsest.tools.tool import Detail, Namespace, ShownVariables, VariableInfo
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import MessageInfo, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.redaction.text import (
    is_secret_name,
    looks_secret,
    scrub_values,
    secret_values,
)
from palimpsest.transcript.session_record.events import PartUpdated
from palimpsest.transcript.session_record.sessions import SessionInfo

LOOK_SECONDS = 0.5
"""A kernel that is busy with the user's own code is not waited for; there is a next prompt."""


@dataclass(frozen=True, slots=True)
class _KernelState:
    """What a kernel held when it was looked at."""

    variables: dict[str, str]
    named: dict[str, str]


class EnvironmentUpdates:
    """Tells a session's model what has changed, once with each prompt.

    Responsibilities: know what variables the model was told of last, which only holds as long as
    this kernel does; write what is new.
    """

    def __init__(
        self,
        log: SessionLog,
        ids: Ids,
        clock: Callable[[], int],
        environment: Mapping[str, str],
        plans: Callable[[], bool] = lambda: False,
        joined_sessions: set[str] | None = None,
        detail: Detail = "names and types",
    ) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self._plans = plans
        """Tells whether the session is in plan mode."""
        self._met: set[str] = set() if joined_sessions is None else joined_sessions
        """Ids of the sessions in which this kernel took part, told or not."""
        session = log.state.session
        if session is not None and (self._has_met(session) or not log.state.messages()):
            self._met.add(session.id)
        self._environment = environment
        self._detail = detail
        self._known: dict[str, str] | None = None
        self._known_named: dict[str, str] = {}

    async def tell(self, user: UserMessage, policy: Policy, namespace: Namespace | None) -> None:
        """Write what is new beside a prompt that was not sent yet; a second time does nothing.

        ``namespace`` is None where the model may not look at variables.
        """
        is_due = self._is_due(user)
        if policy.reminders.mode == "newest":
            self._say_beside_newest(policy)
        if not is_due:
            return
        look = None
        if policy.reminders.news:
            look = await self._look(namespace, self._named_in(user))
        variables = None if look is None else look.variables
        state = self._log.state
        session = state.session
        now = self._clock()
        situation = EnvironmentState(
            began=day_of(session.time.created if session else now),
            date=day_of(now),
            agent=user.agent,
            plan=self._plans(),
            variables=variables,
            named=look.named if look is not None else {},
            known=self._known,
            known_named=self._known_named,
            met=self._has_met(session),
        )
        seen = View(state.messages(), state.decisions).folded(policy.compact)
        found = environment_changes(seen, situation, policy.reminders)
        if look is not None:
            self._known = look.variables
            self._known_named = {
                name: told
                for name, told in (self._known_named | look.named).items()
                if name in look.variables
            }
        self._met.add(user.session_id)
        self._log.append(*(PartUpdated(part=self._part(user, item)) for item in found))

    def _has_met(self, session: SessionInfo | None) -> bool:
        if session is None:
            return False
        place = session.forked_from
        return session.id in self._met or (place is not None and place.session_id in self._met)

    def _say_beside_newest(self, policy: Policy) -> None:
        """Write which mode it is beside the newest user message, where nothing says so yet."""
        state = self._log.state
        if beside_newest(state.messages()) is None:
            return  # nor would it be of the fewer messages that the model still sees
        said = beside_newest(View(state.messages(), state.decisions).folded(policy.compact))
        if said is not None:
            message, text = said
            change = EnvironmentChange(text, metadata_beside_newest())
            self._log.append(PartUpdated(part=self._part(message.info, change)))

    def _is_due(self, user: UserMessage) -> bool:
        """Tell whether this is a person's prompt at the beginning of its turn."""
        if user.joins:
            return False
        if user.by_engine:
            return False
        messages = self._log.state.messages()
        newest = messages[-1] if messages else None
        return newest is not None and newest.id == user.id and not tells_changes(newest)

    async def _look(
        self, namespace: Namespace | None, named: frozenset[str]
    ) -> "_KernelState | None":
        if namespace is None:
            return None
        try:
            shown = ShownVariables(self._detail, named)
            found = await asyncio.wait_for(namespace.list(shown), LOOK_SECONDS)
        except Exception:  # noqa: BLE001 - a kernel that cannot be looked at is not worth a turn
            return None
        secrets = secret_values(self._environment)
        lines = [(one.name, self._unasked(one), self._told(one, secrets)) for one in found]
        return _KernelState(
            {name: unasked for name, unasked, _ in lines},
            {name: told for name, _, told in lines if name in named},
        )

    def _unasked(self, one: VariableInfo) -> str:
        """Return what is told of a variable of which nobody spoke."""
        match self._detail:
            case "names":
                return ""
            case "names and types":
                return one.plain
            case "values":
                return self._told(one, secret_values(self._environment))

    @staticmethod
    def _told(one: VariableInfo, secrets: tuple[str, ...]) -> str:
        if one.value is None or is_secret_name(one.name) or looks_secret(one.value):
            return one.plain
        return scrub_values(one.told, secrets)

    def _named_in(self, user: UserMessage) -> frozenset[str]:
        """Return the words of the prompt; a variable of that name is one that it names."""
        message = self._log.state.message(user.id)
        return mentioned_words((message,) if message is not None else ())

    def _part(self, message: MessageInfo, item: EnvironmentChange) -> TextPart:
        return TextPart(
            id=self._ids.new("prt"),
            session_id=message.session_id,
            message_id=message.id,
            text=item.text,
            synthetic=True,
            metadata=dict(item.metadata),
        )
