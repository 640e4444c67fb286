"""Convert records and decisions for a page: add sentences to decisions, and omit fields that no page uses.

Border: values only. A log holds a decision's rule and numbers only; the sentence for a reader is built when it is sent,
by the functions that also write HTML and text (``render/content/decision_reasons.py``).
"""

from collections.abc import Sequence
from typing import Any

from palimpsest.render.content.decision_reasons import decision_sentence
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.session_record.events import DecisionMade, Record, StepRequested

REQUEST_FIELDS: dict[str, Any] = {
    **dict.fromkeys(("purpose", "message_id", "tokens", "kinds"), True),
    "facts": {"window", "reserve"},
}
"""Fields of a request that a page shows, for the fill of the context window; a quarter of its size in the log."""

COMPLETE_VALUES = frozenset({"message.part.updated", "message.updated", "session.updated"})
"""Types of records that hold a complete value, so that only the last one counts."""

_ValueKey = tuple[str, str]


def with_sentence(decision: Decision) -> Decision:
    """Return a decision with the sentence that explains it."""
    return decision.model_copy(update={"words": decision_sentence(decision)})


def page_record(record: Record) -> dict[str, Any]:
    """Return a record in the form of a notice."""
    event = record.event
    if isinstance(event, DecisionMade):
        explained_event = event.model_copy(update={"decision": with_sentence(event.decision)})
        return record.model_copy(update={"event": explained_event}).wire()
    if isinstance(event, StepRequested):
        request = event.request.model_dump(mode="json", include=REQUEST_FIELDS, exclude_none=True)
        header = {"v": record.v, "seq": record.seq, "ts": record.ts}
        return {**header, "type": event.type, "request": request}
    return record.wire()


def without_replaced(batch: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return a batch without records that a later one replaces; a page's state is the same for both.

    The first record stays, since its number shows a page whether records are missing, and so does the first of each value,
    which determines the value's position. A page may have part of the batch: the rest is enough from any number on.
    """
    kept_indexes, seen_keys = {0}, set[_ValueKey]()
    for index, record in enumerate(batch):
        if record["type"].endswith(".removed"):
            seen_keys.clear()
        elif record["type"] in COMPLETE_VALUES and (key := _value_key(record)) not in seen_keys:
            seen_keys.add(key)
            kept_indexes.add(index)
    remaining_records, later_keys = list[dict[str, Any]](), set[_ValueKey]()
    for index in reversed(range(len(batch))):
        record, key = batch[index], _value_key(batch[index])
        if index in kept_indexes or key not in later_keys:
            remaining_records.append(record)
        if record["type"] in COMPLETE_VALUES:
            later_keys.add(key)
    return tuple(reversed(remaining_records))


def _value_key(record: dict[str, Any]) -> _ValueKey:
    """Return the key of the value that a record changes; other records have their own key."""
    match record:
        case {"type": "message.part.updated", "part": part}:
            return part["message_id"], part["id"]
        case {"type": "message.part.delta"}:
            return record["message_id"], record["part_id"]
        case {"type": "message.updated", "info": info}:
            return info["id"], ""
        case {"type": "session.updated"}:
            return "", ""
        case _:
            return "", str(record["seq"])
