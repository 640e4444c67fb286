"""Look at the clock and the kernel before a prompt is answered, and write down what is new.

What is told stands beside the user's words as synthetic parts, so it is journaled before it is sent and
is sent the same in every later request.
"""

import asyncio
from collections.abc import Callable, Mapping

from palimpsest.context.news import Item, Situation, has_news, news
from palimpsest.context.undo import folded
from palimpsest.context.view import View
from palimpsest.session.log import SessionLog
from palimpsest.session.surroundings import day_of
from palimpsest.tools.tool import Namespace, VariableInfo
from palimpsest.transcript.events import PartUpdated
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.policies import Policy
from palimpsest.transcript.scrub import is_secret_name, looks_secret, scrub_values, secret_values
from palimpsest.transcript.sessions import Session

LOOK_SECONDS = 0.5
"""A kernel that is busy with the user's own code is not waited for; there is a next prompt."""


class News:
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
        met: set[str] | None = None,
    ) -> None:
        self._log = log
        self._ids = ids
        self._clock = clock
        self._plans = plans
        """Tells whether the session is in plan mode."""
        self._met: set[str] = set() if met is None else met
        """Ids of the sessions in which this kernel took part, told or not."""
        session = log.state.session
        if session is not None and (self._has_met(session) or not log.state.messages()):
            self._met.add(session.id)
        self._secrets = secret_values(environment)
        self._known: dict[str, str] | None = None

    async def tell(self, user: UserMessage, policy: Policy, namespace: Namespace | None) -> None:
        """Write what is new beside a prompt that was not sent yet; a second time does nothing.

        ``namespace`` is None where the model may not look at variables.
        """
        if not self._is_due(user, policy):
            return
        variables = await self._look(namespace)
        state = self._log.state
        session = state.session
        now = self._clock()
        situation = Situation(
            began=day_of(session.time.created if session else now),
            date=day_of(now),
            agent=user.agent,
            plan=self._plans(),
            variables=variables,
            known=self._known,
            met=self._has_met(session),
        )
        seen = folded(View(state.messages(), state.decisions), policy.compact)
        found = news(seen, situation)
        self._known = variables if variables is not None else self._known
        self._met.add(user.session_id)
        self._log.append(*(PartUpdated(part=self._part(user, item)) for item in found))

    def _has_met(self, session: Session | None) -> bool:
        if session is None:
            return False
        place = session.forked_from
        return session.id in self._met or (place is not None and place.session_id in self._met)

    def _is_due(self, user: UserMessage, policy: Policy) -> bool:
        """Tell whether this is a person's prompt at the beginning of its turn."""
        if not policy.reminders.news or user.joins:
            return False
        if user.origin is not None and user.origin.kind == "engine":
            return False
        messages = self._log.state.messages()
        newest = messages[-1] if messages else None
        return newest is not None and newest.id == user.id and not has_news(newest)

    async def _look(self, namespace: Namespace | None) -> dict[str, str] | None:
        if namespace is None:
            return None
        try:
            found = await asyncio.wait_for(namespace.list(), LOOK_SECONDS)
        except Exception:  # noqa: BLE001 - a kernel that cannot be looked at is not worth a turn
            return None
        return {one.name: self._line(one) for one in found}

    def _line(self, one: VariableInfo) -> str:
        summary = scrub_values(one.summary, self._secrets)
        if is_secret_name(one.name) or looks_secret(one.summary):
            return one.kind
        return f"{one.kind}, {summary}" if summary else one.kind

    def _part(self, user: UserMessage, item: Item) -> TextPart:
        return TextPart(
            id=self._ids.new("prt"),
            session_id=user.session_id,
            message_id=user.id,
            text=item.text,
            synthetic=True,
            metadata=dict(item.metadata),
        )
