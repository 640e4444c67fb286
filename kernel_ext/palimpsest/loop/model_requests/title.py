"""Ask for a session's title, beside the turn: nothing waits for it, and nothing fails with it.

The request is journaled like any other, so that it can be rebuilt; it fills no message, and what
it cost is added to the session.
"""

from palimpsest.context.request_kinds.title_request import SYSTEM, project_title
from palimpsest.context.visible_messages.view import View
from palimpsest.loop.model_requests.side_request import SideAnswer, quiet, run_side_request
from palimpsest.loop.run_inputs.run_context import Setup, Stage


async def run_title(stage: Stage, setup: Setup, system: str | None = None) -> SideAnswer:
    """Ask for the title of a session; raises ModelFailed, or TimeoutError when it takes too long.

    ``system`` takes the place of our own words about titles.
    """
    asking = quiet(stage, setup, "title", system or SYSTEM)
    state = stage.log.state
    view = View.of(state.messages(), state.decisions, stage.blobs.get_blob)
    projection = project_title(view, system=asking.system, count=asking.count)
    return await run_side_request(stage, asking, projection, "title")
