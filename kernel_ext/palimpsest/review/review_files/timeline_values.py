"""A timeline as plain values, and back; its texts stay in the log.

What is read is checked as a whole: every number that points to an item or a request does, so that no reader of a
timeline meets anything that a log could not have given.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from palimpsest.review.review_files.columns import (
    FLAG,
    LIST,
    MAYBE_FLAG,
    MAYBE_LIST,
    MAYBE_TEXT,
    MAYBE_WHOLE,
    NUMBER,
    OBJECT,
    REAL,
    TEXT,
    WHOLE,
    ColumnType,
    NotAsWritten,
    choice,
    columns_of,
    plain,
    rows_of,
    wholes,
)
from palimpsest.transcript.timeline import (
    TIMELINE_VERSION,
    EventKind,
    ItemState,
    RecordedTotals,
    RequestStatus,
    Seen,
    Timeline,
    TimelineEvent,
    TimelineItem,
    TimelineRequest,
    Transition,
)
from palimpsest.transcript.values import SERVICE_TIERS, Price, Usage

ITEMS: dict[str, ColumnType] = {
    **dict.fromkeys(("index",), WHOLE),
    **dict.fromkeys(("id", "kind", "message"), TEXT),
    **dict.fromkeys(("turn", "entered", "chars"), WHOLE),
    **dict.fromkeys(("label", "tool", "group"), TEXT),
    "block": WHOLE,
    "hash": TEXT,
    "text": choice("kept", "none", "encrypted", "not recorded"),
    "created": MAYBE_WHOLE,
    "is_error": FLAG,
    "covers": LIST,
    "before": MAYBE_WHOLE,
    "pinned": FLAG,
    "input_hash": TEXT,
    **dict.fromkeys(("by_program", "continues"), FLAG),
}
REQUESTS: dict[str, ColumnType] = {
    "index": WHOLE,
    "id": TEXT,
    **dict.fromkeys(("turn", "items"), WHOLE),
    "answer": LIST,
    **dict.fromkeys(("started", "ended"), MAYBE_WHOLE),
    **dict.fromkeys(("model", "effort"), TEXT),
    **dict.fromkeys(("client", "cache_miss"), TEXT),
    **dict.fromkeys(("window", "reserve"), WHOLE),
    "price": MAYBE_WHOLE,
    "status": choice(*get_args(RequestStatus)),
    "seen": choice(*get_args(Seen)),
    "usage": MAYBE_LIST,
    "cost": NUMBER,
    "listed": FLAG,
    **dict.fromkeys(("purpose", "system_hash", "tools_hash"), TEXT),
    "output_limit": WHOLE,
    "input_limit": MAYBE_WHOLE,
    "caching": MAYBE_FLAG,
    "overflowed": FLAG,
    "estimator": TEXT,
    "estimated": WHOLE,
    "calibration": REAL,
    "assumed": MAYBE_LIST,
}
TRANSITIONS: dict[str, ColumnType] = {
    **dict.fromkeys(("item", "request"), WHOLE),
    "state": choice(*get_args(ItemState)),
    "tokens": MAYBE_WHOLE,
    "chars": WHOLE,
    "rule": TEXT,
    "numbers": OBJECT,
    "shown": MAYBE_TEXT,
}
EVENTS: dict[str, ColumnType] = {
    "request": WHOLE,
    "kind": choice(*get_args(EventKind)),
    "cause": TEXT,
    "numbers": OBJECT,
}
USAGE = tuple(Usage.model_fields)
USAGES = ("usage", "assumed")
HEADS = ("session", "title", "origin", "parent", "started_by")
BLOB = re.compile(r"[0-9a-f]{64}")


def timeline_values(timeline: Timeline) -> dict[str, Any]:
    """Return a recorded timeline as plain values; raises NotAsWritten where it holds more than bounded values."""
    prices = list(dict.fromkeys(one.price for one in timeline.requests if one.price is not None))
    places = {price: place for place, price in enumerate(prices)}
    requests = columns_of(timeline.requests, REQUESTS | dict.fromkeys(("price", *USAGES), _ANY))
    requests["price"] = [None if one is None else places[one] for one in requests["price"]]
    for column in USAGES:
        requests[column] = [
            None if one is None else [getattr(one, name) for name in USAGE]
            for one in requests[column]
        ]
    found = {
        "version": TIMELINE_VERSION,
        "heads": [getattr(timeline, name) for name in HEADS],
        "gaps": list(timeline.gaps),
        "totals": list(timeline.recorded_totals),
        "unread": list(timeline.unread),
        "subagents": dict(timeline.subagents),
        "items": columns_of(timeline.items, ITEMS),
        "prices": [one.model_dump(mode="json") for one in prices],
        "requests": requests,
        "transitions": columns_of(timeline.transitions, TRANSITIONS),
        "events": columns_of(timeline.events, EVENTS),
    }
    if timeline_from(found) != timeline:
        raise NotAsWritten("The timeline would be read as another one.")
    return found


def timeline_from(value: object) -> Timeline:
    """Return the timeline of plain values, without texts and counters; raises NotAsWritten."""
    if not isinstance(value, dict) or value.get("version") != TIMELINE_VERSION:
        raise NotAsWritten("It is a timeline of another version.")
    heads = rows_of({"heads": value.get("heads")}, {"heads": MAYBE_TEXT})
    gaps = rows_of({"gaps": value.get("gaps")}, {"gaps": TEXT})
    cost, *counts = _totals(value.get("totals"))
    unread = rows_of({"unread": value.get("unread")}, {"unread": TEXT})
    if len(heads) != len(HEADS) or None in [one for (one,) in heads[:3]]:
        raise NotAsWritten("It has other heads.")
    items = _items(value.get("items"))
    requests = _requests(value.get("requests"), _prices(value.get("prices")), len(items))
    timeline = Timeline(
        **dict(zip(HEADS, (one for (one,) in heads), strict=True)),
        items=items,
        requests=requests,
        transitions=tuple(
            Transition(**row | {"numbers": plain(row["numbers"])})
            for row in _named(value.get("transitions"), TRANSITIONS)
        ),
        events=tuple(
            TimelineEvent(**row | {"numbers": plain(row["numbers"])})
            for row in _named(value.get("events"), EVENTS)
        ),
        gaps=tuple(one for (one,) in gaps),
        recorded_totals=RecordedTotals(cost, *counts),
        unread=tuple(one for (one,) in unread),
        subagents=_texts(value.get("subagents")),
    )
    _check(timeline)
    return timeline


def blobs_from(value: object) -> dict[str, str]:
    """Return the blobs of items that are no parts, by the items' ids; raises NotAsWritten."""
    if not isinstance(value, dict) or not all(
        isinstance(one, str) and BLOB.fullmatch(one) for one in value.values()
    ):
        raise NotAsWritten("These are no names of blobs.")
    return value


_ANY = ColumnType(frozenset({Price, Usage, type(None)}))


def _totals(value: object) -> RecordedTotals:
    """Return what a recording tells of the whole."""
    found = [one for (one,) in rows_of({"totals": value}, {"totals": NUMBER})]
    if len(found) != len(RecordedTotals._fields) or any(type(one) is float for one in found[1:]):
        raise NotAsWritten("These are other totals.")
    return RecordedTotals(*found)


def _texts(value: object) -> dict[str, str]:
    """Return texts by their names."""
    if not isinstance(value, dict):
        raise NotAsWritten("These are no names.")
    columns = {"names": [*value], "texts": [*value.values()]}
    return dict(rows_of(columns, {"names": TEXT, "texts": TEXT}))


def _items(value: object) -> tuple[TimelineItem, ...]:
    rows = _named(value, ITEMS)
    return tuple(
        TimelineItem(**row | {"covers": wholes(row["covers"], len(rows)) if row["covers"] else ()})
        for row in rows
    )


def _named(value: object, columns: Mapping[str, ColumnType]) -> list[dict[str, Any]]:
    """Return rows as fields by their names."""
    return [dict(zip(columns, row, strict=True)) for row in rows_of(value, columns)]


def _prices(value: object) -> list[Price]:
    try:
        return [Price.model_validate(plain(one)) for one in wanted(value)]
    except ValueError as error:
        raise NotAsWritten("These are no prices.") from error


def wanted(value: object) -> Sequence[Any]:
    """Return a list; raises NotAsWritten for anything else."""
    if not isinstance(value, list):
        raise NotAsWritten("It is no list.")
    return value


def _requests(value: object, prices: list[Price], items: int) -> tuple[TimelineRequest, ...]:
    found = []
    for given in _named(value, REQUESTS):
        price = given["price"]
        if price is not None:
            (price,) = wholes([price], len(prices))
        first, end = wholes(given["answer"], items + 1) if len(given["answer"]) == 2 else (1, 0)
        if first > end:
            raise NotAsWritten("An answer ends before it begins.")
        given |= {
            "price": None if price is None else prices[price],
            **{name: _usage(given[name]) for name in USAGES},
            "answer": (first, end),
        }
        found.append(TimelineRequest(**given))
    return tuple(found)


def _usage(value: list[Any] | None) -> Usage | None:
    if value is None:
        return None
    if len(value) != len(USAGE):
        raise NotAsWritten("These are other numbers of tokens.")
    wholes([one for one in value if type(one) is int], 1 << 53)
    try:
        found = Usage.model_validate(dict(zip(USAGE, value, strict=True)), strict=True)
    except ValueError as error:
        raise NotAsWritten("These are other numbers of tokens.") from error
    if found.service_tier is not None and found.service_tier not in SERVICE_TIERS:
        raise NotAsWritten("It is no service tier.")
    return found


def _check(timeline: Timeline) -> None:
    """Raise NotAsWritten where numbers do not fit together."""
    items, requests = len(timeline.items), len(timeline.requests)
    ordered = [one.request for one in timeline.transitions]
    counts = [one.items for one in timeline.requests]
    right = (
        [one.index for one in timeline.items] == [*range(items)]
        and [one.index for one in timeline.requests] == [*range(requests)]
        and counts == sorted(counts)
        and ordered == sorted(ordered)
    )
    if not right:
        raise NotAsWritten("Its rows are not in their order.")
    wholes(counts, items + 1)
    wholes(ordered, requests)
    wholes([one.item for one in timeline.transitions], items)
    wholes([one.request for one in timeline.events], requests + 1)
    wholes([one.entered for one in timeline.items], requests + 1)
    wholes([one.before for one in timeline.items if one.before is not None], items)
    wholes([one.chars for one in timeline.items], 1 << 53)
