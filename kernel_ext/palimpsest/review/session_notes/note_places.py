"""The places of notes in a session: checked when a note is written, found again when it is shown.

A note names a request by its number and an item by its id, which stay as they are while a session grows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from palimpsest.render.content.phrases import counted_noun
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.session_record.notes import NotePlace
from palimpsest.transcript.timeline import Timeline

ONE_PLACE_SENTENCE = "A note is on one place: a request, a range, an item, a cache break or a compaction; name one of them."
MAX_NAMED_BREAKS = 8
BAD_RANGE_SENTENCE = "{words!r:.60} is no range of requests; write it as 3-9."


@dataclass(frozen=True, slots=True)
class FoundPlace:
    """A note's place in a timeline; numbers count from 0."""

    text: str
    """The place in a few words; numbers in it count from 1."""
    request: int | None = None
    """The request at which the note is marked; None for the whole session, and where the place is not there."""
    last_request: int | None = None
    """The last request of a range."""
    item: int | None = None
    compaction: int | None = None


def request_range(text: str) -> tuple[int, int]:
    """Return the first and last request of a range such as ``3-9``, from 1; raises UserError."""
    first_text, dash, last_text = text.partition("-")
    if not dash or not first_text.strip().isdecimal() or not last_text.strip().isdecimal():
        raise UserError(BAD_RANGE_SENTENCE.format(words=text))
    return int(first_text), int(last_text)


def note_place(
    timeline: Timeline,
    *,
    request: int | None = None,
    item: int | None = None,
    requests: tuple[int, int] | None = None,
    cache_break: int | None = None,
    compaction: int | None = None,
    breaks: Collection[int] = (),
) -> NotePlace:
    """Return the place that a person named, checked against the session; without any the whole session.

    Numbers count from 1; an item with ``request`` is the item in that request. ``breaks`` are the requests, from 0, that
    lost the cache. Raises UserError for a place that the session does not have.
    """
    item_or_request = None if item is None and request is None else (item, request)
    if sum(place is not None for place in (item_or_request, requests, cache_break, compaction)) > 1:
        raise UserError(ONE_PLACE_SENTENCE)
    for number in (request, *(requests or ())):
        _check_number(number, len(timeline.requests), "request")
    if item is not None:
        _check_number(item, len(timeline.items), "item")
        return NotePlace(kind="item", item=timeline.items[item - 1].id, request=request)
    if request is not None:
        return NotePlace(kind="request", request=request)
    if requests is not None:
        first, last = requests
        if last < first:
            raise UserError(BAD_RANGE_SENTENCE.format(words=f"{first}-{last}"))
        return NotePlace(kind="range", request=first, last=last)
    if cache_break is not None:
        _check_break(cache_break, breaks)
        return NotePlace(kind="break", request=cache_break)
    if compaction is not None:
        _check_number(compaction, len(compaction_requests(timeline)), "compaction")
        return NotePlace(kind="compaction", compaction=compaction)
    return NotePlace()


def found_place(timeline: Timeline, place: NotePlace) -> FoundPlace:
    """Return where a note's place is in a session, with a text that names it."""
    request = None if place.request is None else place.request - 1
    known_request = request if request is not None and request < len(timeline.requests) else None
    match place.kind:
        case "request":
            return FoundPlace(f"request {place.request}", known_request)
        case "range":
            last_index = min(place.last or 0, len(timeline.requests)) - 1
            last_request = None if known_request is None else last_index
            return FoundPlace(
                f"requests {place.request} to {place.last}", known_request, last_request
            )
        case "break":
            return FoundPlace(f"cache break at request {place.request}", known_request)
        case "compaction":
            return _found_compaction(timeline, place.compaction or 0)
        case "item":
            return _found_item(timeline, place.item, known_request)
        case _:
            return FoundPlace("the session")


def compaction_requests(timeline: Timeline) -> Sequence[int]:
    """Return, for each compaction of a session, the first request that shows its summary, from 0."""
    return [event.request for event in timeline.events if event.kind == "compact"]


def _found_compaction(timeline: Timeline, number: int) -> FoundPlace:
    requests = compaction_requests(timeline)
    if number > len(requests):
        return FoundPlace(f"compaction {number}")
    request = requests[number - 1]
    known_request = request if request < len(timeline.requests) else None
    text = f"compaction {number}, before request {request + 1}"
    return FoundPlace(text, known_request, compaction=number - 1)


def _found_item(timeline: Timeline, item_id: str, request: int | None) -> FoundPlace:
    item = next((item for item in timeline.items if item.id == item_id), None)
    if item is None:
        return FoundPlace("an item that the session no longer has", request)
    request_index = (
        request if request is not None else min(item.entered, len(timeline.requests) - 1)
    )
    text = f"item {item.index + 1} ({', '.join(filter(None, (item.kind, item.tool)))})"
    request_text = "" if request is None else f" in request {request + 1}"
    return FoundPlace(
        f"{text}{request_text}", request_index if request_index >= 0 else None, item=item.index
    )


def _check_break(request: int, breaks: Collection[int]) -> None:
    if request - 1 in breaks:
        return
    break_numbers = ", ".join(
        str(break_index + 1) for break_index in sorted(breaks)[:MAX_NAMED_BREAKS]
    )
    others_text = " and others" if len(breaks) > MAX_NAMED_BREAKS else ""
    breaks_text = f"it broke at {break_numbers}{others_text}" if breaks else "it broke nowhere"
    raise UserError(f"The cache did not break at request {request}; {breaks_text}.")


def _check_number(number: int | None, count: int, noun: str) -> None:
    if number is not None and not 0 < number <= count:
        raise UserError(
            f"The session has {counted_noun(count, noun)}; there is no {noun} {number}."
        )
