"""Write a summary of each turn after it, in the background; only where that is switched on.

Border: delays and fails no turn, no prompt and no close. One request runs at a time; where turns end faster than
summaries arrive, the next request covers the turns in between too.
"""

import asyncio
import dataclasses
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from palimpsest.context.request_kinds.turn_summary_request import (
    BODY,
    LAST_TURN,
    TITLE,
    read_turn_summary,
)
from palimpsest.context.visible_messages import newest_turn
from palimpsest.loop.model_requests.answer_stream import usage_cost, with_usage
from palimpsest.loop.model_requests.side_request import SideAnswer, run_turn_summary
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.interfaces.services import Services
from palimpsest.transcript.errors import PalimpsestError
from palimpsest.transcript.messages import AssistantMessage, Messages, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import Event, MessageUpdated, SessionUpdated
from palimpsest.transcript.values import ModelInfo

LOGGER = logging.getLogger(__name__)

MAX_TURNS = 4
"""Maximum turns in one request: the newest, and those that ended while another request ran."""


@dataclass(eq=False, repr=False)
class TurnSummaries:
    """Requests and writes the summary of each turn of a session that ended with an answer, one request at a time."""

    _services: Services
    _log: SessionLog
    _is_affordable: Callable[[ModelInfo], bool]
    """Checks the spending limit for a request."""
    _on_summary: Callable[[], None]
    """Called after a new summary."""
    setup: StepSetup | None = None
    """The setup of the newest step."""
    _prompt_ids: list[str] = field(default_factory=list)
    """Ids of the prompts of turns that ended and are still to be summarised, oldest first."""
    _summarised_answer_id: str = ""
    """Id of the newest answer for which a summary was requested."""
    _is_closed: bool = False
    _task: asyncio.Task[None] | None = None

    def begin_request(self, request_services: RequestServices) -> None:
        """Request a summary when a run ended with a new answer."""
        session, setup = self._log.state.session, self.setup
        if self._is_closed or setup is None:
            return
        turn = newest_turn(self._log.state.messages())
        answer_id = _answer_id(turn)
        is_new = answer_id not in ("", self._summarised_answer_id)
        if session is None or session.parent_id is not None or not is_new:
            return
        self._summarised_answer_id = answer_id
        prompt_id = turn[0].id
        self._prompt_ids = [
            *(earlier_id for earlier_id in self._prompt_ids if earlier_id != prompt_id),
            prompt_id,
        ]
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(
                self._write_summaries(request_services)
            )

    def cancel_request(self) -> None:
        """Cancel the request, and make no more."""
        self._is_closed = True
        if self._task is not None:
            self._task.cancel()

    async def _write_summaries(self, request_services: RequestServices) -> None:
        while self._prompt_ids:
            prompt_ids, self._prompt_ids = tuple(self._prompt_ids[-MAX_TURNS:]), []
            try:
                side_answer = await self._request_summary(request_services, prompt_ids)
            except (PalimpsestError, TimeoutError) as problem:
                LOGGER.debug("No turn summary for session %s: %s", self._log.session_id, problem)
            except Exception:
                LOGGER.exception("No turn summary for session %s", self._log.session_id)
            else:
                if side_answer is not None:
                    self._set_summary(side_answer, prompt_ids[-1])

    async def _request_summary(
        self, request_services: RequestServices, prompt_ids: tuple[str, ...]
    ) -> SideAnswer | None:
        setup = self.setup
        if setup is None or await self._log.wait_until_written():
            return None
        info = self._services.models.small_model(setup.info)
        if not self._is_affordable(info):
            session_id = self._log.session_id
            LOGGER.debug("No turn summary for session %s: its limit is reached", session_id)
            return None
        model = setup.model if info is setup.info else self._services.models.model(info)
        summary_setup = dataclasses.replace(setup, model=model, info=info)
        hold = request_services.request_hold()
        if hold is not None:
            await hold.wait_for_next_release()
        return await run_turn_summary(request_services, summary_setup, prompt_ids)

    def _set_summary(self, side_answer: SideAnswer, prompt_id: str) -> None:
        """Write the summary, where the turn still exists, and add the usage of its request."""
        session = self._log.state.session
        if session is None:
            return
        changed_fields = with_usage(session, usage_cost(side_answer.usage, side_answer.cost))
        events: list[Event] = []
        turn_summary = read_turn_summary(side_answer.text)
        message = self._log.state.message(prompt_id)
        if message is not None and isinstance(message.info, UserMessage):
            texts = {TITLE: turn_summary.title, BODY: turn_summary.turn}
            fields = {name: text for name, text in texts.items() if text}  # others stay
            if fields:
                summary = {**(message.info.summary or {}), **fields}
                info = message.info.model_copy(update={"summary": summary})
                events.append(MessageUpdated(info=info))
            if turn_summary.session:
                session_summary = {BODY: turn_summary.session, LAST_TURN: prompt_id}
                changed_fields["summary"] = {**(session.summary or {}), **session_summary}
        self._log.append(*events, SessionUpdated(session=session.model_copy(update=changed_fields)))
        if events or "summary" in changed_fields:
            self._on_summary()


def _answer_id(turn: Messages) -> str:
    """Return the id of the answer that a turn ended with; empty where it failed or is empty."""
    for message in reversed(turn):
        info = message.info
        if isinstance(info, AssistantMessage) and not info.summary:
            texts = (part.text for part in message.parts if isinstance(part, TextPart))
            is_answer = any(map(str.strip, texts)) or info.structured is not None
            return message.id if is_answer and info.error is None else ""
    return ""
