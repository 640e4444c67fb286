"""Write records and decisions as a page is told them: each decision carries its words.

Border: values to values. A log holds a decision's rule and numbers only; what a reader is told of it
is made when it is sent, by the very functions that write HTML and text (``render/content/decision_reasons.py``).
"""

from typing import Any

from palimpsest.render.content.decision_reasons import decision_sentence
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.session_record.events import DecisionMade, Record


def with_sentence(decision: Decision) -> Decision:
    """Return a decision with what a reader is told of it."""
    return decision.model_copy(update={"words": decision_sentence(decision)})


def page_record(record: Record) -> dict[str, Any]:
    """Return a record as a notice carries it."""
    event = record.event
    if isinstance(event, DecisionMade):
        told = event.model_copy(update={"decision": with_sentence(event.decision)})
        return record.model_copy(update={"event": told}).wire()
    return record.wire()
