"""Write the engine's own messages into a session, marked as synthetic, and answers with only an error."""

from typing import Any

from palimpsest.context.engine_text.reminders import last_step
from palimpsest.context.engine_text.written_calls import NOT_RUN, WRITE_AGAIN_TEXT, written_call
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.processor.session_log import SessionLog
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import AssistantMessage, MessageTime, Origin, UserMessage
from palimpsest.transcript.parts import TextPart, ToolPart
from palimpsest.transcript.session_record.events import (
    MessageUpdated,
    PartUpdated,
    answer_end_events,
)

WRITTEN_CALL_SUBJECT = "written-call"
"""The subject of the notice about a call that stayed text."""


def engine_message(log: SessionLog, user: UserMessage) -> UserMessage:
    """Return a new user message by the engine with the settings of another: same agent, model and tools."""
    return UserMessage(
        id=log.ids.new("msg"),
        session_id=user.session_id,
        time=MessageTime(created=log.clock()),
        agent=user.agent,
        model=user.model,
        system=user.system,
        tools=user.tools,
        format=user.format,
        max_steps=user.max_steps,
        origin=Origin(kind="engine"),
    )


def write_engine_message(
    log: SessionLog, user: UserMessage, text: str, metadata: dict[str, Any] | None = None
) -> UserMessage:
    """Write a user message by the engine that continues the work of another."""
    message = engine_message(log, user)
    part = TextPart(**log.new_part(message), text=text, synthetic=True, metadata=metadata)
    log.append(MessageUpdated(info=message), PartUpdated(part=part), sync=True)
    return message


def write_refusal(log: SessionLog, user: UserMessage, error: ErrorValue) -> None:
    """Write an answer with only an error, where nothing was sent or the turn cannot end otherwise."""
    message = log.new_answer(user.id, user.agent, user.model)
    time = message.time.model_copy(update={"completed": message.time.created})
    message = message.model_copy(update={"time": time, "finish": "error", "error": error})
    log.append(*answer_end_events(message), sync=True)


def write_last_step_message(log: SessionLog, setup: StepSetup, user: UserMessage) -> UserMessage:
    """Write the message that the turn has reached its step limit, in the form that the policy sets; returns it."""
    reminder = last_step(setup.max_steps, setup.policy.reminders)
    return write_engine_message(log, user, reminder.text, reminder.metadata)


def ask_for_real_call(
    log: SessionLog, setup: StepSetup, user: UserMessage, *, may_ask: bool
) -> bool:
    """Ask the model again after an answer that ends with a call written as text; notify the user the second time.

    Under a recorded agent's policy the answer stays as it is. Returns whether the model was asked.
    """
    message = log.state.messages()[-1]
    if not setup.policy.reminders.real_call or not isinstance(message.info, AssistantMessage):
        return False
    info, parts = message.info, message.parts
    texts = [part.text for part in parts if isinstance(part, TextPart) and not part.ignored]
    if info.error is not None or not texts or any(isinstance(part, ToolPart) for part in parts):
        return False
    tool = written_call(texts[-1], [spec.name for spec in setup.specs])
    if tool is None:
        return False
    if may_ask:
        write_engine_message(log, user, WRITE_AGAIN_TEXT.format(tool=tool))
        return True
    log.write_notice(info, WRITTEN_CALL_SUBJECT, NOT_RUN.format(tool=tool))
    return False
