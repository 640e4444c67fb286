"""The requests of a timeline: added when they are recorded, completed when their answers are known."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from palimpsest.recordings.import_journal.message_parts import UNKNOWN_NAME
from palimpsest.recordings.timeline.message_items import ItemList
from palimpsest.transcript.errors import ContextOverflowError
from palimpsest.transcript.messages import AssistantMessage, MessageInfo
from palimpsest.transcript.timeline import EventKind, RequestStatus, TimelineEvent, TimelineRequest
from palimpsest.transcript.values import ModelRef


@dataclass(slots=True)
class _BegunRequest:
    """A request whose answer may still come."""

    id: str
    """Id of the answer's message."""
    item_count: int
    """Number of items that existed when it was sent."""
    fields: dict[str, Any]
    """The fields of the request but for the items of its answer."""
    finished: TimelineRequest | None = None
    """The request with the items of its answer, as it was last returned."""


class RequestList:
    """Collects requests in the order in which they were sent, with settings, usage and answers."""

    def __init__(self) -> None:
        self._requests: list[_BegunRequest] = []

    def __len__(self) -> int:
        return len(self._requests)

    def remove_newest_if_repeated(self, message_id: str) -> None:
        """Remove the newest request if its answer has this id, since the answer is requested again."""
        if self._requests and self._requests[-1].id == message_id:
            self._requests.pop()

    def begin_request(
        self,
        info: MessageInfo,
        items: ItemList,
        *,
        started_ms: int | None = None,
        has_time: bool = True,
        **fields: Any,
    ) -> None:
        """Add a request that may show all items so far; ``fields`` are further fields of the request."""
        index, item_count = len(self._requests), len(items.items)
        started = info.time.created if started_ms is None else started_ms
        fields |= {
            "index": index,
            "id": info.id,
            "turn": items.turn,
            "items": item_count,
            "started": started if has_time else None,
            "model": _known_model(info.model),
            "effort": info.model.variant or "",
        }
        self._requests.append(_BegunRequest(info.id, item_count, fields))

    def set_answer(self, info: AssistantMessage) -> None:
        """Add usage, cost, status and end of a request's answer."""
        for begun_request in reversed(self._requests):
            if begun_request.id == info.id:
                break
        else:
            return
        usage = None if info.tokens.estimated or not info.tokens.prompt else info.tokens
        status: RequestStatus = "ok"
        if info.error is not None:
            status = "aborted" if info.error.type == "aborted" else "refused"
        fields = begun_request.fields
        cost, price = info.cost, fields.get("price")
        if cost is None and usage is not None and price is not None:
            cost = usage.cost(price)
        begun_request.finished = None
        begun_request.fields = {
            **fields,
            "usage": usage,
            "cost": cost,
            "listed": cost is not None and (info.cost is None or fields.get("listed", False)),
            "status": status,
            "ended": info.time.completed if fields["started"] is not None else None,
            "assumed": info.tokens if info.tokens.estimated else None,
            "overflowed": isinstance(info.error, ContextOverflowError),
        }

    def finished_requests(self, items: ItemList) -> Iterable[TimelineRequest]:
        """Yield the requests with the ranges of their answers' items."""
        item_range_by_message = items.item_range_by_message
        for begun_request in self._requests:
            answer_range = item_range_by_message.get(
                begun_request.id, (begun_request.item_count, begun_request.item_count)
            )
            if begun_request.finished is None or begun_request.finished.answer != answer_range:
                begun_request.finished = TimelineRequest(
                    **begun_request.fields, answer=answer_range
                )
            yield begun_request.finished


def context_changes(requests: Iterable[TimelineRequest]) -> Iterable[TimelineEvent]:
    """Yield the changes of the model between requests, or where it is the same, of the reasoning effort."""
    settings: tuple[EventKind, ...] = ("model", "effort")
    for previous, request in pairwise(requests):
        for setting in settings:
            old_value, new_value = getattr(previous, setting), getattr(request, setting)
            if old_value != new_value:
                yield TimelineEvent(
                    request.index, setting, "", {"from": old_value, "to": new_value}
                )
                break


def _known_model(model: ModelRef) -> str:
    """Return a model's id; empty for ``unknown``, which an importer writes where no model is recorded."""
    if model.provider != UNKNOWN_NAME:
        return model.id
    return "" if model.name == UNKNOWN_NAME else model.name
