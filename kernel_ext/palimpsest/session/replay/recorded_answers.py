"""Look up the recorded answer of a cell's prompt in the notebook's sessions, and which of its code may run again.

Border: reads logs and rules; sends nothing, runs nothing and changes no session.
"""

import asyncio
import functools
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from palimpsest.session.config.settings import ReplayMode
from palimpsest.session.interfaces.recorded_answers import (
    CellPrompt,
    FoundAnswer,
    MayRun,
    RecordedCall,
    RecordedTurn,
)
from palimpsest.session.interfaces.services import Services
from palimpsest.session.replay.recorded_turns import find_recorded, recorded_turns
from palimpsest.session.turn_setup.environment_updates import path_in_project
from palimpsest.store.interface import SessionSummary
from palimpsest.store.session_state.state import State
from palimpsest.tools.permission_rules.ipython_shell import shell_commands
from palimpsest.tools.permission_rules.permissions import Denied, MustAsk, decide_call
from palimpsest.transcript.errors import PalimpsestError
from palimpsest.transcript.messages import Messages, parts_of
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    PermissionAsked,
    PromptDelivered,
    Record,
)
from palimpsest.transcript.session_record.sessions import SessionInfo

SWITCH_KEY = "replay"
"""Key of the grant that lets a notebook's cells send their prompts each time."""
MAX_SESSIONS = 20
"""Maximum number of the notebook's sessions that are searched, the newest first."""
MAX_SEARCH_SECONDS = 1.0
"""Maximum seconds for searching other sessions than the one in which the prompt would be sent."""
TURN_RECORDS = ("permission.asked", "permission.replied", "decision", "prompt.delivered")
"""Types of the records that the view of a turn needs beside its messages."""
MAX_TASK_DEPTH = 4
"""Maximum depth of nested task sessions that are searched for Python."""


@dataclass(eq=False, repr=False)
class RecordedAnswers:
    """Finds recorded answers in the sessions of a workspace."""

    _services: Services
    _flushed_id: Callable[[str], Awaitable[str]]
    """Writes the pending records of a session into its log, and returns its whole id."""
    _live_state: Callable[[str], State | None]
    """Returns the state of a session that this kernel writes."""
    _loaded_turns: dict[str, "_LoadedTurns"] = field(default_factory=dict)
    _records_by_session: dict[str, list[Record]] = field(default_factory=dict)

    def mode(self, notebook: str | None) -> ReplayMode:
        """Return whether the notebook's cells show recorded answers; a setting overrides the notebook's own switch."""
        mode = self._services.kernel.replay_mode
        is_fixed = mode != "ask" or self._services.rules.locked_settings.locked_by("replay")
        return "never" if not is_fixed and self._is_switched_off(notebook) else mode

    def switch_replay(self, notebook: str | None, *, is_on: bool) -> None:
        """Switch the recorded answers of a notebook's cells on, or have its cells send their prompts each time."""
        grants = self._services.rules.effective_rules.grants
        name = self._notebook_name(notebook)
        if is_on:
            grants.drop_grants(None, SWITCH_KEY, name)
        else:
            grants.add(grants.new_grant(SWITCH_KEY, name, None))

    def _is_switched_off(self, notebook: str | None) -> bool:
        name = self._notebook_name(notebook)
        grants = self._services.rules.effective_rules.grants
        return any(grant.value == name for grant in grants.list(None, SWITCH_KEY))

    def _notebook_name(self, notebook: str | None) -> str:
        return path_in_project(notebook, self._services.cwd, self._services.root) or ""

    async def find_answer(
        self,
        prompt: CellPrompt,
        notebook: str | None,
        *,
        current: str,
        sends_anew: bool,
        only_this: bool,
        reached_turns: Mapping[str, int],
        began_ms: int,
    ) -> FoundAnswer:
        """Return the recorded answer of a prompt.

        Args:
            prompt: The prompt that the cell is about to send.
            notebook: The notebook's path relative to the kernel's start directory; None searches every session of
                the project.
            current: The id of the session that the prompt would go to; empty where it would be created.
            sends_anew: Whether the cell begins a new session, so that only first turns of sessions are considered.
            only_this: Whether the cell names its session, so that no other is searched.
            reached_turns: By session id, the start of the newest turn that this run of the notebook has reached, in milliseconds
                since 1970.
            began_ms: The start of this run of the notebook, in milliseconds since 1970.
        """
        newest_found = FoundAnswer()
        if current and not sends_anew:
            current_turn_ms = reached_turns.get(current, 0)
            newest_found = await self._find_in_session(current, prompt, current_turn_ms, began_ms)
            is_known = newest_found.turn is not None or newest_found.unanswered_reason != "new"
            if is_known or only_this or current_turn_ms:
                return newest_found
        deadline = time.monotonic() + MAX_SEARCH_SECONDS
        notebook_name, excluded_id = (
            self._notebook_name(notebook),
            current if not sends_anew else "",
        )
        for summary in await self._other_sessions(notebook_name, excluded_id):
            if time.monotonic() > deadline:
                return replace(newest_found, has_history=True)
            reached_turn_ms = reached_turns.get(summary.id, 0)
            answer = await self._find_in_session(
                summary.id, prompt, reached_turn_ms, began_ms, only_first=sends_anew
            )
            if answer.turn is not None or (answer.unanswered_reason != "new" and not sends_anew):
                return answer
        return newest_found

    async def calls(self, turn: RecordedTurn) -> tuple[RecordedCall, ...]:
        """Return the calls of Python in a turn and its tasks that ran to their end, in order."""
        return tuple(
            await self._calls_of_messages(
                turn.session_id, turn.messages, MAX_TASK_DEPTH, {turn.session_id}
            )
        )

    async def may_run(self, call: RecordedCall, agent: str, *, yes: bool) -> MayRun:
        """Return whether a recorded call may run again.

        It may if this user approved exactly this code in this session on this machine, if the rules allow it, or if
        the cell answers questions with yes; but never if a rule denies it now.
        """
        services, effective_rules = self._services, self._services.rules.effective_rules
        session = await self._read_session(call.session_id)
        agent_definition = services.agents.known_agents.get(agent)
        agent_rules = agent_definition.rules if agent_definition is not None else ()
        rules = effective_rules.rules_of(session, services.rules.base_rules, agent_rules)
        answers = effective_rules.answers_of(session)
        if session is not None:
            answers = (*answers, *effective_rules.applicable_rules(session))
        verdicts = [decide_call("python", [call.code], rules, answers)]
        if commands := shell_commands(call.code):
            verdicts.append(decide_call("bash", commands, rules, answers))
        if any(isinstance(verdict, Denied) for verdict in verdicts):
            return "denied"
        must_asks = [verdict for verdict in verdicts if isinstance(verdict, MustAsk)]
        if any(must_ask.locked for must_ask in must_asks):
            return "locked"
        if not must_asks or yes:
            return "yes"
        is_approved = services.rules.approved_code.is_approved(call.session_id, call.code)
        return "yes" if is_approved else "ask"

    def approved_texts(self, call: RecordedCall) -> tuple[str, ...]:
        """Return the newest code of the call's session that the user approved on this machine, without keys."""
        return self._services.rules.approved_code.approved_texts(call.session_id)

    def approve(self, call: RecordedCall) -> None:
        """Record that the user approved a recorded call on this machine."""
        self._services.rules.approved_code.add(call.session_id, call.code)

    async def costs_nothing(self, model: str | None, session_id: str) -> bool:
        """Return whether the rehearsal model would answer a prompt to a session, which spends nothing."""
        session = await self._read_session(session_id) if session_id else None
        session_model = session.model if session is not None else None
        session_name = session_model.id if session_model is not None else None
        try:
            name = model or session_name or self._services.models.default_model()
        except PalimpsestError:
            return False
        return name.startswith("rehearsal/")

    async def _other_sessions(self, notebook: str, excluded_id: str) -> Sequence[SessionSummary]:
        summaries = await asyncio.to_thread(self._services.store.list)
        return [
            summary
            for summary in summaries
            if summary.parent_id is None
            and summary.id != excluded_id
            and notebook in ("", summary.notebook)
        ][:MAX_SESSIONS]

    async def _find_in_session(
        self,
        session_id: str,
        prompt: CellPrompt,
        reached_turn_ms: int,
        began_ms: int,
        *,
        only_first: bool = False,
    ) -> FoundAnswer:
        turns = await self._turns(session_id)
        verdict = find_recorded(turns[:1] if only_first else turns, prompt, reached_turn_ms)
        own_turns = [
            turn for turn in turns if turn.cell_id is not None and turn.cell_id == prompt.cell_id
        ]
        earlier_turn_id = own_turns[-1].id if own_turns else ""
        if isinstance(verdict, RecordedTurn):
            return FoundAnswer(verdict, session_id=session_id, has_history=True)
        known_session_id = session_id if verdict != "new" else ""
        has_history = any(turn.asked_ms < began_ms for turn in turns)
        return FoundAnswer(None, verdict, known_session_id, has_history, earlier_turn_id)

    async def notes(self, turn: RecordedTurn) -> tuple[Record, ...]:
        """Return the records of a turn's questions, answers and decisions, and of its prompt's delivery."""
        records = self._records_by_session.setdefault(turn.session_id, [])
        read_records = functools.partial(
            self._services.store.read,
            turn.session_id,
            after=records[-1].seq if records else 0,
            only=TURN_RECORDS,
        )
        with suppress(PalimpsestError, OSError):
            full_id = await self._flushed_id(turn.session_id)
            if full_id == turn.session_id:
                records += await asyncio.to_thread(lambda: list(read_records()))
        ids = {turn.id} | {message.id for message in turn.messages}
        return tuple(record for record in records if _is_about(record, ids))

    async def _turns(self, session_id: str) -> tuple[RecordedTurn, ...]:
        """Return the turns of a session that cells began and that are not reverted.

        A compacted session has only its newest messages in memory; the older ones are read from its log once, since
        reading ten thousand takes seconds.
        """
        live_state = self._live_state(session_id)
        if live_state is not None and not live_state.is_partial:
            return _visible_turns(recorded_turns(session_id, live_state.messages()), live_state)
        loaded_turns = self._loaded_turns.get(session_id)
        reverted_message_id = _reverted_message_id(live_state)
        if live_state is None or loaded_turns is None or loaded_turns.revert != reverted_message_id:
            state = await self._loaded_state(session_id)
            if state is None:
                return ()
            turns = await asyncio.to_thread(lambda: recorded_turns(session_id, state.messages()))
            if live_state is None:
                return _visible_turns(turns, state)
            loaded_turns = self._loaded_turns[session_id] = _LoadedTurns(turns, reverted_message_id)
        newer_turns = {turn.id: turn for turn in recorded_turns(session_id, live_state.messages())}
        turns_by_id = {turn.id: turn for turn in loaded_turns.turns} | newer_turns
        return _visible_turns(tuple(turns_by_id.values()), live_state)

    async def _read_session(self, session_id: str) -> SessionInfo | None:
        """Return a session's own record; None where it cannot be read."""
        live = self._live_state(session_id)
        if live is not None:
            return live.session
        with suppress(PalimpsestError, OSError):
            return (await asyncio.to_thread(self._services.store.open_live, session_id)).session
        return None

    async def _state(self, session_id: str) -> State | None:
        live = self._live_state(session_id)
        if live is not None and not live.is_partial:
            return live
        return await self._loaded_state(session_id)

    async def _loaded_state(self, session_id: str) -> State | None:
        try:
            full_id = await self._flushed_id(session_id)
            return await asyncio.to_thread(self._services.store.load, full_id)
        except (PalimpsestError, OSError):
            return None  # deleted meanwhile, or not readable

    async def _calls_of_messages(
        self, session_id: str, messages: Messages, depth: int, visited: set[str], shown_in: str = ""
    ) -> list[RecordedCall]:
        calls: list[RecordedCall] = []
        for part in parts_of(messages):
            if not isinstance(part, ToolPart):
                continue
            shown_call_id = shown_in or part.call_id
            if part.tool == "python" and _is_completed_code(part):
                calls.append(RecordedCall(part, session_id, shown_call_id))
            metadata: Mapping[str, Any] = getattr(part.state, "metadata", None) or {}
            task_session_id = metadata.get("task") if part.tool == "task" else None
            if (
                not isinstance(task_session_id, str)
                or not task_session_id
                or not depth
                or task_session_id in visited
            ):
                continue
            visited.add(task_session_id)  # a task that is continued names the same session again
            state = await self._state(task_session_id)
            if state is not None:
                calls += await self._calls_of_messages(
                    task_session_id, state.messages(), depth - 1, visited, shown_call_id
                )
        return calls


def _is_completed_code(part: ToolPart) -> bool:
    return part.state.status == "completed" and isinstance(part.state.input.get("code"), str)


@dataclass(frozen=True, slots=True)
class _LoadedTurns:
    """The turns of a compacted session as they were in its log."""

    turns: tuple[RecordedTurn, ...]
    revert: str | None
    """The first message that was reverted then; after a change, messages may have been removed permanently."""


def _reverted_message_id(state: State | None) -> str | None:
    """Return the first message that is reverted; None where none is."""
    session = state.session if state is not None else None
    revert = (session.revert if session is not None else None) or {}
    message_id = revert.get("message_id")
    return message_id if isinstance(message_id, str) else None


def _visible_turns(turns: tuple[RecordedTurn, ...], state: State) -> tuple[RecordedTurn, ...]:
    """Return a session's turns without those that are reverted, in whole or in part."""
    first_hidden = _reverted_message_id(state)
    if first_hidden is None:
        return turns
    ids = [{turn.id, *(message.id for message in turn.messages)} for turn in turns]
    hidden_from = (index for index, turn_ids in enumerate(ids) if first_hidden in turn_ids)
    return turns[: next(hidden_from, len(turns))]


def _is_about(record: Record, ids: Collection[str]) -> bool:
    event = record.event
    match event:
        case PromptDelivered():
            return event.message_id in ids
        case PermissionAsked():
            return event.ask.message_id in ids
        case DecisionMade():
            return event.decision.message_id in ids
        case _:
            return True
