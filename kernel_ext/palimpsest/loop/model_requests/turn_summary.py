"""Ask for a turn's summary in words, after the turn and beside everything that follows.

The request is journaled like any other, so that it can be rebuilt; it fills no message, and what
it cost is added to the session.
"""

from collections.abc import Sequence

from palimpsest.context.request_kinds.turn_summary_request import SYSTEM, project_turn_summary
from palimpsest.context.visible_messages.prompted_turns import turn_of
from palimpsest.context.visible_messages.view import View
from palimpsest.loop.model_requests.side_request import SideAnswer, quiet, run_side_request
from palimpsest.loop.run_inputs.run_context import Setup, Stage


async def run_turn_summary(stage: Stage, setup: Setup, turns: Sequence[str]) -> SideAnswer | None:
    """Ask about the last of some turns, by their prompts' ids, oldest first; None when it is gone.

    Raises ModelFailed, or TimeoutError when it takes too long.
    """
    asking = quiet(stage, setup, "turn-summary", SYSTEM)
    state = stage.log.state
    messages = state.messages()
    there = tuple(one for one in turns if turn_of(messages, one))
    if turns[-1] not in there:
        return None  # it was taken back meanwhile
    projection = project_turn_summary(
        View(messages, state.decisions),
        turns=there,
        before=state.session.about if state.session is not None else "",
        system=asking.system,
        count=asking.count,
    )
    return await run_side_request(stage, asking, projection, "turn-summary", there)
