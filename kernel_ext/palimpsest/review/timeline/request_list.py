"""The requests of a timeline: begun when they are recorded, completed by what is known of their answers."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from palimpsest.review.importing.message_parts import UNKNOWN
from palimpsest.review.timeline.message_items import ItemList
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.timeline import (
    EventKind,
    RequestStatus,
    TimelineEvent,
    TimelineRequest,
)
from palimpsest.transcript.values import ModelRef


@dataclass(slots=True)
class _BegunRequest:
    """A request whose answer may still come."""

    made: TimelineRequest
    finished: TimelineRequest | None = None
    """With the items of its answer, as last told."""


class RequestList:
    """Numbers requests in the order in which they were sent.

    Responsibilities: take what each was made of, what was reported of it, and the items of its answer.
    """

    def __init__(self) -> None:
        self._requests: list[_BegunRequest] = []

    def __len__(self) -> int:
        return len(self._requests)

    def forget(self, message_id: str) -> None:
        """Forget the newest request if it filled this message, which is asked for again."""
        if self._requests and self._requests[-1].made.id == message_id:
            self._requests.pop()

    def begin(
        self,
        info: MessageInfo,
        items: ItemList,
        *,
        started: int | None = None,
        timed: bool = True,
        **more: Any,
    ) -> None:
        """Begin a request that may show all items so far; ``more`` are fields of the request."""
        index, count = len(self._requests), len(items.items)
        request = TimelineRequest(
            index=index,
            id=info.id,
            turn=items.turn,
            items=count,
            answer=(count, count),
            started=(info.time.created if started is None else started) if timed else None,
            model=_named(info.model),
            effort=info.model.variant or "",
            **more,
        )
        self._requests.append(_BegunRequest(request))

    def answered(self, info: AssistantMessage) -> None:
        """Note what is known of the answer of a request."""
        for at in reversed(self._requests):
            if at.made.id == info.id:
                break
        else:
            return
        usage = None if info.tokens.estimated or not info.tokens.prompt else info.tokens
        status: RequestStatus = "ok"
        if info.error is not None:
            status = "aborted" if info.error.type == "aborted" else "refused"
        made = at.made
        cost = info.cost
        if cost is None and usage is not None and made.price is not None:
            cost = usage.cost(made.price)
        ended = info.time.completed if made.started is not None else None
        at.finished = None
        at.made = replace(
            made,
            usage=usage,
            cost=cost,
            listed=cost is not None and (info.cost is None or made.listed),
            status=status,
            ended=ended,
            assumed=info.tokens if info.tokens.estimated else None,
            overflowed=isinstance(info.error, ContextOverflowError),
        )

    def finished(self, items: ItemList) -> Iterable[TimelineRequest]:
        """Yield the requests with the items of their answers."""
        answers = items.answers
        for at in self._requests:
            answer = answers.get(at.made.id, (at.made.items, at.made.items))
            if at.finished is None or at.finished.answer != answer:
                at.finished = replace(at.made, answer=answer)
            yield at.finished


def context_changes(requests: Iterable[TimelineRequest]) -> Iterable[TimelineEvent]:
    """Yield the changes of model and reasoning effort between requests."""
    settings: tuple[EventKind, ...] = ("model", "effort")
    for before, request in pairwise(requests):
        changed = next(
            (one for one in settings if getattr(before, one) != getattr(request, one)), None
        )
        if changed is not None:
            numbers = {"from": getattr(before, changed), "to": getattr(request, changed)}
            yield TimelineEvent(request.index, changed, "", numbers)


def _named(model: ModelRef) -> str:
    """Return a model's id as far as it is known; an importer writes ``unknown`` for what is not recorded."""
    if model.provider != UNKNOWN:
        return model.id
    return "" if model.name == UNKNOWN else model.name
