"""The part of a timeline that is written into a file; its texts stay in the log.

A file is checked as a whole when it is read: every index of an item or a request must be valid, so that its timeline
could have come from a log.
"""

from collections.abc import Iterable
from typing import Annotated, Self

from pydantic import model_validator

from palimpsest.review.review_files.columns import MAX_NUMBER, AsColumns, KeptValue
from palimpsest.transcript.timeline import (
    TIMELINE_VERSION,
    RecordedTotals,
    Timeline,
    TimelineEvent,
    TimelineItem,
    TimelineRequest,
    Transition,
)
from palimpsest.transcript.values import SERVICE_TIERS, Usage


class KeptTimeline(KeptValue):
    """A recorded timeline without its functions for texts and counts; raises ValueError for inconsistent numbers."""

    version: int
    session: str
    title: str
    origin: str
    parent: str | None
    started_by: str | None
    items: Annotated[tuple[TimelineItem, ...], AsColumns(TimelineItem)]
    requests: Annotated[tuple[TimelineRequest, ...], AsColumns(TimelineRequest)]
    transitions: Annotated[tuple[Transition, ...], AsColumns(Transition)]
    events: Annotated[tuple[TimelineEvent, ...], AsColumns(TimelineEvent)]
    subagents: dict[str, str]
    gaps: tuple[str, ...]
    recorded_totals: RecordedTotals
    unread: tuple[str, ...]

    @classmethod
    def of(cls, timeline: Timeline) -> "KeptTimeline":
        """Return a timeline in the form of a file, which is checked when it is read."""
        return cls.model_construct(**{name: getattr(timeline, name) for name in cls.model_fields})

    @property
    def timeline(self) -> Timeline:
        """The timeline, without texts and counters."""
        return Timeline(**dict(self))

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        item_count, request_count = len(self.items), len(self.requests)
        transition_requests = [transition.request for transition in self.transitions]
        item_counts = [request.items for request in self.requests]
        if (
            self.version != TIMELINE_VERSION
            or [item.index for item in self.items] != [*range(item_count)]
            or [request.index for request in self.requests] != [*range(request_count)]
            or item_counts != sorted(item_counts)
            or transition_requests != sorted(transition_requests)
        ):
            raise ValueError("Its rows are not in their order, or it is of another version.")
        check_indexes(item_counts, item_count + 1)
        check_indexes(transition_requests, request_count)
        check_indexes([transition.item for transition in self.transitions], item_count)
        check_indexes([event.request for event in self.events], request_count + 1)
        check_indexes([item.entered for item in self.items], request_count + 1)
        check_indexes([item.before for item in self.items if item.before is not None], item_count)
        check_indexes(
            [covered_item for item in self.items for covered_item in item.covers], item_count
        )
        check_indexes([item.chars for item in self.items], MAX_NUMBER)
        for request in self.requests:
            answer_start, answer_end = request.answer
            check_indexes([answer_start], answer_end + 1)
            check_indexes([answer_end], item_count + 1)
            check_indexes([item + 1 for item in request.mark_items], item_count + 1)
            if request.mark_items and len(request.mark_items) != len(request.cache_marks):
                raise ValueError("Its cache marks have other numbers of places and of items.")
            for usage in filter(None, (request.usage, request.assumed)):
                _check_usage(usage)
        return self


def check_indexes(indexes: Iterable[int], end: int) -> None:
    """Raise ValueError if an index is below 0 or not below ``end``."""
    if not all(0 <= index < end for index in indexes):
        raise ValueError("A number is out of its range.")


def _check_usage(usage: Usage) -> None:
    check_indexes([value for _, value in usage if type(value) is int], MAX_NUMBER)
    if usage.model_extra or usage.service_tier not in (None, *SERVICE_TIERS):
        raise ValueError("These are other numbers of tokens.")
