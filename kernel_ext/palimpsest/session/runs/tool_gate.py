"""Check a tool call before it runs: permission rules, the user's approval, and the guard against doom loops.

A doom loop is three equal calls in a row anywhere in the turn, or a cycle of two or three calls repeated
over three rounds. OpenCode compares calls inside one message only and so misses both.
"""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from palimpsest.model.interface import ToolCalled
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.engine import Run
from palimpsest.session.interfaces.services import Services
from palimpsest.session.permissions.asks import Asks, Caller
from palimpsest.session.runs.child_sessions import refuse_beyond
from palimpsest.tools.permission_rules.permissions import Rules, Verdict
from palimpsest.tools.tool import AskFunction
from palimpsest.transcript.errors import PermissionDenied
from palimpsest.transcript.messages import Messages, UserMessage, typed_texts
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.values import Reply

LOOP_REFUSED_SENTENCE = (
    "Refused: you repeat {words}, and nothing has changed in between. Do something else, or end with what you "
    "have; the same again ends the turn."
)
TURN_ENDED_SENTENCE = (
    "The turn was ended because the model went in a circle: it repeated {words} after it was told not to, and "
    "nobody was there to ask. Change the prompt, or choose another model."
)
REPEATED_REASON = "the model repeats {}, and nobody was there to ask"
MAX_LOOPS = 2
"""Number of different loops that are refused in a turn; the next one ends it."""

LOOP_ROUNDS = 3
"""Number of equal rounds in a row that are a loop."""
LOOP_PERIODS = (1, 2, 3)
"""Numbers of calls in one round of a loop that is recognised."""


class ToolGate:
    """Checks the permissions of one session's tool calls, and stops repeated ones."""

    def __init__(self, services: Services, log: SessionLog, asks: Asks) -> None:
        self._services = services
        self._log = log
        self._asks = asks
        self._allowed_loops: set[frozenset[str]] = set()
        self._refused_loops: dict[frozenset[str], str] = {}
        """Loops that the user could not be asked about, and the message in which each was refused."""
        self._guard_lock = asyncio.Lock()
        self._announced_inputs: dict[str, dict[str, Any]] = {}

    def record_input(self, call_id: str, tool_input: dict[str, Any]) -> None:
        """Record the input of a call that is in no message, so that a question about it can show it."""
        self._announced_inputs[call_id] = tool_input

    def begin_turn(self) -> None:
        """Forget the loops of the turn before."""
        self._allowed_loops.clear()
        self._refused_loops.clear()

    def asker(self, run: Run, message_id: str, call_id: str, tool: str) -> AskFunction:
        """Return the function by which the tool of a call asks for permission."""
        caller = Caller(message_id, call_id, tool, self._announced_inputs.pop(call_id, None))

        async def ask(
            permission: str,
            patterns: Sequence[str],
            *,
            other_patterns: Mapping[str, Sequence[str]] | None = None,
            **other_arguments: Any,
        ) -> Reply | None:
            session = self._log.state.session
            if session is not None and session.limits:
                rules = self._services.rules
                base_rules = rules.effective_rules.rules_of(session, rules.base_rules, ())
                for named_permission, permission_patterns in {
                    permission: patterns,
                    **(other_patterns or {}),
                }.items():
                    refuse_beyond(session.limits, base_rules, named_permission, permission_patterns)
            other_arguments |= {
                "rules": self._rules_of_message(message_id),
                "abort": run.abort,
                "yes": run.yes,
            }
            return await self._asks.ask_permission(
                caller, permission, patterns, other_patterns=other_patterns, **other_arguments
            )

        return ask

    def verdict_function(self, agent: str | None) -> Callable[[str, Sequence[str]], Verdict]:
        """Return the function that decides about calls of an agent as of now; None means the session's agent."""
        session = self._log.state.session
        name = agent or (session.agent if session is not None else None)
        return self._asks.verdict_function(self._rules_of_agent(name))

    def _rules_of_message(self, message_id: str) -> Rules:
        message = self._log.state.message(message_id)
        name = getattr(message.info, "agent", None) if message is not None else None
        return self._rules_of_agent(name)

    def _rules_of_agent(self, agent_name: str | None) -> Rules:
        agents, rules = self._services.agents, self._services.rules
        agent = agents.known_agents.get(agent_name or agents.default_agent)
        agent_rules = agent.rules if agent is not None else ()
        session = self._log.state.session
        return rules.effective_rules.rules_of(session, rules.base_rules, agent_rules)

    async def guard_repetition(self, run: Run, message_id: str, call: ToolCalled) -> None:
        """Ask the user before a call that continues a loop of repeated calls; raises PermissionDenied.

        The answer "once" applies to the turn, "always" to the tool in this session. Where no user can be asked, the
        call is refused with a sentence for the model; the turn ends if the same loop is repeated, or after more
        than ``MAX_LOOPS`` loops.
        """
        calls = newest_calls(self._log.state.messages(), upto=call.id)
        loop = repeated_calls(calls)
        if not loop:
            return
        # Calls run in parallel, so only the first call of a loop asks.
        async with self._guard_lock:
            if loop in self._allowed_loops:
                return
            calls_text = "the same call" if len(loop) == 1 else f"the same {len(loop)} calls"
            if self._refused_loops.get(loop, message_id) != message_id:
                raise _denied_at_end(calls_text)
            ask = self.asker(run, message_id, call.id, call.tool)
            title = f"The model repeats {calls_text}. Go on?"
            try:
                await ask("doom_loop", [call.tool], title=title, always=[call.tool])
            except PermissionDenied as denied:
                if denied.denied_by == "person":
                    raise
                self._refused_loops[loop] = message_id
                if len(self._refused_loops) > MAX_LOOPS:
                    raise _denied_at_end(calls_text) from None
                raise PermissionDenied(
                    LOOP_REFUSED_SENTENCE.format(words=calls_text),
                    stops_turn=False,
                    denied_by="engine",
                    reason=REPEATED_REASON.format(calls_text),
                ) from None
            self._allowed_loops.add(loop)


def _denied_at_end(calls_text: str) -> PermissionDenied:
    return PermissionDenied(
        TURN_ENDED_SENTENCE.format(words=calls_text),
        stops_turn=True,
        denied_by="engine",
        reason=REPEATED_REASON.format(calls_text),
        guard="circle",
    )


def newest_calls(messages: Messages, *, upto: str) -> list[str]:
    """Return the newest calls of a call's turn, up to it, oldest first: as many as a loop is recognised by."""
    call_texts: list[str] = []
    is_reached = False
    for message in reversed(messages):
        for part in reversed(message.parts):
            if not isinstance(part, ToolPart):
                continue
            is_reached = is_reached or part.call_id == upto
            # Calls of a failed attempt, and those that the provider ran itself, do not count.
            metadata = part.metadata or {}
            is_ours = not (metadata.get("failed_attempt") or metadata.get("provider_executed"))
            if is_reached and is_ours:
                call_texts.append(call_fingerprint(part.tool, part.state.input))
                if len(call_texts) == max(LOOP_PERIODS) * LOOP_ROUNDS:
                    return call_texts[::-1]
        if is_reached and isinstance(message.info, UserMessage) and typed_texts(message):
            break
    return call_texts[::-1]


def call_fingerprint(tool: str, tool_input: dict[str, Any]) -> str:
    """Return a text that is equal for calls of the same tool with the same input."""
    return tool + " " + json.dumps(tool_input, sort_keys=True, ensure_ascii=False, default=str)


def repeated_calls(fingerprints: Sequence[str]) -> frozenset[str]:
    """Return the calls of the loop that the newest calls form; empty when they form none.

    The set is the same wherever the loop began, so that the user's answer about it is remembered.
    """
    for period in LOOP_PERIODS:
        compared_count = period * LOOP_ROUNDS
        compared_calls = list(fingerprints[-compared_count:])
        if (
            len(compared_calls) == compared_count
            and compared_calls == compared_calls[:period] * LOOP_ROUNDS
        ):
            return frozenset(compared_calls[:period])
    return frozenset()
