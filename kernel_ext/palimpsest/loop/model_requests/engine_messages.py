"""Write the engine's own messages into a session, marked as synthetic, and answers with only an error."""

from typing import Any

from palimpsest.context.engine_text.reminders import last_step
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.processor.session_log import SessionLog
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import MessageTime, Origin, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import MessageUpdated, PartUpdated, answer_ended


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
    log.append(*answer_ended(message), sync=True)


def write_last_step_message(log: SessionLog, setup: StepSetup, user: UserMessage) -> UserMessage:
    """Write that the turn has reached its step limit, under the role that the policy sets."""
    note = last_step(setup.max_steps, setup.policy.reminders)
    return write_engine_message(log, user, note.text, note.metadata)
