"""A session that this kernel writes, with the operations that front ends call.

``FollowedSession`` is the counterpart for a session that another kernel writes.
"""

import asyncio
import contextlib
import dataclasses
import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

from palimpsest.context.policy_overrides import policy_choice
from palimpsest.context.request_kinds.request_inputs import RequestInputs
from palimpsest.loop.context_management.compaction import SummaryOptions
from palimpsest.loop.run_inputs.policy_stage import PolicyStage
from palimpsest.loop.run_inputs.request_cache import RequestCache
from palimpsest.loop.run_inputs.request_hold import PostponedPruning
from palimpsest.loop.run_inputs.run_context import (
    RequestServices,
    RunContext,
    StepSetup,
    TurnServices,
)
from palimpsest.loop.turn import newest_user
from palimpsest.processor.session_log import SessionLog
from palimpsest.processor.tool_call_runner import RunTools
from palimpsest.session.config.context_policy import ConfiguredPolicy
from palimpsest.session.controls.context_edit_journal import journal_context_edit
from palimpsest.session.controls.context_edits import ContextEdit, ContextEditAction
from palimpsest.session.controls.own_policy import (
    ends_own_policy,
    own_policy_events,
    split_policies,
)
from palimpsest.session.controls.session_controls import SessionControls
from palimpsest.session.controls.spending_limit import SpendingLimit
from palimpsest.session.controls.step_mode import STEP_MODE_KEY, StepMode
from palimpsest.session.controls.user_questions import JournaledTodos, UserQuestions
from palimpsest.session.engine import CLOSED_SENTENCE, Run, Snapshot, call_off_loop, runs_on
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions, TurnToRetry
from palimpsest.session.interfaces.services import Services
from palimpsest.session.open_sessions.picture_preview import preview_picture
from palimpsest.session.permissions.asks import Asks
from palimpsest.session.permissions.grants import MOVED_KEY
from palimpsest.session.permissions.withheld_claims import with_granted_rights
from palimpsest.session.prompts.answers import journaled_options
from palimpsest.session.prompts.mention_previews import MentionPreviews
from palimpsest.session.prompts.pasted_files import PastedFile, pasted_file
from palimpsest.session.prompts.prompt_checks import check_prompt, refuse_in_recording
from palimpsest.session.prompts.prompt_expansion import Expander
from palimpsest.session.prompts.prompt_syntax import mentioned_cells
from palimpsest.session.prompts.repeated_prompt import repeated_prompt
from palimpsest.session.records.message_pages import message_page
from palimpsest.session.records.recall_archive import SessionArchive
from palimpsest.session.records.request_numbers import REQUEST_EVENTS, numbered_requests
from palimpsest.session.revert.cell_reviews import CellReviews
from palimpsest.session.revert.operations import live_reverts
from palimpsest.session.revert.session_cells import SessionCells
from palimpsest.session.runs.left_running_calls import LeftRunningCalls
from palimpsest.session.runs.runner import Runner
from palimpsest.session.runs.title_writer import TitleWriter
from palimpsest.session.runs.tool_gate import ToolGate
from palimpsest.session.runs.turn_summaries import TurnSummaries
from palimpsest.session.sharing.sharing_service import AutoShare
from palimpsest.session.turn_setup.prompt_resolver import PromptResolver
from palimpsest.store.blobs.blob_storage import keep_attachment
from palimpsest.store.log.journal import Journal
from palimpsest.store.session_state.state import State
from palimpsest.tools.tool import Abort
from palimpsest.tools.workflow.question import Interview
from palimpsest.transcript.context_values.cell_changes import CellReview
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.context_values.policies import Policy
from palimpsest.transcript.context_values.proposed_request import ProposedRequest
from palimpsest.transcript.errors import Aborted, ConfigError, StorageFailed, UserError
from palimpsest.transcript.messages import MessagePath, Messages, Origin, UserMessage
from palimpsest.transcript.parts import Attachment
from palimpsest.transcript.session_record.events import (
    Event,
    MessageUpdated,
    Record,
    SessionDeleted,
    SessionUpdated,
)
from palimpsest.transcript.session_record.sessions import Budget, standing_revert
from palimpsest.transcript.values import CellDecision, ModelInfo

T = TypeVar("T")

UNWRITTEN_SENTENCE = "The disk did not take what was written; it is in memory, and tried again."
MAX_LOOP_WAIT_SECONDS = 5.0
"""Maximum time that another thread waits for a call on the engine's loop."""
PRUNES_UNTIL_KEY = "prunes-until"
"""Key of the grants under which the end of a postponed pruning is kept."""
GONE_SENTENCE = (
    "{why}, so nothing was sent. Put it back and ask again, or begin a new session: %agent --new, New session in the "
    "panel, palimpsest.new_session() in Python. What was said so far stays readable in this kernel until it ends."
)
CHILD_SESSION_SENTENCE = (
    "This is the session of a task, and the agent that began it talks to it. Ask in session {parent}, or fork "
    "this one to go on from here."
)
NOT_SENT_SENTENCE = (
    "Nothing was sent to the model, since your prompt could not be written. {problem}"
)


class LiveSession:
    """A session that this kernel writes: builds the context of a run, and serves front ends from any thread."""

    def __init__(
        self, services: Services, journal: Journal, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._services = services
        self._configured_policy = ConfiguredPolicy(
            services.rules.policy, services.rules.policy_fixed
        )
        self._loop = loop
        self.journal = journal
        session = journal.state.session
        if session is None:
            raise ValueError("A live session needs its session record first.")
        self._id_when_opened = session.id
        self.read_only = session.is_child
        """Whether it is a child session: only its parent's agent sends prompts here; others are refused with a sentence."""
        self.density = services.sessions.density
        """How much of a turn is shown, by the settings."""
        self.log = SessionLog(
            journal,
            blobs=services.store,
            ids=services.ids,
            clock=services.clock,
            path=MessagePath(cwd=str(services.cwd), root=str(services.root)),
            clean=services.secrets.clean,
        )
        effective_rules = services.rules.effective_rules
        self._read_session_info = effective_rules.open_sessions[session.id] = lambda: (
            self.log.state.session
        )
        self.archive = SessionArchive(self.journal, services.store)
        self.asks = Asks(session.id, self.log, effective_rules)
        spending_limits = services.sessions.spending_limits
        self.spending_limit = SpendingLimit(
            effective_rules, self.log, self.asks, lambda: spending_limits.get(self._parent_id)
        )
        self.control = SessionControls(
            effective_rules,
            services.rules.base_rules,
            self.log,
            self.asks,
            self.spending_limit,
            self._call_on_loop,
        )
        spending_limits[session.id] = self.spending_limit
        self._step_mode: StepMode | None = None
        services.sessions.step_modes[session.id] = lambda: self.step_mode
        self._tool_gate = ToolGate(services, self.log, self.asks)
        self.user_questions = UserQuestions(self.log)
        self.interview: Interview = self.user_questions
        """Asks the user the model's questions; a task's session asks them in its parent session."""
        self._todos = JournaledTodos(self.log)
        self._prompt_resolver = PromptResolver(services, journal, self.log, self._configured_policy)
        self.runner = Runner(
            session.id,
            self.log,
            services.ids,
            services.clock,
            self._run_context,
            self._prompt_resolver.accept_options,
            self._prompt_resolver.recovery,
            self._request_turn_summary,
        )
        self._left_running = LeftRunningCalls(journal) if services.kernel.python else None
        self.title_writer = TitleWriter(services, self.log)
        cells = SessionCells(services, lambda: self.id, self._notebook_file)
        self.reverts = live_reverts(
            services,
            journal,
            self.log,
            lambda: self.runner.is_busy,
            self._protected_notebook,
            cells,
        )
        self.cell_reviews = CellReviews(self.log, cells)
        self.auto_share = AutoShare(services, journal, self.log, loop)
        self.turn_summaries = TurnSummaries(
            services, self.log, self.spending_limit.is_affordable, self.auto_share.refresh
        )
        self.policy_stage: PolicyStage | None = None
        """The user's own policy, which acts before the context policy."""
        self._expander = Expander(services, self._tool_gate.record_input)
        self.mentions = MentionPreviews(
            services,
            self._expander,
            self._tool_gate.verdict_function,
            session.id,
            lambda: self.log.state.messages(),
        )
        self._request_cache = RequestCache()
        prunes_until = effective_rules.grants.newest_value(session.id, PRUNES_UNTIL_KEY)
        self._postponed_pruning = PostponedPruning(prunes_until or "", self._store_pruning_end)
        self.opening_notice = ""
        """A notice for the user when the session is opened: code that ran when a kernel ended, withheld claims of its
        log, and changes of its notebook; empty once a cell or a prompt from the panel has taken it."""
        self.reply = self.asks.reply
        self.subscribe = journal.subscribe
        self.wait_compaction = self.runner.wait_compaction
        self.wait_stopped = self.runner.wait_stopped
        journal.on_moved = self._stop_moved

    @property
    def id(self) -> str:
        """The session's id; a fork's after another kernel took the session over."""
        return self.journal.session_id

    # Called by front ends

    @property
    def step_mode(self) -> StepMode:
        """Holds the session's requests until the user releases them; made when it is first used."""
        if self._step_mode is None:
            grants = self._services.rules.effective_rules.grants
            self._step_mode = StepMode(
                lambda: self.id, self, grants, self.journal.subscribe, self._parent_step_mode
            )
        return self._step_mode

    def take_opening_notice(self) -> str:
        """Return the notice about the session's opening; empty after the first call."""
        sentence, self.opening_notice = self.opening_notice, ""
        return sentence

    async def prompt(self, text: str, options: PromptOptions) -> Answer:
        """Send a prompt and await its own answer; raises UserError before anything was done.

        A cancelled wait withdraws the prompt, or stops the turn that it began, as in ``retry``, ``loop`` and
        ``compact``. A turn that another caller began, or still awaits, goes on.
        """
        self._refuse_prompt(text, options)
        options = self._expander.options(text, options)
        await self._prompt_resolver.find_tools(options.tools)
        await self.settle_reverts()
        if options.files:
            stored = await call_off_loop(functools.partial(self._stored_attachments, options.files))
            options = dataclasses.replace(options, files=stored)
        await self.journal.keep_narrow()
        self.title_writer.set_provisional_title(text)
        if self._services.user and options.origin.user is None:
            origin = options.origin.model_copy(update={"user": self._services.user})
            options = dataclasses.replace(options, origin=origin)
        return await self.runner.prompt(text, options)

    async def attach(self, file: Attachment, model: str | None = None) -> PastedFile:
        """Store a file for the next prompt and count its tokens; raises UserError if it cannot be attached."""
        return await call_off_loop(functools.partial(pasted_file, self._services, file, model))

    def _refuse_prompt(self, text: str, options: PromptOptions) -> None:
        """Raise UserError for a prompt that cannot be sent here."""
        check_prompt(text, options)
        session = self.log.state.session
        refuse_in_recording(session)
        if session and session.is_child and options.origin.kind in ("cell", "panel"):
            raise UserError(CHILD_SESSION_SENTENCE.format(parent=session.parent_id))
        self._refuse_without_log()

    def _stored_attachments(self, files: tuple[Attachment, ...]) -> tuple[Attachment, ...]:
        """Return files as they are journaled: long content is stored as a blob."""
        store = self._services.store
        return tuple(
            file.model_copy(update={"url": keep_attachment(store, file.url)}) for file in files
        )

    def _refuse_without_log(self) -> None:
        """Raise StorageFailed where the project's folder was removed, renamed or replaced since the session was opened."""
        if why := self.journal.missing_reason():
            raise StorageFailed(GONE_SENTENCE.format(why=why))

    async def settle_reverts(self) -> None:
        """Make a revert final before the session is continued; one that processes files is waited for."""
        if self.reverts.lock.locked() or standing_revert(self.log.state.session) is not None:
            await self.reverts.make_final()

    async def _prepare_prompt(self) -> None:
        """Raise UserError where no prompt can be sent; else make a revert final."""
        refuse_in_recording(self.log.state.session)
        self._refuse_without_log()
        await self.settle_reverts()

    async def retry(
        self, retried: TurnToRetry | None = None, origin: Origin | None = None
    ) -> Answer:
        """Send the newest turn's failed request again, and await its answer; raises UserError when none failed.

        The user's message is not repeated, and what the turn did before is kept. Questions are asked again, even if
        the prompt came with ``--yes``. With ``retried``, that turn and all later ones are reverted instead, and its prompt
        is sent again; every check that can fail comes before the revert.
        """
        if retried is None:
            await self._prepare_prompt()
            return await self.runner.retry()
        self.runner.check_idle()
        prompt, is_reverted = await self.reverts.prompt_of(retried.target)
        text, options = repeated_prompt(prompt, retried.model)
        options = dataclasses.replace(options, origin=origin or Origin())
        self._refuse_prompt(text, options)
        resolver = self._prompt_resolver
        resolver.refuse_unchosen(options.agent or "", None if retried.model else prompt.info.model)
        resolver.resolve(journaled_options(options))
        if retried.mode is not None:
            await asyncio.to_thread(self.control.use_mode, retried.mode)
        if not is_reverted:
            await self.reverts.revert(prompt.id, retried.overwrite)
        return await self.prompt(text, options)

    async def loop(self) -> Answer:
        """Await the end of the run and its final answer; all callers that join get the same one.

        Where none runs, one is started for what was left: a message without an answer, and prompts that wait.
        Raises UserError when the session has neither messages nor prompts.
        """
        await self._prepare_prompt()
        return await self.runner.loop()

    async def compact(
        self,
        focus: str | None = None,
        origin: Origin | None = None,
        *,
        model: str | None = None,
        auto: bool = False,
    ) -> Answer:
        """Compact the session and await the summary; joins a compaction that runs.

        ``model`` writes this one summary; with ``auto`` the turn continues after it, and its answer is awaited too.
        Raises UserError when there is nothing to summarise, or a turn runs that does not compact, and ConfigError
        for an unknown model.
        """
        refuse_in_recording(self.log.state.session)
        self._refuse_without_log()
        summary_model = (
            self._prompt_resolver.accept_summariser(model) if model is not None else None
        )
        await self.settle_reverts()
        options = SummaryOptions(focus, summary_model, goes_on=auto)
        return await self.runner.compact(options, origin or Origin())

    def edit_context(self, action: ContextEditAction, name: str = "") -> ContextEdit:
        """Pin, exclude or restore a part or message by name, from the next request on; ``undo`` undoes the newest compaction.

        May be called while a turn runs, from any thread. Raises UserError when it cannot be done.
        """
        edit = self._call_on_loop(self._journal_context_edit, action, name)
        if edit is None:
            # The edit is about messages before the live window, which are only in the log.
            self._load_whole()
            edit = self._call_on_loop(self._journal_context_edit, action, name)
        if edit is None:
            raise StorageFailed("The session cannot be read whole now; try again.")
        return edit

    def _load_whole(self) -> None:
        self.journal.load_whole(lambda: self._services.store.load(self.id))

    def _journal_context_edit(self, action: ContextEditAction, name: str) -> ContextEdit | None:
        count = self._services.models.count(self.policy().estimator)
        new_id = functools.partial(self._services.ids.new, "dec")
        return journal_context_edit(self.journal, new_id, count, action, name)

    def open_cell_changes(self) -> CellReview:
        """Return the changes of cells that nobody looked at yet, oldest first."""
        return self.cell_reviews.open_changes()

    async def review_cells(self, decisions: Mapping[str, Sequence[CellDecision]]) -> CellReview:
        """Accept changes of cells, or take them back in the notebook, by the ids of their calls; returns them as they are now."""
        return await self.cell_reviews.review(decisions)

    def cancel(self, reason: str = "Stopped.") -> bool:
        """Stop the running turn and withdraw the prompts in the inbox; returns whether there was anything."""
        run = self.runner.active_run
        if run is not None:
            # At once, from any thread: a blocking tool must not have to wait for the engine.
            run.abort.set(reason)
        return bool(self._call_on_loop(self.runner.cancel, reason)) or run is not None

    def answer(self, question_id: str, answers: Sequence[Sequence[str]] | None) -> bool:
        """Answer the model's questions: for each, the labels chosen or the user's own text; None declines.

        The first answer counts, and False means it was answered already. Raises UserError when the answers do not
        match the questions.
        """
        if answers is None:
            return self.user_questions.decline(question_id)
        return self.user_questions.answer(question_id, answers)

    def nobody_answers(self, question_id: str) -> bool:
        """Decline a question of the model because no user is present."""
        return self.user_questions.decline(question_id, "headless")

    def picture(self, url: str) -> str:
        """Return a picture of the session, scaled for a page, as a ``data:`` URL."""
        messages = self.journal.read_state(lambda state: state.messages())
        return preview_picture(messages, self._services.store.get_blob, url)

    def withdraw(self, prompt_id: str) -> bool:
        """Withdraw a prompt that waits in the inbox."""
        return bool(self._call_on_loop(self.runner.withdraw, prompt_id))

    def policy(self) -> Policy:
        """Return the context policy from the next request on."""
        return self._prompt_resolver.policy()

    @property
    def own_policy_acts(self) -> bool:
        """Whether a policy of the user's own acts in this kernel."""
        return self.policy_stage is not None

    async def use_policy(self, *arguments: Any) -> Policy:
        """Choose the context policy of this session, from the next request on; returns it.

        Each argument is a policy, the name of a preset, ``name=value`` for one value, ``default``, or a policy of the
        user's own, which acts before the other. Raises ConfigError for an invalid one.
        """
        stage, changes = split_policies(self._services.rules.policy_stage, arguments)
        if stage is not None or ends_own_policy(changes):
            self._use_own_policy(stage)
        session = self.log.state.session
        if session is not None and changes:
            model_before = self.policy().compact.model
            policy = self._configured_policy.changed_policy(session, changes)
            choice = policy_choice(policy) if policy is not None else None
            self.log.change_session(policy_choice=choice, policy=None)
            if policy is not None and policy.compact.model not in (None, model_before):
                with contextlib.suppress(ConfigError):  # reported when it is needed
                    model_info = self._services.models.info(policy.compact.model, None)
                    self._services.rules.effective_rules.record_choice(
                        self._services.agents.default_agent, model_info.ref
                    )
        return self.policy()

    def _use_own_policy(self, stage: PolicyStage | None) -> None:
        self.policy_stage = stage
        session, decisions = self.log.state.session, self.log.state.decisions
        if session is not None:
            new_id = functools.partial(self._services.ids.new, "dec")
            self.log.append(*own_policy_events(stage, session, decisions, new_id))

    def answer_with(self, model: str) -> None:
        """Choose another model for the newest prompt and all later ones; raises ConfigError."""
        self._call_on_loop(self._answer_with, model)

    def _answer_with(self, model: str) -> None:
        _, ref = self._prompt_resolver.accept_options({"model": model})
        user = newest_user(self.log.state.messages())
        self.log.change_session(model=ref)
        if user is not None:
            self.log.append(MessageUpdated(info=user.model_copy(update={"model": ref})), sync=True)

    async def record(self, change: Callable[[State], Sequence[Event]]) -> None:
        """Append the events that ``change`` returns for the whole state; raises SessionBusy while a turn runs."""
        self.runner.check_idle()
        if self.journal.read_state(lambda state: state.is_partial):
            await call_off_loop(self._load_whole)
            self.runner.check_idle()
        self.journal.append(*self.journal.read_state(change), sync=True)
        if not await self.journal.flush(sync=True):
            raise StorageFailed(self.journal.failure or UNWRITTEN_SENTENCE)

    def on_problem(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back, on any thread, when a write hangs and when it continues, and when a held request changes."""
        end_stall = self.journal.stall.on_change(callback)
        end_steps = self.step_mode.listen(callback)

        def unsubscribe() -> None:
            end_stall()
            end_steps()

        return unsubscribe

    @property
    def budget(self) -> Budget:
        """The spending limit that applies."""
        return self.spending_limit.budget

    @property
    def stepping(self) -> bool:
        """Whether step mode holds its requests."""
        return self._active_step_mode() is not None

    @property
    def held(self) -> tuple[ProposedRequest, ...]:
        """The requests that step mode holds, as they would be sent now."""
        return self._step_mode.held if self._step_mode is not None else ()

    def snapshot(self, *, messages: bool = True) -> Snapshot:
        """Return an immutable snapshot of the newest state; without messages if ``messages`` is False."""
        snapshot = self.journal.read_state(
            lambda state: Snapshot.of_state(state, messages=messages)
        )
        problem = self.journal.problem
        return dataclasses.replace(snapshot, problem=problem) if problem else snapshot

    def message_page(self, count: int, before_id: str = "") -> Messages:
        """Return ``count`` messages before ``before_id``, or the newest, in order; raises NotFound for an unknown id."""
        return message_page(
            self._services.store,
            self.id,
            self.journal.read_state,
            count,
            before_id,
            flush=self.journal.flush_sync,
        )

    def decisions(self) -> tuple[Decision, ...]:
        """Return the context decisions so far, in order."""
        return self.journal.read_state(lambda state: state.decisions)

    def basis(self) -> RequestInputs:
        """Return the inputs from which the next request would be made; nothing is sent or written."""
        return self._prompt_resolver.next_inputs(is_running=self.runner.active_run is not None)

    def records_after(self, seq: int, event_types: Collection[str] = ()) -> Sequence[Record]:
        """Return the records after a sequence number, of some types or of all."""
        return tuple(self._services.store.read(self.id, after=seq, only=event_types))

    async def close(
        self, reason: str = "The session is closed.", *, is_deleted: bool = False
    ) -> None:
        """Stop what runs, write a checkpoint and release the lease.

        ``reason`` is the error of an answer that is cut off; with ``is_deleted``, the deletion is journaled first.
        """
        self.runner.compactions.close()
        self.title_writer.cancel_request()
        self.turn_summaries.cancel_request()
        self.runner.cancel(reason, "interrupted")
        await self.runner.wait_idle()
        await self.auto_share.wait_until_shared()
        if is_deleted:
            session = self.log.state.session
            self.log.append(SessionDeleted(session_id=self.id, session=session), sync=True)
        if self._left_running is not None:
            self._left_running.close()
        await call_off_loop(self.journal.close)
        sessions, first_id = self._services.sessions, self._id_when_opened
        if sessions.spending_limits.get(first_id) is self.spending_limit:
            del sessions.spending_limits[first_id]
        sessions.step_modes.pop(first_id, None)
        open_sessions = self._services.rules.effective_rules.open_sessions
        if open_sessions.get(first_id) is self._read_session_info:
            del open_sessions[first_id]

    def _call_on_loop(self, call: Callable[..., T], *arguments: Any) -> T:
        """Run a short call on the engine's loop and return its result."""
        if runs_on(self._loop):
            return call(*arguments)
        future: Future[T] = Future()

        def resolve() -> None:
            try:
                future.set_result(call(*arguments))
            except BaseException as error:  # noqa: BLE001  passed to the caller's thread
                future.set_exception(error)

        try:
            self._loop.call_soon_threadsafe(resolve)
        except RuntimeError:
            raise UserError(CLOSED_SENTENCE) from None
        return future.result(timeout=MAX_LOOP_WAIT_SECONDS)

    def _stop_moved(self) -> None:
        """Stop the turn when another kernel took the session over; on the writer thread."""
        run = self.runner.active_run
        if run is not None:
            reason = self.journal.failure or "Another kernel took this session over."
            run.abort.set(reason, "interrupted")

    # Called by the runner and the loop

    def _run_context(self, run: Run) -> RunContext:
        services = self._services
        self._tool_gate.begin_turn()
        self._prompt_resolver.extensions.mark_turn_begin()
        self.spending_limit.begin_turn()
        if self.policy_stage is not None:
            self.policy_stage.begin_turn()
        python = services.kernel.python(self.id) if services.kernel.python is not None else None
        if python is not None and self._left_running is not None:
            python = self._left_running.watched_runner(python)
        tools = RunTools(
            log=self.log,
            abort=run.abort,
            root=services.root,
            cwd=services.cwd,
            ask=functools.partial(self._tool_gate.asker, run),
            guard_call=functools.partial(self._tool_gate.guard_repetition, run),
            python=python,
            namespace=self._prompt_resolver.namespace(),
            notebook=services.kernel.notebook,
            extra_values={
                "environment": services.environment,
                "variables": services.kernel.variables,
                "notebook_file": self._notebook_file(),
                "mentioned_cells": lambda: mentioned_cells(self.log.state.messages()),
                "request_number": self._request_number,
                "cells_without_page": services.kernel.cells_without_page,
                "archive": self.archive,
                "interview": self.interview,
                "subagent_runner": services.sessions.child_sessions.runner(self, run),
                "todos": self._todos,
            },
        )

        async def resolve_setup(user: UserMessage) -> StepSetup:
            await self._expander.expand_prompts(tools)
            step_setup = await self._prompt_resolver.setup(user)
            self.turn_summaries.setup = step_setup
            # The first step requests a title.
            self.title_writer.begin_request(request_services, step_setup)
            return step_setup

        request_services = RequestServices(
            log=self.log,
            abort=run.abort,
            resolve_setup=resolve_setup,
            request_hold=self._active_step_mode,
            wait_for_budget=lambda info: self._wait_for_budget(info, run.abort),
            on_spending=self.spending_limit.add_spending,
            jitter=services.jitter,
            first_time=services.models.first_time,
            hooks=self._prompt_resolver.extensions.hooks,
            own_policy=lambda: self.policy_stage,
            refused_tools=self._prompt_resolver.refused_tools,
            cache=self._request_cache,
        )
        turn = TurnServices(
            deliver_prompts=lambda: self.runner.deliver_steers(run),
            postponed_pruning=self._postponed_pruning,
            compactions=self.runner.compactions,
            files=self.reverts.files,
        )
        return RunContext(request_services, tools, turn)

    def _store_pruning_end(self, until_message: str) -> None:
        """Store, beside the switch of step mode, where a postponed pruning ends, so that a restart continues it."""
        grants = self._services.rules.effective_rules.grants
        if until_message:
            grants.put(PRUNES_UNTIL_KEY, until_message, self.id)
        else:
            grants.drop_grants(self.id, PRUNES_UNTIL_KEY)

    def _protected_notebook(self) -> frozenset[str]:
        """Return the notebook's file, which no revert may touch: the page writes it at any moment, with outputs."""
        session = self.log.state.session
        return frozenset({session.notebook} if session and session.notebook else ())

    def _notebook_file(self) -> Path | None:
        """Return the file of the session's notebook, which may not exist; None for a console."""
        session = self.log.state.session
        return self._services.root / session.notebook if session and session.notebook else None

    def _request_number(self, message_id: str) -> int | None:
        """Return the number of the request that a message answers, as inspectors count; None where it is unknown."""
        answer_ids = numbered_requests(self.records_after(0, REQUEST_EVENTS))
        return answer_ids.index(message_id) + 1 if message_id in answer_ids else None

    def _request_turn_summary(self, run_context: RunContext) -> None:
        if self._services.models.turn_summaries:
            self.turn_summaries.begin_request(run_context.request_services)

    async def _wait_for_budget(self, info: ModelInfo, abort: Abort) -> None:
        """Return when the next request may be sent; a moved project first asks the user about its grants.

        Everything appended before is written then. Raises StorageFailed, Aborted, or GuardStopped at the limit.
        """
        unwritten = await self.log.wait_until_written(abort.is_set)
        if abort.is_set():
            raise Aborted(abort.reason or "Stopped.")
        if unwritten:
            raise StorageFailed(NOT_SENT_SENTENCE.format(problem=unwritten))
        project_move = self._services.rules.effective_rules.project_move
        if project_move is not None and not self.read_only:
            async with project_move.ask_lock:
                move = await project_move.undecided_move()
                if move is not None:
                    reply = await self.asks.ask_user(
                        MOVED_KEY, (str(move.previous_path),), title=move.question, abort=abort
                    )
                    if reply.by == "cancel":
                        raise Aborted(abort.reason or "Stopped.")
                    session = self.log.state.session
                    if project_move.apply_reply(reply) and session is not None:
                        granted_session = with_granted_rights(
                            session, self._services.rules.effective_rules, ()
                        )
                        self.log.append(SessionUpdated(session=granted_session), sync=True)
                        self.asks.approve(granted_session.permission)
        await self.spending_limit.wait_for_budget(info, abort)

    def _parent_step_mode(self) -> StepMode | None:
        """Return the step mode of the parent session, where this kernel has it open."""
        read_step_mode = self._services.sessions.step_modes.get(self._parent_id)
        return read_step_mode() if read_step_mode is not None else None

    @property
    def _parent_id(self) -> str:
        session = self.log.state.session
        parent_ids = self._services.rules.effective_rules.parent_of_child
        return parent_ids.get(session.id, "") if session else ""

    def _active_step_mode(self) -> StepMode | None:
        """Return the step mode that holds the session's requests; None where it is off."""
        parent = self._parent_step_mode()
        if parent is not None:
            return self.step_mode if parent.is_on else None
        grants = self._services.rules.effective_rules.grants
        return self.step_mode if grants.newest_value(self.id, STEP_MODE_KEY) is True else None
