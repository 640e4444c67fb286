"""Write the engine's own messages into a session, marked as synthetic, and notices for the user.

A small context window is reported once in a session for each model, as a notice in the answer
to a prompt, so that cell and panel show it; no model sees it, and a summary never contains it. That it
was shown is recorded on the session, so it survives a reload and a compaction.
"""

from typing import Any

from palimpsest.context.budget.window_guard import window_warning
from palimpsest.context.engine_text.reminders import last_step
from palimpsest.loop.run_inputs.run_context import RunContext, StepSetup
from palimpsest.transcript.errors import ErrorValue
from palimpsest.transcript.messages import (
    AssistantMessage,
    MessagePath,
    MessageTime,
    Origin,
    UserMessage,
)
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import (
    MessageUpdated,
    PartUpdated,
    SessionUpdated,
    answer_ended,
)
from palimpsest.transcript.user_notices import user_notice

WINDOW = "window"


def write_window_notice(
    run_context: RunContext, setup: StepSetup, message: AssistantMessage
) -> None:
    """Write a warning about a small context window into an answer, once for each model; usually none."""
    session, model = run_context.log.state.session, setup.info.ref.id
    words = window_warning(setup.info, setup.policy.guard)
    if words is None or session is None or model in session.warned_of:
        return
    if session.parent_id is not None:  # in a task's session the prompts are the engine's
        return
    part = user_notice(run_context.ids.new("prt"), message.session_id, message.id, WINDOW, words)
    told = session.model_copy(update={"warned_of": (*session.warned_of, model)})
    run_context.write(PartUpdated(part=part), SessionUpdated(session=told))


def engine_message(run_context: RunContext, user: UserMessage) -> UserMessage:
    """Return a new user message by the engine with the settings of another: same agent, model and tools."""
    return UserMessage(
        id=run_context.ids.new("msg"),
        session_id=user.session_id,
        time=MessageTime(created=run_context.clock()),
        agent=user.agent,
        model=user.model,
        system=user.system,
        tools=user.tools,
        format=user.format,
        max_steps=user.max_steps,
        origin=Origin(kind="engine"),
    )


def write_engine_message(
    run_context: RunContext, user: UserMessage, text: str, metadata: dict[str, Any] | None = None
) -> UserMessage:
    """Write a user message by the engine that continues what another one asked."""
    message = engine_message(run_context, user)
    part = TextPart(
        id=run_context.ids.new("prt"),
        session_id=message.session_id,
        message_id=message.id,
        text=text,
        synthetic=True,
        metadata=metadata,
    )
    run_context.write(MessageUpdated(info=message), PartUpdated(part=part), sync=True)
    return message


def write_refusal(run_context: RunContext, user: UserMessage, error: ErrorValue) -> None:
    """Write an answer that holds only an error: nothing was sent, or the turn can't be ended otherwise."""
    now = run_context.clock()
    message = AssistantMessage(
        id=run_context.ids.new("msg"),
        session_id=user.session_id,
        parent_id=user.id,
        time=MessageTime(created=now, completed=now),
        agent=user.agent,
        model=user.model,
        path=MessagePath(cwd=str(run_context.cwd), root=str(run_context.root)),
        finish="error",
        error=error,
    )
    run_context.write(*answer_ended(message), sync=True)


def write_notices(run_context: RunContext, message: AssistantMessage) -> None:
    """Write pending notices for the user into an answer."""
    first = run_context.first_time(message.model.provider)
    for about, words in (*([("sent", first)] if first else []), *run_context.hooks.told()):
        part = user_notice(run_context.ids.new("prt"), message.session_id, message.id, about, words)
        run_context.write(PartUpdated(part=part))


def say_last_step(run_context: RunContext, setup: StepSetup, user: UserMessage) -> UserMessage:
    """Write that the turn has reached its step limit, under the role that the policy sets."""
    told = last_step(setup.max_steps, setup.policy.reminders)
    return write_engine_message(run_context, user, told.text, told.metadata)
