"""Ask for a session's title, beside the turn: nothing waits for it, and nothing fails with it.

The request is journaled like any other, so that it can be rebuilt; it fills no message, and what
it cost is added to the session.
"""

import asyncio
import dataclasses
import json
from typing import Any

from palimpsest.context.policy import reserve
from palimpsest.context.projection import PROJECTION_VERSION
from palimpsest.context.route import route
from palimpsest.context.title import SYSTEM, project_title
from palimpsest.context.view import View
from palimpsest.loop.assembly import assemble
from palimpsest.loop.stage import Setup, Stage
from palimpsest.model.model import ModelRequest, StepFinished, TextDelta
from palimpsest.model.retry import delay_seconds, retryable
from palimpsest.model.wire import request_hash
from palimpsest.transcript.decisions import Facts, StepRequest
from palimpsest.transcript.errors import ApiError, ModelFailed, UnknownError
from palimpsest.transcript.events import StepRequested
from palimpsest.transcript.values import BlobRef, Usage

TEMPERATURE = 0.5
MOST_TOKENS = 4_000
"""A title takes twenty; a model that thinks first takes the rest."""
RETRIES = 2
SECONDS = 60.0
"""Later than that the title comes as a surprise."""
JSON = "application/json"


@dataclasses.dataclass(frozen=True, slots=True)
class Titled:
    """What a model answered, and what that took."""

    text: str
    usage: Usage
    cost: float | None


async def run_title(stage: Stage, setup: Setup, system: str | None = None) -> Titled:
    """Ask for the title of a session; raises ModelFailed, or TimeoutError when it takes too long.

    ``system`` takes the place of our own words about titles.
    """
    quiet = dataclasses.replace(
        setup, agent="title", system=(stage.clean(system or SYSTEM),), specs=()
    )
    request, record = _request(stage, quiet)
    stage.write(StepRequested(request=record), sync=True)
    async with asyncio.timeout(SECONDS):
        for attempt in range(1, RETRIES + 1):
            try:
                return await _asked(quiet, request)
            except ModelFailed as failure:
                if not retryable(failure.error):
                    raise
                headers = failure.error.headers if isinstance(failure.error, ApiError) else None
                await asyncio.sleep(delay_seconds(attempt, headers, stage.jitter()))
        return await _asked(quiet, request)


async def _asked(quiet: Setup, request: ModelRequest) -> Titled:
    said: list[str] = []
    finished: StepFinished | None = None
    async for event in quiet.model.stream(request):
        if isinstance(event, TextDelta):
            said.append(event.text)
        elif isinstance(event, StepFinished):
            finished = event
    if finished is None:
        raise ModelFailed(UnknownError(message="The title ended without a real end."))
    return Titled("".join(said), finished.usage, finished.cost)


def _request(stage: Stage, quiet: Setup) -> tuple[ModelRequest, StepRequest]:
    state, info, policy = stage.log.state, quiet.info, quiet.policy
    messages, decisions = state.messages(), state.decisions
    view = View.of(messages, decisions, stage.blobs.get_blob)
    projection = project_title(view, system=quiet.system, count=quiet.count)
    assembly = assemble(projection, info, quiet.count, messages)
    facts = Facts(
        now=stage.clock(),
        estimator=policy.estimator,
        window=info.window,
        reserve=reserve(policy, info),
        used_tokens=projection.total,
    )
    decided = route(projection.total, facts)
    room = max(facts.capacity - decided.tokens, facts.reserve)
    parameters: dict[str, Any] = {
        "max_tokens": min(info.output_limit, MOST_TOKENS, room),
        "temperature": TEMPERATURE,
    }
    record = StepRequest(
        id=stage.ids.new("req"),
        purpose="title",
        model=info,
        parameters=parameters,
        policy_blob=_kept(stage, policy.model_dump()),
        projection=PROJECTION_VERSION,
        facts=facts,
        system=_kept(stage, list(quiet.system)),
        tools=_kept(stage, []),
        items=assembly.items,
        sha256=request_hash(assembly.hashes),
        tokens=projection.total,
        kinds=assembly.kinds,
    )
    request = ModelRequest(
        model=info,
        messages=assembly.sent,
        parameters=parameters,
        session_id=stage.session_id,
        purpose="title",
        refusals=policy.overflow.refusals,
    )
    return request, record


def _kept(stage: Stage, value: Any) -> BlobRef:
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return stage.blobs.put_blob(text.encode(), JSON)
