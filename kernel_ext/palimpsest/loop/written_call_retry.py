"""Ask once for a real tool call after an answer that ended with a call written as text, and then notify the user."""

from palimpsest.context.engine_text.written_calls import NOT_RUN, WRITE_AGAIN_TEXT, written_call
from palimpsest.loop.model_requests.engine_messages import write_engine_message
from palimpsest.loop.run_inputs.run_context import StepSetup
from palimpsest.processor.session_log import SessionLog
from palimpsest.transcript.messages import AssistantMessage, UserMessage
from palimpsest.transcript.parts import TextPart, ToolPart

WRITTEN_CALL_SUBJECT = "written-call"
"""The subject of the notice about a call that stayed text."""


def ask_for_real_call(
    log: SessionLog, setup: StepSetup, user: UserMessage, *, may_ask: bool
) -> bool:
    """Ask the model again after an answer that ends with a call written as text; notify the user the second time.

    Under a recorded agent's policy neither happens. Returns whether the model was asked.
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
