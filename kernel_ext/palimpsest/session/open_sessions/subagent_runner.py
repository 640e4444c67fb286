"""Run a subagent's task in a child session, and show its progress in the card of the call.

Border: on the engine's loop; ``Workspace`` opens and stores a child session, the ``task`` tool and subtasks of a
prompt call the runner. The child's questions to the user are asked in the parent session, in the card of the call, so
they can be answered wherever that session is shown.
"""

import asyncio
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from palimpsest.context.visible_messages import messages_after
from palimpsest.render.content.phrases import CALL_SIGNS, subject
from palimpsest.render.safety.escaping import one_line
from palimpsest.session.controls.user_questions import UserQuestions
from palimpsest.session.definitions.agents import Agent, find_agent
from palimpsest.session.engine import Run
from palimpsest.session.interfaces.prompt_answer import Answer, PromptOptions
from palimpsest.session.interfaces.services import Services
from palimpsest.session.open_sessions.live_session import LiveSession
from palimpsest.session.permissions.asks import Caller
from palimpsest.session.runs.child_sessions import child_of, depth_of, handed_limits, outside_rules
from palimpsest.tools.tool import Abort, ToolContext
from palimpsest.tools.workflow.task import MAX_SHOWN_CALLS, SubagentResult, SubagentTask
from palimpsest.transcript.call_outcomes import call_outcome
from palimpsest.transcript.errors import NotFound, UserError
from palimpsest.transcript.messages import AssistantMessage, Messages, Origin, parts_of
from palimpsest.transcript.parts import ToolPart
from palimpsest.transcript.session_record.events import PartUpdated, Record
from palimpsest.transcript.session_record.sessions import SessionInfo
from palimpsest.transcript.values import Answers, ModelRef, Question

MAX_TITLE_CHARS = 120
PROGRESS_SECONDS = 0.25
"""Interval between updates of the card; each is journaled."""

CHILD_CALL_SIGNS = {**CALL_SIGNS, "running": "…", "pending": "…"}


@dataclass(frozen=True, slots=True)
class ChildSessionRunner:
    """Runs the subagent tasks of one run of one session (tools.task.SubagentRunner)."""

    _services: Services
    _parent: LiveSession
    _run: Run

    async def run(self, task: SubagentTask, context: ToolContext) -> SubagentResult:
        """Run a task in a child session and return its result; raises UserError where it cannot be started."""
        child, agent, model = await self._child(task, context)
        first_id = child.id
        try:
            caller = Caller(context.message_id, context.call_id, "task")
            child.asks.relay_question = functools.partial(
                self._parent.asks.forward_question, caller
            )
            child.archive.caller = self._parent.archive
            child.interview = RelayedInterview(self._parent.user_questions, caller)
            await child.settle_reverts()
            progress = ChildProgress(context, child, task, agent)
            unregister = context.abort.on_abort(_stop_callback(child, context.abort))
            unsubscribe = child.subscribe(progress.on_records)
            try:
                answer = await child.runner.prompt(
                    task.prompt,
                    PromptOptions(
                        agent=agent.name,
                        model=model.id,
                        variant=model.variant,
                        yes=self._run.yes,
                        origin=Origin(kind="api", user=self._services.user or None),
                    ),
                )
            finally:
                unsubscribe()
                unregister()
                progress.close()
            return _result_of(child.id, answer, progress.card_metadata())
        finally:
            self._services.sessions.child_sessions.report_end(first_id)

    async def _child(
        self, task: SubagentTask, context: ToolContext
    ) -> tuple[LiveSession, Agent, ModelRef]:
        services, factory = self._services, self._services.sessions.child_sessions
        parent = self._parent.log.state.session
        if factory.create_session is None or factory.open_session is None or parent is None:
            raise UserError("No other agent can work in this session. Do the task yourself.")
        if depth_of(parent) >= factory.depth:
            raise UserError(
                f"Work may be handed on {factory.depth} deep here, and this session is. Do the task yourself."
            )
        agent = find_agent(task.agent, services.agents.known_agents)
        if not agent.takes_tasks:
            raise UserError(f"The agent {agent.name!r} does not work for others.")
        model = task.model or self._model_of(agent, context)
        effective_rules = services.rules.effective_rules
        effective_rules.record_choice(agent.name, model)
        caller = services.agents.known_agents.get(context.agent) or find_agent(
            "build", services.agents.known_agents
        )
        if task.task_id is not None:
            child = await self._reopen_child(task.task_id, parent)
            effective_rules.parent_of_child[child.id] = parent.id
            child.asks.approve(outside_rules(caller))
            return child, agent, model
        is_deepest = depth_of(parent) + 1 >= factory.depth
        session = child_of(
            parent,
            services.ids.new("ses", descending=True),
            services.clock(),
            f"{task.description} (@{agent.name} subagent)",
            agent=agent.name,
            model=model,
            permission=outside_rules(caller),
            limits=(*(parent.limits or ()), *handed_limits(caller, agent, is_deepest=is_deepest)),
        )
        effective_rules.parent_of_child[session.id] = parent.id
        effective_rules.approvals.approve_for_kernel(session.permission, session.id)
        return await factory.create_session(session), agent, model

    async def _reopen_child(self, task_id: str, parent: SessionInfo) -> LiveSession:
        resume = self._services.sessions.child_sessions.open_session
        try:
            child: LiveSession | None = await resume(task_id) if resume is not None else None
        except NotFound:
            child = None
        session = child.log.state.session if child is not None else None
        if child is None or session is None or session.parent_id != parent.id:
            problem = f"There is no task {task_id!r} of this session. Leave task_id out to begin a new one."
        elif not child.runner.is_busy:
            return child
        else:
            problem = f"The task {task_id!r} still works. Wait for it, or begin a new one."
        if child is not None:
            self._services.sessions.child_sessions.report_end(child.id)
        raise UserError(problem)

    def _model_of(self, agent: Agent, context: ToolContext) -> ModelRef:
        if agent.model:
            return self._services.models.info(agent.model, agent.variant).ref
        message = self._parent.log.state.message(context.message_id)
        if message is not None and isinstance(message.info, AssistantMessage):
            model = message.info.model
            return model.model_copy(update={"variant": agent.variant or model.variant})
        return self._services.models.info(self._services.models.default_model(), agent.variant).ref


def _stop_callback(child: LiveSession, abort: Abort) -> Callable[[], None]:
    loop = asyncio.get_running_loop()

    def stop() -> None:
        reason = abort.reason or "Stopped."
        run = child.runner.active_run
        if run is not None:
            run.abort.set(reason)  # at once, from any thread
        loop.call_soon_threadsafe(child.runner.cancel, reason)

    return stop


@dataclass(frozen=True, slots=True)
class RelayedInterview:
    """Asks a child session's questions to the user in the card of the call that started it."""

    _user_questions: UserQuestions
    _caller: Caller

    async def ask(
        self, questions: tuple[Question, ...], *, message_id: str, call_id: str, abort: Abort
    ) -> Answers:
        """Ask, and return the answers."""
        del message_id, call_id  # they refer to the child session, not to the one that asks
        caller = self._caller
        return await self._user_questions.ask(
            questions, message_id=caller.message_id, call_id=caller.call_id, abort=abort
        )


class ChildProgress:
    """Shows what a child session does in the card of its call, a few times a second."""

    def __init__(
        self, context: ToolContext, child: LiveSession, task: SubagentTask, agent: Agent
    ) -> None:
        self._context = context
        self._child = child
        self._title = task.description
        self._head_fields = {"task": child.id, "agent": agent.name}
        self._message_before = child.log.state.newest_message()
        self._loop = asyncio.get_running_loop()
        self._is_update_due = False
        self._is_closed = False
        context.metadata(self._title, self.card_metadata())

    def on_records(self, records: Sequence[Record]) -> None:
        """Schedule an update when tool calls were written; on the writer thread."""
        if not self._is_update_due and any(
            isinstance(record.event, PartUpdated) and isinstance(record.event.part, ToolPart)
            for record in records
        ):
            self._is_update_due = True
            self._loop.call_soon_threadsafe(
                self._loop.call_later, PROGRESS_SECONDS, self._show_progress
            )

    def close(self) -> None:
        """Stop updating the card."""
        self._is_closed = True

    def card_metadata(self) -> dict[str, Any]:
        """Return the metadata of the card as of now."""
        messages = messages_after(self._child.log.state.messages(), self._message_before)
        child_calls = calls_of(messages)
        newest_calls = child_calls[-MAX_SHOWN_CALLS:]
        lines = [
            f"{CHILD_CALL_SIGNS[call['state']]} {call['tool']} {call['title']}".rstrip()
            for call in newest_calls
        ]
        if len(child_calls) > len(newest_calls):
            lines.insert(0, f"({len(child_calls) - len(newest_calls)} earlier calls)")
        return {
            **self._head_fields,
            "calls": newest_calls,
            "count": len(child_calls),
            "output": "\n".join(lines),
        }

    def _show_progress(self) -> None:
        self._is_update_due = False
        if not self._is_closed:
            self._context.metadata(self._title, self.card_metadata())


def calls_of(messages: Messages) -> list[dict[str, str]]:
    """Return the tool calls of a session as the parent's card lists them."""
    return [
        {"tool": part.tool, "title": _title_of(part), "state": call_outcome(part).status}
        for part in parts_of(messages)
        if isinstance(part, ToolPart) and not (part.metadata or {}).get("failed_attempt")
    ]


def _title_of(part: ToolPart) -> str:
    title = getattr(part.state, "title", None)
    return one_line(title or subject(part.state.input), MAX_TITLE_CHARS)


def _result_of(task_id: str, answer: Answer, metadata: dict[str, Any]) -> SubagentResult:
    error, usage = answer.error, answer.usage
    was_stopped = error is not None and error.type == "aborted"
    message = error.message if error is not None and not was_stopped else None
    metadata.pop("output", None)  # the card of a finished task shows the result
    tokens = usage.prompt + usage.output + usage.reasoning
    metadata |= {"steps": answer.steps, "tokens": tokens, "cost": answer.cost}
    return SubagentResult(task_id, answer.text, message, was_stopped, metadata)
