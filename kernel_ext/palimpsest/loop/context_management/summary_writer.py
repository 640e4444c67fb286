"""Write the summary that a marker requests: in one request or in stages, by the model set for summaries.

Every request is journaled before it is sent, with its contents recorded as a decision, and its answer
goes into the one message of the summary; the text of an earlier stage stays in it as a draft. After any
failure the summary ends with an error and cuts nothing (docs/design/0013-compaction.md).
"""

import asyncio
import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

from palimpsest.context.budget.window_guard import tool_count_refusal, window_refusal
from palimpsest.context.compaction.stage_selection import StageSelector
from palimpsest.context.compaction.stages import (
    DRAFT_KEY,
    REJECTED_KEY,
    StageProgress,
    SummaryStage,
)
from palimpsest.context.compaction.summary_request import SYSTEM
from palimpsest.context.conversion.part_conversion import FAILED_ATTEMPT
from palimpsest.loop.context_management.request_proposals import propose_summary
from palimpsest.loop.model_requests.answer_stream import output_cutter, stream_answer
from palimpsest.loop.model_requests.request_builder import (
    build_request,
    calibration_ratio,
    facts_for,
)
from palimpsest.loop.run_inputs.run_context import RequestServices, StepSetup, SummaryModel
from palimpsest.model.interface import StepFinished
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import (
    ApiError,
    AuthError,
    ContextOverflowError,
    ErrorValue,
    ModelFailed,
    UnknownError,
    UserError,
)
from palimpsest.transcript.parts import RetryPart, Span, TextPart
from palimpsest.transcript.session_record.events import (
    DecisionMade,
    MessageUpdated,
    PartUpdated,
    SessionStatus,
    StepRequested,
    answer_end_events,
)
from palimpsest.transcript.session_record.sessions import Busy
from palimpsest.transcript.values import ModelInfo

SUMMARY_AGENT = "compaction"

TIMED_OUT_KEY = "timed_out"
"""Key in an error's metadata: the request was given up because it took too long."""

TOO_LONG_TEXT = (
    "The conversation is too long to be summarised by {model} (about {tokens:,} tokens, and {budget:,} fit "
    "into one request). Choose a model with a larger window with --model, or begin a new session with "
    "%agent --new."
)
TOO_SHORT_STAGE_TEXT = (
    "The summary of a part of the conversation was too short to be of use ({chars} characters), so nothing "
    "was cut. Try again, name another model, or begin a new session with %agent --new."
)
TOO_SLOW_TEXT = (
    "The summary did not come within {seconds:g} seconds, so nothing was cut. Try again, or name a faster "
    "model for summaries: compaction.model in the settings."
)
CALLED_A_TOOL_TEXT = (
    "The model called the tool {tool} instead of writing the summary, so nothing was cut. Try again, or name "
    "another model with --model."
)
"""The request for a summary offers no tools, so a call is not run."""
OLDER_SUMMARY_ERROR = UnknownError(
    message="The summary that was put aside is used after all, so this one was not requested.",
    explained=True,
)
"""The error of a held summary request when the user restored the earlier summary."""
MODEL_NOT_USED_TEXT = "{name} cannot write this summary, so the session's model does: {problem}"


class SummaryWriter:
    """Writes one summary.

    Responsibilities: choose how much of the history each request contains; send the requests, to the
    session's model where the one set for summaries cannot be used; keep drafts, tokens and cost.
    """

    def __init__(self, services: RequestServices, setup: StepSetup, marker_id: str) -> None:
        self._services = services
        self._log = services.log
        self._setup = setup
        self._marker_id = marker_id
        self._processor: StreamProcessor | None = None
        self._summary_setup = _summary_setup(setup, None)
        """The setup of the newest request."""
        self._newest_numbers: dict[str, Any] = {}
        """The newest request's contents, as the numbers of its decision."""
        self._is_model_unusable = False
        """Whether the model cannot be used at all: no key, no such model or server."""
        self.message = self._log.new_answer(marker_id, SUMMARY_AGENT, setup.info.ref, summary=True)
        self._log.append(MessageUpdated(info=self.message))

    async def write(self) -> None:
        """Request the summary; the message stays open until ``close``. Raises ModelFailed, Aborted or UserError."""
        summary_model = self._setup.summary_model
        if summary_model is not None and self._accept_model(summary_model):
            try:
                await self._write_with_model(summary_model)
            except ModelFailed as failure:
                if not self._is_model_unusable:
                    raise
                self._note_unused_model(summary_model, failure.error.message)
            else:
                return
        await self._write_with_model(None)

    async def write_again(self, defects: Sequence[str]) -> None:
        """Request the summary once more, naming its defects; raises as ``write`` does."""
        for part in self._answer_text_parts():
            metadata = {**(part.metadata or {}), REJECTED_KEY: list(defects)}
            rejected_part = part.model_copy(update={"ignored": True, "metadata": metadata})
            self._log.append(PartUpdated(part=rejected_part))
        numbers = {**self._newest_numbers, "lacks": list(defects)}
        await self._decide_contents(numbers, lambda: numbers)
        await self._send_request(is_last=True)

    def close(self, error: ErrorValue | None) -> None:
        """End the message: as a good summary, or with an error."""
        if self._processor is not None:
            self._processor.message = self.message
            self._processor.close(error)
            self.message = self._processor.message
            return
        time = self.message.time.model_copy(update={"completed": self._log.clock()})
        update: dict[str, Any] = {"time": time, "error": error, "finish": "error"}
        self.message = self.message.model_copy(update=update)
        self._log.append(*answer_end_events(self.message), sync=True)

    # Which model writes

    def _accept_model(self, summary_model: SummaryModel) -> bool:
        """Return whether the model set for summaries can be used; note in the summary why not."""
        problem = summary_model.problem
        if not problem and summary_model.info is not None:
            problem = (
                window_refusal(summary_model.info, self._setup.policy.guard)
                or tool_count_refusal(summary_model.info, len(self._setup.specs))
                or ""
            )
        if problem:
            self._note_unused_model(summary_model, problem)
        return not problem

    def _note_unused_model(self, summary_model: SummaryModel, problem: str) -> None:
        """Note in the summary, for the user, that the configured model could not be used."""
        if self._processor is not None:
            self._processor.discard_attempt(1)
        now = self._log.clock()
        error = ApiError(
            message=MODEL_NOT_USED_TEXT.format(name=summary_model.name, problem=problem)
        )
        part = RetryPart(
            **self._log.new_part(self.message),
            attempt=1,
            error=error,
            time=Span(start=now, end=now),
        )
        self._log.append(PartUpdated(part=part))

    # The contents of a request

    async def _write_with_model(self, summary_model: SummaryModel | None) -> None:
        self._summary_setup = summary_setup = _summary_setup(self._setup, summary_model)
        if summary_setup.info.ref != self.message.model:
            self._update_message(model=summary_setup.info.ref)
        contents = self._stage_selector().whole_history(self._log.view())
        if contents.fits_one_request or not summary_setup.policy.compact.serialize:
            await self._decide_contents(
                contents.numbers,
                lambda: self._stage_selector().whole_history(self._log.view()).numbers,
            )
            await self._send_request(is_last=True)
        elif summary_setup.policy.compact.stages > 1:
            await self._write_in_stages(contents.result_chars)
        else:
            raise _too_long_failure(summary_setup.info, contents.tokens, contents.limit)

    async def _write_in_stages(self, result_chars: int) -> None:
        progress = self._stage_selector().stage_progress(self._log.view(), result_chars)
        while True:
            # Each answer's usage recalibrates our estimate.
            selector = self._stage_selector()
            numbers = selector.next_stage_numbers(self._log.view(), result_chars, progress)
            if numbers is None or SummaryStage.from_numbers(numbers) is None:
                raise _too_long_failure(self._summary_setup.info, progress.total, selector.limit)
            numbers_now = functools.partial(
                self._current_stage_numbers, result_chars, progress, numbers
            )
            decided_numbers = await self._decide_contents(numbers, numbers_now)
            stage = SummaryStage.from_numbers(decided_numbers)
            assert stage is not None
            request_id = await self._send_request(is_last=stage.is_final)
            if stage.is_final:
                return
            self._keep_draft(request_id)
            progress = progress.after_request(stage, request_id)

    def _stage_selector(self) -> StageSelector:
        setup = self._summary_setup
        calibration = calibration_ratio(self._log.state, setup.info)
        return StageSelector(
            self._marker_id, setup.system, setup.info, setup.policy, setup.count, calibration
        )

    def _current_stage_numbers(
        self, result_chars: int, progress: StageProgress, numbers_before: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the next stage's contents now; ``numbers_before`` where they no longer fit."""
        view, selector = self._log.view(), self._stage_selector()
        return selector.next_stage_numbers(view, result_chars, progress) or numbers_before

    async def _decide_contents(
        self, numbers: dict[str, Any], numbers_now: Callable[[], dict[str, Any]]
    ) -> dict[str, Any]:
        """Journal the decision about the next request's contents, and return its numbers: after a hold, ``numbers_now()``."""
        services, summary_setup = self._services, self._summary_setup

        async def propose() -> ProposedRequest:
            decision = self._stage_selector().decision("dec_proposed1", numbers_now())
            return propose_summary(services.log, summary_setup, self._marker_id, decision)

        hold = services.request_hold()
        if hold is not None:
            if await hold.await_release(propose, services.abort) == "older-summary":
                raise UserError(OLDER_SUMMARY_ERROR.message)
            if services.wait_for_budget is not None:
                await services.wait_for_budget(summary_setup.info)
            numbers = numbers_now()
        self._newest_numbers = numbers
        decision = self._stage_selector().decision(self._log.ids.new("dec"), numbers)
        facts = facts_for(self._log, summary_setup)
        self._log.append(DecisionMade(decision=decision, facts=facts))
        return numbers

    # One request

    async def _send_request(self, *, is_last: bool) -> str:
        """Send the decided request and stream its answer; returns the request's id."""
        services, summary_setup = self._services, self._summary_setup
        ready_request = build_request(
            services, summary_setup, self.message.id, {}, "compaction", marker_id=self._marker_id
        )
        if not ready_request.budget_check.fits:
            budget_check = ready_request.budget_check
            raise _too_long_failure(summary_setup.info, budget_check.tokens, budget_check.budget)
        record, window = ready_request.record, summary_setup.info.window
        cutter = output_cutter(self._log, summary_setup, record.facts)
        self._processor = StreamProcessor(
            self._log, self.message, cutter, request_id=record.id, window=window
        )
        services.log.append(StepRequested(request=record), sync=True)
        seconds = summary_setup.policy.recovery.compaction_seconds
        try:
            async with asyncio.timeout(seconds):
                step_finished = await stream_answer(
                    services, summary_setup.model, ready_request, self._processor
                )
        except ModelFailed as failure:
            self._is_model_unusable = _makes_model_unusable(failure.error)
            raise
        except TimeoutError:
            # The timeout may have come during the wait before another attempt.
            services.log.append(SessionStatus(status=Busy()))
            message = TOO_SLOW_TEXT.format(seconds=seconds)
            error = ApiError(message=message, retryable=True, metadata={TIMED_OUT_KEY: True})
            raise ModelFailed(error) from None
        called_tools = self._processor.requested_tools()
        self._processor.take_tool_calls()
        self._processor.handle(step_finished)
        self._add_usage(step_finished, is_last=is_last)
        # Where summaries are judged, a text beside a call is judged like any other.
        has_text = any(part.text.strip() for part in self._answer_text_parts())
        if called_tools and not (summary_setup.policy.compact.judge and has_text):
            message = CALLED_A_TOOL_TEXT.format(tool=called_tools[0])
            raise ModelFailed(UnknownError(message=message, explained=True))
        return record.id

    def _add_usage(self, step_finished: StepFinished, *, is_last: bool) -> None:
        """Add a request's tokens and cost to the summary's message; only the last request sets its finish reason."""
        cost = self.message.cost
        if step_finished.cost is not None:
            cost = (cost or 0.0) + step_finished.cost
        finish = step_finished.reason if is_last else None
        self._update_message(
            tokens=self.message.tokens.plus(step_finished.usage), cost=cost, finish=finish
        )

    def _keep_draft(self, request_id: str) -> None:
        """Mark the text of a stage as a draft, which only the next request contains."""
        chars = 0
        for part in self._answer_text_parts():
            chars += len(part.text.strip())
            metadata = {**(part.metadata or {}), DRAFT_KEY: request_id}
            draft = part.model_copy(update={"ignored": True, "metadata": metadata})
            self._log.append(PartUpdated(part=draft))
        compact = self._setup.policy.compact
        if chars < (compact.min_summary_chars if compact.judge else 1):
            raise ModelFailed(UnknownError(message=TOO_SHORT_STAGE_TEXT.format(chars=chars)))

    def _answer_text_parts(self) -> tuple[TextPart, ...]:
        message = self._log.state.message(self.message.id)
        parts = message.parts if message is not None else ()
        texts = (part for part in parts if isinstance(part, TextPart) and not part.ignored)
        return tuple(part for part in texts if not (part.metadata or {}).get(FAILED_ATTEMPT))

    def _update_message(self, **update: Any) -> None:
        self.message = self.message.model_copy(update=update)
        self._log.append(MessageUpdated(info=self.message))


def _summary_setup(setup: StepSetup, summary_model: SummaryModel | None) -> StepSetup:
    """Return the setup for a summary: no tools, and the model set for summaries or else the session's."""
    summary_setup = dataclasses.replace(
        setup, agent=SUMMARY_AGENT, system=(setup.summary_system_prompt or SYSTEM,), specs=()
    )
    if summary_model is None or summary_model.model is None or summary_model.info is None:
        return summary_setup
    return dataclasses.replace(summary_setup, model=summary_model.model, info=summary_model.info)


def _makes_model_unusable(error: ErrorValue) -> bool:
    """Return whether the model cannot be used at all: not after a temporary failure, nor for a text too long."""
    if isinstance(error, ApiError):
        return not error.retryable
    return isinstance(error, AuthError | UnknownError)


def _too_long_failure(info: ModelInfo, tokens: int, budget: int) -> ModelFailed:
    message = TOO_LONG_TEXT.format(model=info.ref.id, tokens=tokens, budget=budget)
    return ModelFailed(ContextOverflowError(message=message, tokens=tokens, budget=budget))
