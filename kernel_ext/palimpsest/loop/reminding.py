"""Decide before a request what is said around words that came in the middle of a turn."""

import functools

from palimpsest.context.reminders import remind
from palimpsest.context.view import View
from palimpsest.loop.stage import Setup, Stage
from palimpsest.transcript.events import DecisionMade


def remind_model(stage: Stage, setup: Setup) -> None:
    """Journal the reminders that the next request carries."""
    state = stage.log.state
    view = View(state.messages(), state.decisions)
    new_id = functools.partial(stage.ids.new, "dec")
    for decision in remind(view, setup.policy.reminders, new_id, setup.count):
        stage.write(DecisionMade(decision=decision))
