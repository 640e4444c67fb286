"""Convert records and decisions for a page: decisions get sentences, and what no page needs is left out.

Border: values to values. A log holds a decision's rule and numbers only; the sentence for a reader is
made when it is sent, by the same functions that write HTML and text
(``render/content/decision_reasons.py``).
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
"""What a page shows of a request: how full the context window is. The rest, three quarters, stays in the log."""

WHOLE = frozenset({"message.part.updated", "message.updated", "session.updated"})
"""Types of records that hold a value whole, so that the last one counts."""

_Name = tuple[str, str]


def with_sentence(decision: Decision) -> Decision:
    """Return a decision with the sentence that explains it."""
    return decision.model_copy(update={"words": decision_sentence(decision)})


def page_record(record: Record) -> dict[str, Any]:
    """Return a record in the form of a notice."""
    event = record.event
    if isinstance(event, DecisionMade):
        told = event.model_copy(update={"decision": with_sentence(event.decision)})
        return record.model_copy(update={"event": told}).wire()
    if isinstance(event, StepRequested):
        request = event.request.model_dump(mode="json", include=REQUEST_FIELDS, exclude_none=True)
        head = {"v": record.v, "seq": record.seq, "ts": record.ts}
        return {**head, "type": event.type, "request": request}
    return record.wire()


def without_replaced(batch: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return a batch without what a later record of it replaces; a page folds both to the same.

    The first record stays, since its number tells a page whether one is missing, and so does the first of each value,
    which gives the value its place. A page may know the batch in part: what is left is enough from any number on.
    """
    placing, seen = {0}, set[_Name]()
    for number, record in enumerate(batch):
        if record["type"].endswith(".removed"):
            seen.clear()
        elif record["type"] in WHOLE and (name := _name(record)) not in seen:
            seen.add(name)
            placing.add(number)
    kept, later = list[dict[str, Any]](), set[_Name]()
    for number in reversed(range(len(batch))):
        record, name = batch[number], _name(batch[number])
        if number in placing or name not in later:
            kept.append(record)
        if record["type"] in WHOLE:
            later.add(name)
    return tuple(reversed(kept))


def _name(record: dict[str, Any]) -> _Name:
    """Return which value a record is about; a record of another type is about itself."""
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
