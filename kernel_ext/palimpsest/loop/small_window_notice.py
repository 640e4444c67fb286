"""Tell a person who prompts that a model's window is small: once in a session for each model.

The sentence is a notice in the answer to a prompt, so that cell and panel show it; no model sees it, and a
summary never holds it. That it was told stands on the session, which outlives a reload and a compaction.
"""

from palimpsest.context.budget.window_guard import window_warning
from palimpsest.loop.run_inputs.run_context import RunContext, StepSetup
from palimpsest.transcript.messages import AssistantMessage
from palimpsest.transcript.session_record.events import PartUpdated, SessionUpdated
from palimpsest.transcript.user_notices import user_notice

WINDOW = "window"


def write_window_notice(
    run_context: RunContext, setup: StepSetup, message: AssistantMessage
) -> None:
    """Write into an answer what a person should know of the model's window; mostly nothing."""
    session, model = run_context.log.state.session, setup.info.ref.id
    words = window_warning(setup.info, setup.policy.guard)
    if words is None or session is None or model in session.warned_of:
        return
    if session.parent_id is not None:  # the engine prompts there
        return
    part = user_notice(run_context.ids.new("prt"), message.session_id, message.id, WINDOW, words)
    told = session.model_copy(update={"warned_of": (*session.warned_of, model)})
    run_context.write(PartUpdated(part=part), SessionUpdated(session=told))
