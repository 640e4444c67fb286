"""Say before a request what the model is reminded of: why words come now, and that it is the last."""

import functools

from palimpsest.context.reminders import last_step, remind
from palimpsest.context.view import View
from palimpsest.loop.request import facts_for
from palimpsest.loop.saying import say
from palimpsest.loop.stage import Setup, Stage
from palimpsest.transcript.events import DecisionMade
from palimpsest.transcript.messages import UserMessage


def remind_model(stage: Stage, setup: Setup) -> None:
    """Journal the reminders that the next request carries."""
    state = stage.log.state
    view = View(state.messages(), state.decisions)
    new_id = functools.partial(stage.ids.new, "dec")
    found = remind(view, setup.policy.reminders, new_id, setup.count)
    request = state.request
    for decision in found:
        facts = facts_for(stage, setup, request.tokens if request is not None else 0)
        stage.write(DecisionMade(decision=decision, facts=facts if decision is found[0] else None))


def say_last_step(stage: Stage, setup: Setup, user: UserMessage) -> UserMessage:
    """Write that the turn has reached its step limit, in the name that the policy says."""
    told = last_step(setup.max_steps, setup.policy.reminders)
    return say(stage, user, told.text, told.metadata)
