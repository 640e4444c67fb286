"""Look up the recorded answer of a cell's prompt in the notebook's sessions, and what of it may run again.

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
from palimpsest.session.turn_setup.environment_updates import in_project
from palimpsest.store.interface import SessionSummary
from palimpsest.store.session_state.state import State
from palimpsest.tools.permission_rules.ipython_shell import shell_commands
from palimpsest.tools.permission_rules.permissions import Denied, MustAsk, decide
from palimpsest.transcript.errors import PalimpsestError
from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    PermissionAsked,
    PromptDelivered,
    Record,
)
from palimpsest.transcript.session_record.sessions import SessionInfo

SWITCH = "replay"
"""Key of the grant that lets a notebook's cells send their prompts each time."""
MOST_SESSIONS = 20
"""Sessions of the notebook that are looked through, the newest first."""
LOOK_SECONDS = 1.0
"""Time for looking through other sessions than the one that the prompt would go to."""
NOTED = ("permission.asked", "permission.replied", "decision", "prompt.delivered")
"""Types of the records that a shown turn needs beside its messages."""
NESTED = 4
"""How deep the sessions of tasks within tasks are looked through for Python."""


@dataclass(eq=False, repr=False)
class RecordedAnswers:
    """Finds recorded answers in the sessions of a workspace."""

    _services: Services
    _settled: Callable[[str], Awaitable[str]]
    """Writes what this kernel holds of a session into its log, and returns its whole id."""
    _held: Callable[[str], State | None]
    """Returns the state of a session that this kernel writes."""
    _loaded: dict[str, "_LoadedTurns"] = field(default_factory=dict)
    _notes: dict[str, list[Record]] = field(default_factory=dict)

    def mode(self, notebook: str | None) -> ReplayMode:
        """Return whether the notebook's cells show recorded answers; a setting counts before its own switch."""
        chosen = self._services.kernel.replay_mode
        fixed = chosen != "ask" or self._services.rules.locked.by("replay")
        return "never" if not fixed and self._switched_off(notebook) else chosen

    def switch(self, notebook: str | None, *, on: bool) -> None:
        """Let the notebook's cells show their recorded answers, or have them ask each time, from now on."""
        grants = self._services.rules.effective.grants
        name = self._name(notebook)
        if on:
            grants.drop(None, SWITCH, name)
        else:
            grants.add(grants.made(SWITCH, name, None))

    def _switched_off(self, notebook: str | None) -> bool:
        name = self._name(notebook)
        grants = self._services.rules.effective.grants
        return any(one.value == name for one in grants.list(None, SWITCH))

    def _name(self, notebook: str | None) -> str:
        return in_project(notebook, self._services.cwd, self._services.root) or ""

    async def find(
        self,
        prompt: CellPrompt,
        notebook: str | None,
        *,
        current: str,
        anew: bool,
        only_this: bool,
        reached: Mapping[str, int],
        began: int,
    ) -> FoundAnswer:
        """Return the recorded answer of a prompt.

        Args:
            prompt: What the cell is about to ask.
            notebook: The notebook's path relative to the kernel's start directory; None looks through every
                session of the project.
            current: The id of the session that the prompt would go to; empty where it would be created.
            anew: The cell begins a session of its own, so its answer is the first one of some session.
            only_this: The cell names its session, so no other is looked through.
            reached: By session, when the newest turn was asked that this run of the notebook has reached.
            began: When this run of the notebook began, in milliseconds since 1970.
        """
        found = FoundAnswer()
        if current and not anew:
            found = await self._in(current, prompt, reached.get(current, 0), began)
            if found.turn is not None or found.why != "new" or only_this or reached.get(current):
                return found
        end = time.monotonic() + LOOK_SECONDS
        for summary in await self._others(self._name(notebook), current if not anew else ""):
            if time.monotonic() > end:
                return replace(found, has_history=True)
            since = reached.get(summary.id, 0)
            one = await self._in(summary.id, prompt, since, began, first=anew)
            if one.turn is not None or (one.why != "new" and not anew):
                return one
        return found

    async def calls(self, turn: RecordedTurn) -> tuple[RecordedCall, ...]:
        """Return the Python that a turn and its tasks ran to its end, in order."""
        return tuple(await self._calls(turn.session_id, turn.messages, NESTED, {turn.session_id}))

    async def may_run(self, call: RecordedCall, agent: str, *, yes: bool) -> MayRun:
        """Return whether a recorded call may run again.

        It may where this user approved exactly this code in this session on this machine, where the rules
        allow it, or where the cell says yes to questions; what the rules deny by now may not.
        """
        services = self._services
        session = await self._session(call.session_id)
        known = services.agents.known.get(agent)
        own = known.rules if known is not None else ()
        rules = services.rules.effective.rules_of(session, services.rules.base, own)
        answers = services.rules.effective.answers_of(session)
        if session is not None:
            answers = (*answers, *services.rules.effective.held_rules(session))
        verdicts = [decide("python", [call.code], rules, answers)]
        if commands := shell_commands(call.code):
            verdicts.append(decide("bash", commands, rules, answers))
        if any(isinstance(one, Denied) for one in verdicts):
            return "denied"
        asking = [one for one in verdicts if isinstance(one, MustAsk)]
        if any(one.locked for one in asking):
            return "locked"
        approved = not asking or yes or services.rules.approved_code.has(call.session_id, call.code)
        return "yes" if approved else "ask"

    def approved_texts(self, call: RecordedCall) -> tuple[str, ...]:
        """Return the newest code of the call's session that the user approved on this machine, without keys."""
        return self._services.rules.approved_code.texts(call.session_id)

    def approve(self, call: RecordedCall) -> None:
        """Record that the user approved a recorded call on this machine."""
        self._services.rules.approved_code.add(call.session_id, call.code)

    async def costs_nothing(self, model: str | None, session_id: str) -> bool:
        """Return whether the rehearsal model would answer a prompt to a session, which spends nothing."""
        session = await self._session(session_id) if session_id else None
        known = session.model.id if session is not None and session.model is not None else None
        try:
            name = model or known or self._services.models.default_model()
        except PalimpsestError:
            return False
        return name.startswith("rehearsal/")

    async def _others(self, notebook: str, but: str) -> Sequence[SessionSummary]:
        listed = await asyncio.to_thread(self._services.store.list)
        return [
            one
            for one in listed
            if one.parent_id is None and one.id != but and notebook in ("", one.notebook)
        ][:MOST_SESSIONS]

    async def _in(
        self, session_id: str, prompt: CellPrompt, reached: int, began: int, *, first: bool = False
    ) -> FoundAnswer:
        turns = await self._turns(session_id)
        among = turns[:1] if first else turns
        verdict = find_recorded(among, prompt, reached)
        own = [one for one in turns if one.cell_id is not None and one.cell_id == prompt.cell_id]
        earlier = own[-1].id if own else ""
        if isinstance(verdict, RecordedTurn):
            return FoundAnswer(verdict, session_id=session_id, has_history=True)
        asked = session_id if verdict != "new" else ""
        before = any(one.asked < began for one in turns)
        return FoundAnswer(None, verdict, asked, has_history=before, earlier=earlier)

    async def notes(self, turn: RecordedTurn) -> tuple[Record, ...]:
        """Return the records of a turn's questions, answers and decisions, and of its prompt's delivery."""
        known = self._notes.setdefault(turn.session_id, [])
        read = functools.partial(
            self._services.store.read,
            turn.session_id,
            after=known[-1].seq if known else 0,
            only=NOTED,
        )
        with suppress(PalimpsestError, OSError):
            full = await self._settled(turn.session_id)
            if full == turn.session_id:
                known += await asyncio.to_thread(lambda: list(read()))
        ids = {turn.id} | {one.id for one in turn.messages}
        return tuple(one for one in known if _is_about(one, ids))

    async def _turns(self, session_id: str) -> tuple[RecordedTurn, ...]:
        """Return the turns of a session that cells asked for and that are not reverted.

        A session that was compacted holds only its newest messages; what is older is read from its log once, since
        that takes seconds where there are ten thousand.
        """
        held = self._held(session_id)
        if held is not None and not held.partial:
            return _visible(recorded_turns(session_id, held.messages()), held)
        known = self._loaded.get(session_id)
        revert = _revert(held)
        if held is None or known is None or known.revert != revert:
            state = await self._loaded_state(session_id)
            if state is None:
                return ()
            turns = await asyncio.to_thread(lambda: recorded_turns(session_id, state.messages()))
            if held is None:
                return _visible(turns, state)
            known = self._loaded[session_id] = _LoadedTurns(turns, revert)
        newer = {one.id: one for one in recorded_turns(session_id, held.messages())}
        whole = {one.id: one for one in known.turns} | newer
        return _visible(tuple(whole.values()), held)

    async def _session(self, session_id: str) -> SessionInfo | None:
        """Return a session's own record; None where it cannot be read."""
        held = self._held(session_id)
        if held is not None:
            return held.session
        with suppress(PalimpsestError, OSError):
            return (await asyncio.to_thread(self._services.store.open_live, session_id)).session
        return None

    async def _state(self, session_id: str) -> State | None:
        held = self._held(session_id)
        if held is not None and not held.partial:
            return held
        return await self._loaded_state(session_id)

    async def _loaded_state(self, session_id: str) -> State | None:
        try:
            full = await self._settled(session_id)
            return await asyncio.to_thread(self._services.store.load, full)
        except (PalimpsestError, OSError):
            return None  # deleted meanwhile, or not readable

    async def _calls(
        self, session_id: str, messages: Messages, depth: int, seen: set[str], shown_in: str = ""
    ) -> list[RecordedCall]:
        found: list[RecordedCall] = []
        for part in (part for message in messages for part in message.parts):
            if not isinstance(part, ToolPart):
                continue
            place = shown_in or part.call_id
            if part.tool == "python" and _ended(part):
                found.append(RecordedCall(part, session_id, place))
            metadata: Mapping[str, Any] = getattr(part.state, "metadata", None) or {}
            named = metadata.get("task")
            below = named if part.tool == "task" and isinstance(named, str) else ""
            if not below or not depth or below in seen:
                continue
            seen.add(below)  # a task that is continued names the same session again
            state = await self._state(below)
            if state is not None:
                found += await self._calls(below, state.messages(), depth - 1, seen, place)
        return found


def _ended(part: ToolPart) -> bool:
    return part.state.status == "completed" and isinstance(part.state.input.get("code"), str)


@dataclass(frozen=True, slots=True)
class _LoadedTurns:
    """The turns of a compacted session as they were in its log."""

    turns: tuple[RecordedTurn, ...]
    revert: str | None
    """The first message that was reverted then; what a revert removes for good is gone once that changes."""


def _revert(state: State | None) -> str | None:
    """Return the first message that is reverted; None where none is."""
    session = state.session if state is not None else None
    revert = (session.revert if session is not None else None) or {}
    named = revert.get("message_id")
    return named if isinstance(named, str) else None


def _visible(turns: tuple[RecordedTurn, ...], state: State) -> tuple[RecordedTurn, ...]:
    """Return a session's turns without those that are reverted, in whole or in part."""
    first = _revert(state)
    if first is None:
        return turns
    ids = [{one.id, *(message.id for message in one.messages)} for one in turns]
    return turns[: next((at for at, own in enumerate(ids) if first in own), len(turns))]


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
