"""The sessions that calls of a session began, with their requests, tokens and cost."""

from collections.abc import Iterator
from contextlib import suppress

from palimpsest.review.comparison.prices import PriceOf
from palimpsest.review.timeline.journal_timeline import timeline_of
from palimpsest.review.timeline_view.view_values import SubagentView
from palimpsest.store.interface import Store
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.parts import ToolCompleted, ToolPart
from palimpsest.transcript.timeline import Timeline


def subagent_views(store: Store, timeline: Timeline, price_of: PriceOf) -> tuple[SubagentView, ...]:
    """Return the sessions whose parent this one is, oldest first; what cannot be read is left out."""
    children = [one for one in store.list() if one.parent_id == timeline.session]
    if not children:
        return ()
    began = _began(store, timeline)
    found = []
    for one in sorted(children, key=lambda child: (child.created, child.id)):
        with suppress(UserError):
            requests, tokens, cost = _spent(store, one.id, price_of)
            found.append(
                SubagentView(
                    session=one.id,
                    title=one.title,
                    request=began.get(one.id, -1),
                    requests=requests,
                    tokens=tokens,
                    cost=cost,
                )
            )
    return tuple(found)


def _began(store: Store, timeline: Timeline) -> dict[str, int]:
    """Return, by a child's id, the request whose answer held the call that began it."""
    answers = {one.message: one.entered - 1 for one in timeline.items if one.kind == "call"}
    return {
        child: max(answers[message], 0)
        for message, child in _tasks(store, timeline.session)
        if message in answers
    }


def _tasks(store: Store, session_id: str) -> Iterator[tuple[str, str]]:
    """Yield the message and the child's id of each call that names one."""
    for message in store.load(session_id).messages():
        for part in message.parts:
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                child = part.state.metadata.get("task")
                if isinstance(child, str):
                    yield message.info.id, child


def _spent(store: Store, session_id: str, price_of: PriceOf) -> tuple[int, int, float | None]:
    """Return requests, tokens and US dollars of a session; None where one cost is not known."""
    requests = timeline_of(store, session_id, price=price_of).requests
    used = [one.usage for one in requests if one.usage is not None]
    tokens = sum(one.prompt + one.output + one.reasoning for one in used)
    costs = [one.cost for one in requests if one.cost is not None]
    return len(requests), tokens, sum(costs) if costs and len(costs) == len(requests) else None
