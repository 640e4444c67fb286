"""Run a turn: steps until the newest user message is answered; then journal why it ended.

Exit rule: the newest assistant message answers the newest user message, has a real finish reason other than tool calls,
and has no tool part except interrupted ones and those that the provider ran. Why the turn ended is journaled with its
last answer, when nothing runs any more, and the user is notified where it was cut short. A time limit stops a turn that
takes too long, but a compaction that runs then may finish, once: a user who has waited minutes for a summary should not
lose it (docs/design/0013-compaction.md). Most policies have no limit; the presets of systems with a limit keep it.
"""

import asyncio
from collections.abc import Sequence
from typing import Literal

from palimpsest.context.budget.window_guard import tool_count_refusal, window_refusal
from palimpsest.context.compaction.continuation import waits_for_answer
from palimpsest.context.request_assembly.fittable_request import Cause
from palimpsest.context.visible_messages import marker_of, messages_after
from palimpsest.loop.context_management import another_summary
from palimpsest.loop.context_management.compaction import run_compaction
from palimpsest.loop.context_management.fit_driver import FitDriver, prune_after_turn
from palimpsest.loop.context_management.postponed_pruning import postpone_pruning, prune_postponed
from palimpsest.loop.context_management.request_proposals import propose_step, would_cut_results
from palimpsest.loop.model_requests.engine_messages import (
    ask_for_real_call,
    write_last_step_message,
    write_refusal,
)
from palimpsest.loop.run_inputs.compaction_state import CompactionState, action_at_time_limit
from palimpsest.loop.run_inputs.request_hold import PostponedPruning, RequestHold
from palimpsest.loop.run_inputs.run_context import RequestServices, RunContext, StepSetup
from palimpsest.loop.step import StepResult, run_step
from palimpsest.loop.step_snapshots import record_turn_diffs
from palimpsest.loop.structured_turn import (
    ask_for_structured_again,
    refuse_unstructured,
    write_last_structured_message,
)
from palimpsest.loop.subtasks import SUBTASK_KEY, run_subtasks
from palimpsest.model.interface import LazilyImportedModel
from palimpsest.processor.session_log import GuardedState, SessionLog
from palimpsest.processor.tool_call_runner import UNATTENDED
from palimpsest.tools.calls.error_containment import run_until_abort
from palimpsest.tools.tool import Abort
from palimpsest.transcript.context_values.policies import RecoveryPolicy
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import (
    Aborted,
    AbortedError,
    ContextOverflowError,
    ErrorValue,
    GuardStopped,
    ModelFailed,
    UnknownError,
    UserError,
)
from palimpsest.transcript.messages import (
    STOP_REASONS,
    AssistantMessage,
    Message,
    Messages,
    StoppedBy,
    UserMessage,
    parts_of,
    stop_reason_of,
)
from palimpsest.transcript.parts import (
    CompactionPart,
    StepStartPart,
    SubtaskPart,
    TextPart,
    ToolFailed,
    ToolPart,
)
from palimpsest.transcript.session_record.events import (
    Event,
    MessageUpdated,
    PartUpdated,
    SessionStatus,
)
from palimpsest.transcript.session_record.sessions import Busy
from palimpsest.transcript.user_notices import user_notice

MAX_REFUSED_STEPS = 3
"""Steps in a row whose calls were all refused because no user was present, before the turn stops."""

UNFINISHED_REASONS = {None, "tool-calls", "unknown"}
UNFINISHED_OR_PAUSED_REASONS = UNFINISHED_REASONS | {"paused"}
REASONS_WITH_OPEN_CALLS = {"tool-calls", "paused"}
"""Finish reasons of an answer with calls that have no result: the last step runs none, or the provider paused its own."""

MAX_UNKNOWN_STEPS = 2
"""Steps in a row that end for an unknown reason without calling a tool before the turn stops."""

MAX_PAUSED_ANSWERS = 10
"""Answers in a row that the provider paused in the middle of its own tools before the turn stops."""

TIME_IS_UP = "The turn took longer than {seconds:g} seconds, its time limit. Ask again to go on."


async def run_turn(run_context: RunContext, *, continues: bool = False) -> StoppedBy | None:
    """Run steps until done, stopped, or at the step limit; returns the guard that ended the turn, else None.

    ``continues`` continues a turn that failed: the failed request is sent again, with the turn's earlier steps,
    and the user's message is not repeated.
    """
    turn, services = Turn(run_context), run_context.request_services
    log = services.log
    newest_before = log.state.newest_message()
    await turn.run(continues=continues)
    # A turn that sent nothing has no new outputs, so the last turn pruned everything already.
    new_messages = messages_after(log.state.messages(), newest_before)
    is_sent = any(isinstance(part, StepStartPart) for part in parts_of(new_messages))
    if turn.setup is not None and is_sent:
        _prune_at_end(services, run_context.turn_services.postponed_pruning, turn.setup)
    await record_turn_diffs(log, run_context.turn_services.files)
    is_stopped = turn.stopped_by == "rejected" or services.abort.is_set()
    if turn.setup is not None and turn.setup.wants_structured and not is_stopped:
        refuse_unstructured(log, turn.form_retries)
    return turn.stopped_by


class Turn:
    """A running turn: prepares and runs its steps, and counts them against the limits."""

    def __init__(self, run_context: RunContext) -> None:
        self.setup: StepSetup | None = None
        """The setup of the newest step; None before the first."""
        self.stopped_by: StoppedBy | None = None
        """The guard that ended the turn; None where the last answer shows its end."""
        self.form_retries = 0
        """Number of repeated requests for a structured answer."""
        self._run_context = run_context
        self._services = run_context.request_services
        self._log = run_context.request_services.log
        self._fit_driver = FitDriver(run_context.request_services)
        self._step_count = 0
        self._unknown_step_count = 0
        self._paused_answer_count = 0
        self._refused_step_count = 0
        self._has_asked_for_call = False
        """Whether the model was asked for a real call in place of one written as text."""
        self._has_failed_summary = False
        """Whether a compaction of this turn failed."""
        self._is_released = False
        """Whether the next request was held and released, so that it is not held again."""
        self._other_marker_id = ""
        """Id of the marker of the summary that the user requested in place of another."""

    async def run(self, *, continues: bool) -> None:
        """Run steps until nothing is left to do."""
        while not self._services.abort.is_set():
            self._run_context.turn_services.deliver_prompts()
            messages = self._log.state.messages()
            user = newest_user(messages)
            if user is None or (
                ends_turn(messages, user) and not (continues and self._step_count == 0)
            ):
                if user is None or not self._request_again(user):
                    return
                continue
            try:
                self.setup = setup = await self._services.resolve_setup(user)
                _check_model_limits(setup)
                await self._wait_for_model(setup)
                if await self._hold_request(setup, user):
                    continue
                if self._services.wait_for_budget is not None:
                    await self._services.wait_for_budget(setup.info)
            except Aborted:
                return
            except (UserError, ModelFailed) as problem:
                self._stop_by_guard(getattr(problem, "guard", ""))
                error = getattr(problem, "error", None)
                error = error or UnknownError(message=str(problem), explained=True)
                write_refusal(self._log, user, error)
                return
            if not await self._run_next(setup, user):
                return

    async def _wait_for_model(self, setup: StepSetup) -> None:
        """Wait until the model's libraries are imported, with a status about it. Raises Aborted.

        The wait comes before the step, so that no step's time includes an import.
        """
        if not isinstance(setup.model, LazilyImportedModel):
            return
        pending_import = setup.model.pending_import(setup.info)
        if pending_import is None:
            return
        self._log.append(SessionStatus(status=Busy(loading=self._log.clock())))
        try:
            await run_until_abort(self._services.abort, pending_import)
        finally:
            self._log.append(SessionStatus(status=Busy()))

    async def _hold_request(self, setup: StepSetup, user: UserMessage) -> bool:
        """Hold a step's request in step mode; True when it was released, and the step must be prepared again."""
        was_released, self._is_released = self._is_released, False
        hold = None if was_released else self._services.request_hold()
        if hold is None:
            return False
        messages = self._log.state.messages()
        if pending_subtasks(self._log.state) or marker_of(messages, user) is not None:
            return False  # the requests of subtasks and summaries are held where they are made
        await self._wait_for_release(hold, setup, user)
        return True

    async def _wait_for_release(
        self, hold: RequestHold, setup: StepSetup, user: UserMessage, cause: Cause = "size"
    ) -> bool:
        """Hold the next step's request; False where the user chose another or the older summary. Raises Aborted."""
        newest_setup: StepSetup | None = setup

        async def propose() -> ProposedRequest:
            nonlocal newest_setup, user
            if self._run_context.turn_services.deliver_prompts():
                # The released request contains a prompt that joined the turn.
                user, newest_setup = newest_user(self._log.state.messages()) or user, None
            current_setup = newest_setup or await self._services.resolve_setup(user)
            newest_setup = None
            is_last = self._step_count + 1 >= current_setup.max_steps
            postponed_id = self._run_context.turn_services.postponed_pruning.last_message_id
            attempts = self._fit_driver.attempts
            return await propose_step(
                self._services, postponed_id, current_setup, attempts, cause, is_last_step=is_last
            )

        release = await hold.await_release(propose, self._services.abort)
        self._is_released = release == "send"
        if release == "older-summary":
            another_summary.use_older_summary(self._log, user)
        elif release == "another-summary":
            self._other_marker_id = (
                another_summary.ask_for_another_summary(self._log, user) or self._other_marker_id
            )
        return self._is_released

    async def _hold_cut(
        self, setup: StepSetup, user: UserMessage, cause: Cause
    ) -> Literal["cut", "another-summary", "stop"]:
        """Hold the request whose results must be cut after a refusal or a failed summary; returns the next action.

        A summary that is tried first is held by its own request.
        """
        hold = self._services.request_hold()
        if hold is None or not would_cut_results(
            self._log, setup, self._fit_driver.attempts, cause
        ):
            return "cut"
        try:
            is_released = await self._wait_for_release(hold, setup, user, cause)
        except (Aborted, UserError, ModelFailed):
            return "stop"
        return "cut" if is_released else "another-summary"

    def _request_again(self, user: UserMessage) -> bool:
        """Ask again for a structured answer or a real call; False where there is no need or no attempt is left."""
        setup = self.setup
        if setup is None:
            return False
        if setup.wants_structured:
            is_asked = ask_for_structured_again(self._log, setup, user, self.form_retries)
            self.form_retries += is_asked
            return is_asked
        newest = self._log.state.newest_message()
        if newest is None or not _ends_like_written_call(newest):
            return False
        may_ask = not self._has_asked_for_call and self._step_count < setup.max_steps
        is_asked = ask_for_real_call(self._log, setup, user, may_ask=may_ask)
        self._has_asked_for_call = self._has_asked_for_call or is_asked
        return is_asked

    async def _run_next(self, setup: StepSetup, user: UserMessage) -> bool:
        """Run pending subtasks, else a pending compaction, else a step; returns whether the turn continues."""
        messages = self._log.state.messages()
        subtasks = pending_subtasks(self._log.state)
        if subtasks:
            return await run_subtasks(self._run_context.run_tools, setup, user, subtasks)
        marker_part = marker_of(messages, user)
        if marker_part is not None:
            return await self._run_compaction(setup, user, marker_part)
        return await self._run_step(setup, user, messages)

    async def _run_compaction(
        self, setup: StepSetup, user: UserMessage, marker_part: CompactionPart
    ) -> bool:
        """Run the compaction of a marker; where it fails in the middle of work, cut oversized results. True to continue."""
        outcome = await run_compaction(self._run_context, setup, user)
        self._has_failed_summary = self._has_failed_summary or outcome == "failed"
        if outcome == "older-summary":
            another_summary.use_older_summary(self._log, user)
            return True
        if outcome == "failed" and user.id == self._other_marker_id:
            another_summary.continue_without_summary(self._log, user)
            return True
        if outcome == "failed" and marker_part.auto:
            release = await self._hold_cut(setup, user, "failed")
            if release != "cut":
                return release == "another-summary"
            if self._fit_driver.cut_after_failure(setup, user):
                return True
        self._stop_by_guard("compaction" if outcome == "failed" else "")
        return outcome == "continue"

    async def _run_step(self, setup: StepSetup, user: UserMessage, messages: Messages) -> bool:
        if self._run_context.turn_services.postponed_pruning.last_message_id:
            prune_postponed(self._log, self._run_context.turn_services.postponed_pruning, setup)
        if self._fit_driver.summarise_if_full(setup, user, messages):
            return True
        self._step_count += 1
        is_last = self._step_count >= setup.max_steps
        if is_last and self._step_count > 1:
            write_message = (
                write_last_structured_message if setup.wants_structured else write_last_step_message
            )
            user = write_message(self._log, setup, user)
        result = await run_step(
            self._run_context, setup, user, self._fit_driver, is_last_step=is_last
        )
        if result in ("overflow", "full"):
            can_summarise = result == "overflow"
            release = await self._hold_cut(setup, user, "refused" if can_summarise else "failed")
            if release != "cut":
                return release == "another-summary"
            return self._fit_driver.reduce_after_refusal(
                setup, user, summaries_help=can_summarise
            ) or self._stop_by_guard(self._unfittable_stop_reason())
        if result == "asked" or (
            result == "compact" and self._fit_driver.request_summary(setup, user)
        ):
            return True
        return self._continue_after(result, is_last_step=is_last)

    def _continue_after(self, result: StepResult, *, is_last_step: bool) -> bool:
        """Return whether another step follows, and record the guard that prevents it."""
        newest_message = self._log.state.newest_message()
        assert newest_message is not None  # the answer that ends here
        finish, error = (getattr(newest_message.info, name, None) for name in ("finish", "error"))
        is_unknown = finish == "unknown" and not _has_open_tools(newest_message)
        self._unknown_step_count = self._unknown_step_count + 1 if is_unknown else 0
        self._paused_answer_count = self._paused_answer_count + 1 if finish == "paused" else 0
        is_refused = was_refused_unattended(newest_message)
        self._refused_step_count = self._refused_step_count + 1 if is_refused else 0
        if result in ("rejected", "circle"):
            return self._stop_by_guard(result)
        if self._refused_step_count >= MAX_REFUSED_STEPS:
            return self._stop_by_guard("rejected")
        if error is None and getattr(newest_message.info, "structured", None) is not None:
            return False
        if isinstance(error, ContextOverflowError):
            return self._stop_by_guard(self._unfittable_stop_reason())
        if (
            is_last_step
            and error is None
            and (self._step_count > 1 or finish in REASONS_WITH_OPEN_CALLS)
        ):
            return self._stop_by_guard("steps")
        if self._paused_answer_count >= MAX_PAUSED_ANSWERS:
            return self._stop_by_guard("steps")
        return result != "stop" and self._unknown_step_count < MAX_UNKNOWN_STEPS

    def _stop_by_guard(self, guard: str) -> bool:
        """Record which guard ended the turn; returns False, since the turn does not continue."""
        self.stopped_by = next((reason for reason in STOP_REASONS if reason == guard), None)
        return False

    def _unfittable_stop_reason(self) -> StoppedBy:
        """Return the guard that ends a turn whose request cannot be made to fit the window."""
        return "compaction" if self._has_failed_summary else "window"


def _prune_at_end(services: RequestServices, postponed: PostponedPruning, setup: StepSetup) -> None:
    """Prune where the policy prunes at the end of a turn; in step mode, with the next request."""
    if services.request_hold() is not None:
        postpone_pruning(services.log, postponed)
        return
    if postponed.last_message_id:
        prune_postponed(services.log, postponed, setup)
    prune_after_turn(services, setup)


def _ends_like_written_call(message: Message) -> bool:
    """Return whether a message's last text ends like a tool call written as text."""
    texts = [part.text for part in message.parts if isinstance(part, TextPart)]
    return bool(texts) and texts[-1].rstrip().endswith((">", "}", "]", "`"))


def newest_user(messages: Messages) -> UserMessage | None:
    """Return the newest user message."""
    infos = (message.info for message in reversed(messages))
    return next((info for info in infos if isinstance(info, UserMessage)), None)


def ends_turn(messages: Messages, user: UserMessage) -> bool:
    """Return whether the newest assistant message ends the turn of this user message."""
    for message in reversed(messages):
        if isinstance(info := message.info, AssistantMessage):
            is_final = info.error is not None or info.structured is not None
            is_finished = info.finish not in UNFINISHED_OR_PAUSED_REASONS and not _has_open_tools(
                message
            )
            return info.parent_id == user.id and (is_final or is_finished)
    return False


def pending_subtasks(state: GuardedState) -> tuple[SubtaskPart, ...]:
    """Return the subtasks of unanswered prompts that have not been started."""
    subtasks: list[SubtaskPart] = []
    started_ids: set[str] = set()
    for message in reversed(state.messages()) if state.messages_with_part("subtask") else ():
        info = message.info
        if isinstance(info, AssistantMessage) and (
            info.error is not None or info.finish not in UNFINISHED_OR_PAUSED_REASONS
        ):
            break
        for part in reversed(message.parts):
            if isinstance(part, SubtaskPart):
                subtasks.append(part)
            elif isinstance(part, ToolPart):
                started_ids.add(str(getattr(part.state, "metadata", {}).get(SUBTASK_KEY, "")))
    return tuple(part for part in reversed(subtasks) if part.id not in started_ids)


def turn_error(messages: Messages) -> ErrorValue | None:
    """Return the error that ended the newest turn; None when it did not fail."""
    user = newest_user(messages)
    newest = messages[-1].info if messages else None
    if user is None or not isinstance(newest, AssistantMessage) or newest.parent_id != user.id:
        return None
    return newest.error


def _check_model_limits(setup: StepSetup) -> None:
    """Raise where the window is too small to work in, or the provider takes fewer tools, before anything is sent."""
    if refusal := window_refusal(setup.info, setup.policy.guard):
        raise GuardStopped(refusal, "window")
    if refusal := tool_count_refusal(setup.info, len(setup.specs)):
        raise UserError(refusal)


def _has_open_tools(message: Message) -> bool:
    return any(waits_for_answer(part) for part in message.parts if isinstance(part, ToolPart))


async def run_turn_time_limit(
    abort: Abort, compaction_state: CompactionState, policy: RecoveryPolicy
) -> None:
    """Abort the turn at its time limit; the caller cancels the task when the turn ends earlier."""
    compaction_state.is_late = False
    if policy.turn_seconds is None:
        return
    await asyncio.sleep(policy.turn_seconds)
    is_extended = False
    while (
        action_at_time_limit(
            in_flight=compaction_state.in_flight,
            retrying=compaction_state.pending_retries > 0,
            extended=is_extended,
        )
        == "extend"
    ):
        is_extended = True
        await asyncio.sleep(policy.compaction_seconds)
    compaction_state.is_late = True
    abort.set(TIME_IS_UP.format(seconds=policy.turn_seconds), "interrupted")


STOP_SUBJECT = "stop"
"""Subject of the notice about a turn's end."""

STOP_NOTICES: dict[StoppedBy, str] = {
    "steps": "The turn ended at its step limit. Ask it to go on.",
    "rejected": "The turn ended here because a call was refused. Say how to go on.",
    "error": "The provider ended the answer without saying why. Ask it to go on.",
}
"""Notices for the reasons that no error and no other notice explains."""

WITHDRAWN_SUBJECT = "withdrawn"
"""Subject of the notice about withdrawn prompts."""

MAX_SHOWN_WORDS = 8
"""Number of the first words of a withdrawn prompt that are shown, so that the user recognises it."""

UNATTENDED_SENTENCE = (
    "The turn ended here: its calls need a person's permission, and nobody is here to give it. Run it with "
    "--yes, or allow the calls in the settings."
)


def write_stop_error(log: SessionLog, messages: Messages, reason: str) -> None:
    """Write an answer with an error for a turn that was stopped between requests, unless another message shows the stop."""
    newest_info = messages[-1].info if messages else None
    user = newest_user(messages)
    is_shown = isinstance(newest_info, AssistantMessage) and (
        newest_info.error is not None or newest_info.finish not in (None, "tool-calls")
    )
    if user is not None and not is_shown:
        write_refusal(log, user, AbortedError(message=reason or "Stopped."))


def journal_stop_reason(
    log: SessionLog,
    stopped_by: StoppedBy | None,
    messages: Messages,
    withdrawn_prompts: Sequence[str],
) -> StoppedBy | None:
    """Record in the last answer why the turn of these messages ended; returns the reason.

    Without ``stopped_by`` the reason is derived from the answer; a turn without an answer records none.
    ``withdrawn_prompts`` are the waiting prompts that were withdrawn with it.
    """
    answers = (message for message in reversed(messages) if message.info.role == "assistant")
    last_answer = next(answers, None)
    if last_answer is None or not isinstance(info := last_answer.info, AssistantMessage):
        return stopped_by
    reason = stopped_by or stop_reason_of(info) or "interrupted"
    events: list[Event] = []
    withdrawal = withdrawn_text(withdrawn_prompts) if withdrawn_prompts else ""
    is_refused = was_refused_unattended(last_answer)
    stop_notice = _stop_notice(info, reason, was_unattended=is_refused)
    for subject, sentence in ((STOP_SUBJECT, stop_notice), (WITHDRAWN_SUBJECT, withdrawal)):
        if sentence:
            part = user_notice(log.ids.new("prt"), info.session_id, info.id, subject, sentence)
            events.append(PartUpdated(part=part))
    if info.stopped_by != reason:
        events.append(MessageUpdated(info=info.model_copy(update={"stopped_by": reason})))
    if events:
        log.append(*events, sync=True)
    return reason


def was_refused_unattended(message: Message) -> bool:
    """Return whether every call of a step was refused because no user was present."""
    calls = [part for part in message.parts if isinstance(part, ToolPart)]
    return bool(calls) and all(
        isinstance(part.state, ToolFailed) and part.state.metadata.get(UNATTENDED) for part in calls
    )


def withdrawn_text(prompts: Sequence[str]) -> str:
    """Return the notice about prompts that waited and were not sent."""
    quotes = ", ".join(f"“{_first_words(prompt)}”" for prompt in prompts)
    if len(prompts) == 1:
        return f"A prompt that waited was withdrawn with this stop, and was not sent: {quotes}."
    return f"{len(prompts)} prompts that waited were withdrawn with this stop, and were not sent: {quotes}."


def _first_words(prompt: str) -> str:
    words = prompt.split()
    return " ".join(words[:MAX_SHOWN_WORDS]) + (" …" if len(words) > MAX_SHOWN_WORDS else "")


def _stop_notice(info: AssistantMessage, reason: StoppedBy, *, was_unattended: bool) -> str:
    """Return the notice about the turn's end; empty where the answer shows its reason."""
    if info.error is not None or info.stopped_by == reason:
        return ""
    if reason == "rejected" and was_unattended:
        return UNATTENDED_SENTENCE
    return STOP_NOTICES.get(reason, "")
