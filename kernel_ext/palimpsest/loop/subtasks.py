"""Run the subtasks of a prompt: work that the user delegates to other agents, before the model is called.

All pending subtasks run concurrently, each as a call of the ``task`` tool in a separate answer, so that the model reads
the result like any other. The user named the agent, so the rules about which agents may be called are not checked.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

from palimpsest.loop.model_requests.answer_stream import output_cutter
from palimpsest.loop.model_requests.engine_messages import write_engine_message
from palimpsest.loop.model_requests.request_builder import facts_for
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.model.interface import StepFinished, ToolCalled
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.processor.tool_call_runner import RunTools, run_calls
from palimpsest.tools.registration.registry import Registry
from palimpsest.tools.tool import ToolContext
from palimpsest.tools.workflow.task import TASK_NAME, TaskTool
from palimpsest.transcript.errors import AbortedError, ErrorValue
from palimpsest.transcript.messages import UserMessage
from palimpsest.transcript.parts import SubtaskPart
from palimpsest.transcript.values import Usage

SUBTASK_KEY = "subtask"
"""Key in the metadata of a call's state: the id of the subtask part that requested it."""

SUBTASK_CONTINUE = "Say what came out of the task above, and go on with what was asked."
"""The synthetic prompt after the subtask of a command, since the user's message has no other question."""


async def run_subtasks(
    run_tools: RunTools, setup: StepSetup, user: UserMessage, subtasks: Sequence[SubtaskPart]
) -> bool:
    """Run subtasks, and return whether the turn continues; False when it was stopped."""
    await asyncio.gather(*(_run_subtask(run_tools, setup, user, subtask) for subtask in subtasks))
    if run_tools.abort.is_set():
        return False
    if any(subtask.command for subtask in subtasks):
        write_engine_message(run_tools.log, user, SUBTASK_CONTINUE)
    return True


async def _run_subtask(
    run_tools: RunTools, setup: StepSetup, user: UserMessage, subtask: SubtaskPart
) -> None:
    message = run_tools.log.new_answer(user.id, subtask.agent, subtask.model or user.model)
    processor = StreamProcessor(
        run_tools.log,
        message,
        output_cutter(run_tools.log, setup, facts_for(run_tools.log, setup, 0)),
    )
    inputs: dict[str, Any] = {
        "description": subtask.description,
        "prompt": subtask.prompt,
        "agent": subtask.agent,
    }
    if subtask.command:
        inputs["command"] = subtask.command
    call = ToolCalled(id=f"call_{run_tools.log.ids.new('prt')}", tool=TASK_NAME, input=inputs)

    def context(_call: ToolCalled) -> ToolContext:
        return run_tools.context(
            message.id,
            call.id,
            setup.agent,
            run_tools.ask(message.id, call.id, TASK_NAME),
            metadata=lambda title, data: processor.tool_progress(
                call.id, title, {**data, SUBTASK_KEY: subtask.id}
            ),
            extra={
                "model": setup.info,
                "bypass_agent_check": True,
                "subagent_model": subtask.model,
            },
        )

    async def guard(_call: ToolCalled) -> None:
        """Let the call pass: the user requested it, so it cannot be a doom loop."""

    error: ErrorValue | None = AbortedError()
    try:
        processor.finish_step(StepFinished(reason="tool-calls", usage=Usage()))
        processor.handle(call)
        processor.tool_progress(call.id, subtask.description, {SUBTASK_KEY: subtask.id})
        registry = Registry([TaskTool(lambda: ())])
        async for result in run_calls([call], registry, context, processor.tool_began, guard):
            if (output := getattr(result, "output", None)) is not None:
                output.metadata[SUBTASK_KEY] = subtask.id
            processor.handle(result)
        is_stopped = run_tools.abort.is_set()
        error = AbortedError(message=run_tools.abort.reason or "Stopped.") if is_stopped else None
    finally:
        processor.close(error)
