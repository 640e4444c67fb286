"""Ensure that a turn whose prompt requires structured output ends with an answer in that format.

The answer is the input of a call of ``StructuredOutput``. A model that answers in plain text is asked
again; a turn that ends without the call is always an error.
"""

from collections.abc import Iterable
from typing import Any

from palimpsest.loop.model_requests.engine_messages import write_engine_message
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.model.interface import ToolCalled
from palimpsest.processor.session_log import GuardedState, SessionLog
from palimpsest.processor.stream_processor import StreamProcessor
from palimpsest.tools.workflow.structured_output import STRUCTURED_OUTPUT_NAME
from palimpsest.transcript.errors import StructuredOutputError
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import ToolCompleted
from palimpsest.transcript.session_record.events import answer_end_events
from palimpsest.transcript.values import ModelInfo

STRUCTURED_REMINDER = (
    f"The answer is not in the form that was asked for yet. Call {STRUCTURED_OUTPUT_NAME} now, with the answer as its "
    "input."
)
LAST_STEP_REMINDER = (
    "This is the last step of the turn, whose limit is {limit}. Call "
    f"{STRUCTURED_OUTPUT_NAME} now, with what you have found out; no other tool runs any more."
)
MISSING_STRUCTURED_ERROR = "The turn ended without an answer in the form that was asked for."
FORCED_CALL = {"type": "function", "function": {"name": STRUCTURED_OUTPUT_NAME}}
"""The ``tool_choice`` that forces a call with the structured answer."""


def tool_choice(info: ModelInfo, user: UserMessage, *, is_last_step: bool) -> Any:
    """Return the ``tool_choice`` of a request for a structured answer; None sets none.

    The model is forced to call some tool, so that it cannot answer in plain text. Reasoning models and
    some self-hosted servers refuse to be forced: for them the text of the prompt must suffice.
    """
    if info.reasoning or info.api_base is not None or user.model.variant:
        return None
    return FORCED_CALL if is_last_step else "required"


def answering_calls(calls: Iterable[ToolCalled]) -> list[ToolCalled]:
    """Return the calls with the structured answer; only these run in the last step."""
    return [call for call in calls if call.tool == STRUCTURED_OUTPUT_NAME]


def keep_structured_answer(processor: StreamProcessor, calls: Iterable[ToolCalled]) -> None:
    """Store the structured answer with its message, where one of the calls has it."""
    for call in calls:
        part = processor.tool(call.id)
        is_answer = part.tool.lower() == STRUCTURED_OUTPUT_NAME.lower()
        if is_answer and isinstance(part.state, ToolCompleted):
            processor.record_answer(part.state.input)
            return


def ask_for_structured_again(
    log: SessionLog, setup: StepSetup, user: UserMessage, retries_made: int
) -> bool:
    """Ask again after a plain-text answer; False where there is no need, or no retry is left."""
    if retries_made >= setup.retries or not _unstructured_answer(log.state):
        return False
    write_engine_message(log, user, STRUCTURED_REMINDER)
    return True


def write_last_structured_message(
    log: SessionLog, setup: StepSetup, user: UserMessage
) -> UserMessage:
    """Write the message about the last step, in which only the structured answer can be given."""
    return write_engine_message(log, user, LAST_STEP_REMINDER.format(limit=setup.max_steps))


def refuse_unstructured(log: SessionLog, retries_made: int) -> None:
    """Set an error on a turn that ended without an error, but also without its structured answer."""
    unstructured_answer = _unstructured_answer(log.state)
    if unstructured_answer is not None:
        error = StructuredOutputError(message=MISSING_STRUCTURED_ERROR, retries=retries_made)
        log.append(
            *answer_end_events(unstructured_answer.model_copy(update={"error": error})), sync=True
        )


def _unstructured_answer(state: GuardedState) -> AssistantMessage | None:
    """Return the newest answer, if it is neither an error nor structured."""
    for message in reversed(state.messages()):
        info = message.info
        if isinstance(info, AssistantMessage) and not info.summary:
            return info if info.error is None and info.structured is None else None
    return None
