"""Say before a request that it is the last of its turn; why words come now is decided by ``context/request_assembly/fit.py``."""

from palimpsest.context.engine_text.reminders import last_step
from palimpsest.loop.model_requests.engine_messages import say
from palimpsest.loop.run_inputs.run_context import Setup, Stage
from palimpsest.transcript.messages import UserMessage


def say_last_step(stage: Stage, setup: Setup, user: UserMessage) -> UserMessage:
    """Write that the turn has reached its step limit, in the name that the policy says."""
    told = last_step(setup.max_steps, setup.policy.reminders)
    return say(stage, user, told.text, told.metadata)
