"""Run a session's turns: prompts wait in the inbox, and one turn runs at a time.

A prompt that arrives while a turn runs is journaled and awaits its own answer: *steer* is
delivered before the next request, *queue* after the turn. When the wait of a caller is cancelled, its prompt is
withdrawn, or the turn that it began is stopped. Runs on the engine's loop.
"""

import asyncio
import dataclasses
from collections import Counter, OrderedDict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from palimpsest.context.request_assembly.fit import has_history_to_summarise
from palimpsest.context.visible_messages import marker
from palimpsest.loop.context_management.compaction import SummaryOptions, write_marker
from palimpsest.loop.model_requests.engine_messages import write_refusal
from palimpsest.loop.run_inputs.compaction_state import CompactionState
from palimpsest.loop.run_inputs.run_context import RunContext
from palimpsest.loop.turn import (
    journal_stop_reason,
    newest_user,
    run_turn,
    run_turn_time_limit,
    turn_error,
    write_stop_error,
)
from palimpsest.processor.session_log import SessionLog
from palimpsest.session.engine import Run
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.prompts.answers import (
    answers_after,
    collect_answer,
    defect_error,
    files_of,
    is_shutdown_error,
    journaled_format,
    journaled_options,
    newest_turn_id,
    text_of,
    tool_switches,
)
from palimpsest.transcript.context_values.policies import RecoveryPolicy
from palimpsest.transcript.errors import (
    Aborted,
    AbortedError,
    ErrorValue,
    SessionBusy,
    UnknownError,
    UserError,
    WaitAborted,
)
from palimpsest.transcript.ids import Ids
from palimpsest.transcript.messages import (
    AssistantMessage,
    Messages,
    MessageTime,
    Origin,
    StoppedBy,
    UserMessage,
    is_summary,
    stop_reason_of,
    stop_reason_of_error,
)
from palimpsest.transcript.parts import FilePart, TextPart
from palimpsest.transcript.session_record.events import (
    MessageUpdated,
    PartUpdated,
    PromptAdmitted,
    PromptDelivered,
    SessionError,
    SessionStatus,
)
from palimpsest.transcript.session_record.sessions import Busy, Idle
from palimpsest.transcript.values import ModelRef

RUN_ACTIVE_SENTENCE = "The agent works already; wait for its answer, or stop it."
STOPPED_REASON = "Stopped."
NOTHING_SAID_SENTENCE = "Nothing was said in this session yet, so there is nothing to answer."
ANSWER_NOT_WRITTEN_SENTENCE = (
    "The answer came, and could not be written; it is lost when this kernel ends. {problem}"
)
MAX_ANSWERS_KEPT = 100
"""Number of answers kept for prompts that are sent again with the same id."""


Start = Callable[[Run], None]
"""Starts a turn without a prompt from the inbox, such as a retry or a compaction."""


@dataclass(eq=False, repr=False)
class Runner:
    """Takes prompts into the inbox, runs turns, and answers each prompt."""

    _session_id: str
    _log: SessionLog
    _ids: Ids
    _clock: Callable[[], int]
    _run_context: Callable[[Run], RunContext]
    _resolve_options: Callable[[dict[str, Any]], tuple[str, ModelRef]]
    _recovery: Callable[[], RecoveryPolicy] = RecoveryPolicy
    _on_run_end: Callable[[RunContext], None] = lambda _run_context: None
    """Called after each run without an internal error, when its prompts were answered."""
    compactions: CompactionState = field(default_factory=CompactionState)
    """Tracks compactions; callers wait for one with it."""
    _answer_futures: dict[str, asyncio.Future[Answer]] = field(default_factory=dict)
    _answer_by_key: OrderedDict[str, Answer] = field(default_factory=OrderedDict)
    _caller_counts: Counter[str] = field(default_factory=Counter)
    """How many callers await each answer."""
    _compaction_key: str = ""
    """The key of the compaction that was requested last; its marker may not be written yet."""
    _joined_futures: list[asyncio.Future[Answer]] = field(default_factory=list)
    _approved_prompt_ids: set[str] = field(default_factory=set)
    active_run: Run | None = None
    """The active run, if any."""
    _task: asyncio.Task[None] | None = None

    async def prompt(self, text: str, options: PromptOptions) -> Answer:
        """Add a prompt to the inbox and await its own answer; a repeated prompt id joins the first."""
        prompt_id = options.prompt_id or self._ids.new("pmt")
        if prompt_id in self._answer_by_key:
            return self._answer_by_key[prompt_id]
        if prompt_id not in self._answer_futures:
            stored_options = journaled_options(options)
            self._resolve_options(stored_options)
            self._create_future(prompt_id)
            if options.yes:
                self._approved_prompt_ids.add(prompt_id)
            self._log.append(
                PromptAdmitted(
                    prompt_id=prompt_id,
                    text=text,
                    delivery=options.delivery,
                    origin=options.origin,
                    options=stored_options,
                ),
                sync=True,
            )
            if not self.is_busy:
                self._start_task(self._run_prompts())
        return await self._wait_for_answer(prompt_id)

    async def loop(self) -> Answer:
        """Await the end of the run and return its final answer; start a run where none is active.

        All callers that join get the same answer. A run that is started answers what was left: the newest message, if
        it has no answer yet, and the prompts that wait. Raises UserError when the session has neither.
        """
        starts_run = not self.is_busy
        if starts_run:
            if newest_user(self._log.state.messages()) is not None:
                self._start_task(self._run_prompts(lambda _run: None))
            elif self._log.state.inbox:
                self._start_task(self._run_prompts())
            else:
                raise UserError(NOTHING_SAID_SENTENCE)
        future: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._joined_futures.append(future)
        try:
            return await asyncio.shield(future)
        except asyncio.CancelledError:
            if future in self._joined_futures:
                self._joined_futures.remove(future)
                if starts_run and not self._joined_futures:
                    self._stop_unawaited()
            raise

    @property
    def is_busy(self) -> bool:
        """Whether a run is active."""
        return self._task is not None and not self._task.done()

    def check_idle(self) -> None:
        """Raise SessionBusy while a run is active."""
        if self.is_busy:
            raise SessionBusy(RUN_ACTIVE_SENTENCE)

    def _start_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self._task = asyncio.get_running_loop().create_task(coroutine)

    def _create_future(self, key: str) -> None:
        """Create the future of an answer, which ``_set_answer`` resolves."""
        self._answer_futures[key] = asyncio.get_running_loop().create_future()

    async def _wait_for_answer(self, key: str) -> Answer:
        """Await an answer; a cancelled wait withdraws its prompt, unless other callers await the same answer."""
        self._caller_counts[key] += 1
        try:
            return await asyncio.shield(self._answer_futures[key])
        except asyncio.CancelledError:
            is_only_caller = self._caller_counts[key] == 1 and key in self._answer_futures
            if is_only_caller and not self._is_kernel_ending:
                self._withdraw_or_stop(key)
            raise
        finally:
            self._caller_counts[key] -= 1
            if not self._caller_counts[key]:
                del self._caller_counts[key]

    @property
    def _is_kernel_ending(self) -> bool:
        """Whether the kernel ends, which cancels the run and all waits for it."""
        return self._task is not None and self._task.cancelling() > 0

    def _withdraw_or_stop(self, key: str) -> None:
        """Withdraw a prompt that waits, or stop the turn that it began; a turn that it only joined continues."""
        run = self.active_run
        if self.withdraw(key) or run is None:
            return
        if next(iter(run.message_id_by_prompt_id), None) == key:
            run.abort.set(STOPPED_REASON)

    def _stop_unawaited(self) -> None:
        """Stop a run that nobody awaits."""
        run = self.active_run
        if run is None or self._is_kernel_ending:
            return
        if self._answer_futures.keys().isdisjoint(run.message_id_by_prompt_id):
            run.abort.set(STOPPED_REASON)

    async def wait_stopped(self, seconds: float) -> None:
        """Wait at most ``seconds`` until a stopped run has ended; return at once where none was stopped."""
        run, task = self.active_run, self._task
        if task is None or (run is not None and not run.abort.is_set()):
            return
        awaited_futures: set[asyncio.Future[Any]] = {task}
        if run is not None and self._log.state.inbox:  # other prompts follow it
            unanswered_keys = self._answer_futures.keys() & run.message_id_by_prompt_id
            awaited_futures = {self._answer_futures[key] for key in unanswered_keys}
        if awaited_futures:
            await asyncio.wait(awaited_futures, timeout=seconds)

    async def retry(self) -> Answer:
        """Send the request that failed again, and await the answer of its turn.

        The newest user message is answered again; it is not repeated, and the steps of its turn before the
        failure are kept. Raises UserError when there is nothing to try again.
        """
        self.check_idle()
        messages = self._log.state.messages()
        error = turn_error(messages)
        newest_info = messages[-1].info if messages else None
        if error is None or not isinstance(newest_info, AssistantMessage):
            raise UserError("There is nothing to try again: the newest turn did not fail.")
        if isinstance(error, AbortedError):
            raise UserError("The newest turn was stopped and did not fail; say how to go on.")
        key = self._ids.new("pmt")
        self._create_future(key)
        prompt_message_id = newest_info.parent_id

        def start(run: Run) -> None:
            run.message_id_by_prompt_id[key] = prompt_message_id

        self._start_task(self._run_prompts(start, continues=True))
        return await self._wait_for_answer(key)

    def cancel(self, reason: str, stopped_by: StoppedBy = "cancelled") -> bool:
        """Stop the run and withdraw the prompts that wait; returns whether there was anything."""
        waiting_prompts = self._log.state.inbox
        for prompt_id in waiting_prompts:
            self.withdraw(prompt_id, stopped=True)
        if self.active_run is not None:
            texts = [prompt.text for prompt in waiting_prompts.values()]
            self.active_run.withdrawn_prompt_texts += texts
            self.active_run.abort.set(reason, stopped_by)
        return bool(waiting_prompts) or self.active_run is not None

    def withdraw(
        self, prompt_id: str, error: ErrorValue | None = None, *, stopped: bool | None = None
    ) -> bool:
        """Remove a waiting prompt from the inbox, and answer it with an error."""
        if prompt_id not in self._log.state.inbox:
            return False
        self._log.append(PromptDelivered(prompt_id=prompt_id, stopped=stopped))
        self._approved_prompt_ids.discard(prompt_id)
        answer = Answer(self._session_id, "", error=error or AbortedError(), stopped_by="withdrawn")
        self._set_answer(prompt_id, answer)
        return True

    async def wait_idle(self) -> None:
        """Wait until no run is active."""
        if self._task is not None:
            await asyncio.wait({self._task})

    async def compact(self, options: SummaryOptions, origin: Origin) -> Answer:
        """Compact the session now, and await the summary; joins a compaction that runs or was just requested.

        Raises SessionBusy while a turn runs, and UserError when there is nothing to summarise.
        """
        if self._compaction_key in self._answer_futures:
            return await self._wait_for_answer(self._compaction_key)
        if self.compactions.in_flight:
            return await self._join_compaction()
        self.check_idle()
        messages = self._log.state.messages()
        user = newest_user(messages)
        if user is None or not has_history_to_summarise(messages):
            raise UserError("There is nothing to summarise yet: the agent has not answered.")
        key = self._compaction_key = self._ids.new("pmt")
        self._create_future(key)

        def start(run: Run) -> None:
            marker_message = write_marker(
                self._log, user, auto=False, options=options, origin=origin
            )
            run.message_id_by_prompt_id[key] = marker_message.id

        self._start_task(self._run_prompts(start))
        return await self._wait_for_answer(key)

    async def wait_compaction(self) -> bool:
        """Wait until no compaction runs and the answer that it interrupted was requested again.

        Returns False when that takes longer than the policy waits. Raises WaitAborted where the
        session is closed, before or meanwhile.
        """
        try:
            return await self.compactions.wait_for_compaction(self._recovery().wait_seconds)
        except Aborted as error:
            raise WaitAborted(str(error)) from None

    async def _join_compaction(self) -> Answer:
        """Await the compaction that runs, and return its summary as the answer."""
        run = Run()
        run.first_seq = self._log.state.seq
        marker_message = next(filter(marker, reversed(self._log.state.messages())))
        problem: ErrorValue | None = None
        try:
            await self.compactions.wait_until_ended()
        except Aborted as error:
            problem = AbortedError(message=str(error))
        answer = self._collect_answer(run, marker_message.id, problem)
        summary = tuple(message for message in answer.messages if is_summary(message))[:1]
        if not summary or not isinstance(summary[0].info, AssistantMessage):
            return answer
        info = summary[0].info
        return dataclasses.replace(
            answer,
            messages=summary,
            text=text_of(summary),
            usage=info.tokens,
            cost=info.cost,
            steps=1,
            error=problem or info.error,
            stopped_by=stop_reason_of(info) or "error",
        )

    def _answer_joined(self) -> None:
        """Give the final answer of the run to all callers that joined it."""
        joined_futures, self._joined_futures = self._joined_futures, []
        if not joined_futures:
            return
        answer = self._collect_answer(Run(), newest_turn_id(self._log.state.messages()), None)
        for future in joined_futures:
            if not future.done():
                future.set_result(answer)

    async def _run_prompts(self, start: Start | None = None, *, continues: bool = False) -> None:
        try:
            self._log.append(SessionStatus(status=Busy()))
            if start is not None:
                await self._run_turn(start, continues=continues)
            while self._log.state.inbox:
                await self._run_turn()
        except Exception as error:  # noqa: BLE001  callers that wait must get an answer, whatever failed
            problem = defect_error(error)
            stopped_by = stop_reason_of_error(problem)
            answer = Answer(self._session_id, "", error=problem, stopped_by=stopped_by)
            for prompt_id in list(self._answer_futures):
                self._set_answer(prompt_id, answer)
        finally:
            try:
                self._log.append(SessionStatus(status=Idle()), sync=True)
            finally:
                self._answer_joined()

    async def _run_turn(self, start: Start | None = None, *, continues: bool = False) -> None:
        """Run what ``start`` starts, else the oldest waiting prompt; ``continues`` retries a turn that failed."""
        run = self.active_run = Run()
        run.first_seq = self._log.state.seq + 1
        problem: ErrorValue | None = None
        run_context: RunContext | None = None
        time_limit_task = asyncio.get_running_loop().create_task(
            run_turn_time_limit(run.abort, self.compactions, self._recovery())
        )
        try:
            run_context = self._run_context(run)
            if start is None:
                self._deliver_prompt(run, next(iter(self._log.state.inbox.values())))
            else:
                start(run)
            if start is not None or run.message_id_by_prompt_id:
                self._journal_end(run, await run_turn(run_context, continues=continues))
        except asyncio.CancelledError:
            run.abort.set("The kernel ends.", "interrupted")
            problem = AbortedError(message="The kernel ends.")
            raise
        except Exception as error:  # noqa: BLE001  one broken turn must not end the session
            problem = defect_error(error)
            if not is_shutdown_error(error):
                # Otherwise nothing is journaled: the next kernel reports that this one ended before the answer.
                self._journal_defect(run, problem, has_begun=run_context is not None)
            if start is None and not run.message_id_by_prompt_id:
                self.withdraw(next(iter(self._log.state.inbox), ""), problem)
        finally:
            time_limit_task.cancel()
            self.active_run = None
            self.compactions.note_turn_end()
            write_problem = await self._log.wait_until_written()
            for prompt_id, message_id in run.message_id_by_prompt_id.items():
                answer = self._collect_answer(run, message_id, problem)
                if write_problem:
                    answer = _answer_not_written(answer, write_problem)
                self._set_answer(prompt_id, answer)
        if run_context is not None and problem is None and not self._is_compaction(run):
            self._on_run_end(run_context)

    def _is_compaction(self, run: Run) -> bool:
        """Return whether a run only wrote a summary that was requested."""
        messages = map(self._log.state.message, run.message_id_by_prompt_id.values())
        return any(message is not None and marker(message) is not None for message in messages)

    def _journal_end(self, run: Run, guard_reason: StoppedBy | None) -> None:
        """Journal why the turn ended: the reason of the abort, unless the turn had ended before.

        A turn that was stopped before it was answered gets an answer with that error; waiting prompts that
        were withdrawn are journaled with it.
        """
        answers = self._answers_of_turn(run)
        stopped_by = guard_reason
        if run.abort.is_set() and stopped_by is None:
            # A summary answers no prompt: the synthetic message after it still waits for an answer.
            messages = self._log.state.messages()
            awaits_answer = bool(messages) and isinstance(messages[-1].info, UserMessage)
            info = answers[-1].info if answers and not awaits_answer else None
            reason = stop_reason_of(info) if isinstance(info, AssistantMessage) else None
            stopped_by = run.abort.stopped_by if reason in (None, "cancelled") else reason
        if run.abort.is_set() and stopped_by == run.abort.stopped_by:
            write_stop_error(self._log, self._log.state.messages(), run.abort.reason)
            answers = self._answers_of_turn(run)
        if answers:
            journal_stop_reason(
                self._log, stopped_by, answers, withdrawn_prompts=run.withdrawn_prompt_texts
            )

    def _answers_of_turn(self, run: Run) -> Messages:
        """Return the answers of the turn so far."""
        first_message_id = next(iter(run.message_id_by_prompt_id.values()), "")
        return answers_after(self._log.state.messages(), first_message_id)

    def _journal_defect(self, run: Run, problem: ErrorValue, *, has_begun: bool) -> None:
        """Write an internal error as the answer to the newest message, where it is read."""
        user = newest_user(self._log.state.messages())
        if user is None or not has_begun:
            self._log.append(SessionError(error=problem))
        else:
            write_refusal(self._log, user, problem)
        if has_begun:
            self._journal_end(run, "error")

    def deliver_steers(self, run: Run) -> bool:
        """Turn steered prompts into messages; called by the loop before each request."""
        steer_prompts = [p for p in self._log.state.inbox.values() if p.delivery == "steer"]
        for prompt in steer_prompts:
            self._deliver_prompt(run, prompt)
        return bool(steer_prompts)

    def _deliver_prompt(self, run: Run, prompt: PromptAdmitted) -> None:
        try:
            agent, model = self._resolve_options(prompt.options)
        except UserError as problem:
            # Its agent or model was removed after it was sent, so it would wait for ever.
            error = UnknownError(message=str(problem), explained=True)
            self._log.append(SessionError(error=error))
            self.withdraw(prompt.prompt_id, error)
            return
        message = UserMessage(
            id=self._ids.new("msg"),
            session_id=self._session_id,
            time=MessageTime(created=self._clock()),
            agent=agent,
            model=model,
            system=prompt.options.get("system"),
            tools=tool_switches(prompt.options.get("tools")),
            format=journaled_format(prompt.options) or self._format_of_turn(run),
            origin=prompt.origin,
            max_steps=prompt.options.get("max_steps"),
            joins=True if run.message_id_by_prompt_id else None,
        )
        new_ids = partial(self._ids.part, self._session_id, message.id)
        part = TextPart(**new_ids(), text=prompt.text)
        files = [FilePart(**new_ids(), **file.model_dump()) for file in files_of(prompt.options)]
        run.message_id_by_prompt_id[prompt.prompt_id] = message.id
        run.yes = run.yes or prompt.prompt_id in self._approved_prompt_ids
        self._approved_prompt_ids.discard(prompt.prompt_id)
        self._log.append(
            PromptDelivered(prompt_id=prompt.prompt_id, message_id=message.id),
            MessageUpdated(info=message),
            PartUpdated(part=part),
            *(PartUpdated(part=file) for file in files),
            sync=True,
        )

    def _format_of_turn(self, run: Run) -> dict[str, Any] | None:
        """Return the format of the turn's structured answer, which a prompt that joins the turn keeps."""
        first_message = self._log.state.message(
            next(iter(run.message_id_by_prompt_id.values()), "")
        )
        info = first_message.info if first_message is not None else None
        return info.format if isinstance(info, UserMessage) else None

    def _set_answer(self, key: str, answer: Answer) -> None:
        future = self._answer_futures.pop(key, None)
        if future is not None and not future.done():
            self._answer_by_key[key] = answer
            while len(self._answer_by_key) > MAX_ANSWERS_KEPT:
                self._answer_by_key.popitem(last=False)
            future.set_result(answer)

    def _collect_answer(self, run: Run, message_id: str, problem: ErrorValue | None) -> Answer:
        state = self._log.state
        messages = state.messages()
        if problem is None and run.abort.is_set() and not answers_after(messages, message_id):
            problem = AbortedError(message=run.abort.reason)
        answer = collect_answer(self._session_id, messages, message_id, problem)
        return dataclasses.replace(answer, seq=(run.first_seq, state.seq))


def _answer_not_written(answer: Answer, problem: str) -> Answer:
    """Return an answer that could not be written, with an error about that."""
    if answer.error is not None:
        return answer
    error = UnknownError(
        message=ANSWER_NOT_WRITTEN_SENTENCE.format(problem=problem), explained=True
    )
    return dataclasses.replace(answer, error=error, stopped_by="error")
