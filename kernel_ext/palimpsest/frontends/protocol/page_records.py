"""Convert records and decisions for a page: each decision gets a sentence that explains it.

Border: values to values. A log holds a decision's rule and numbers only; the sentence for a reader is
made when it is sent, by the same functions that write HTML and text
(``render/content/decision_reasons.py``).
"""

from typing import Any

from palimpsest.render.content.decision_reasons import decision_sentence
from palimpsest.transcript.context_values.decisions import Decision
from palimpsest.transcript.session_record.events import DecisionMade, Record


def with_sentence(decision: Decision) -> Decision:
    """Return a decision with the sentence that explains it."""
    return decision.model_copy(update={"words": decision_sentence(decision)})


def page_record(record: Record) -> dict[str, Any]:
    """Return a record in the form of a notice."""
    event = record.event
    if isinstance(event, DecisionMade):
        told = event.model_copy(update={"decision": with_sentence(event.decision)})
        return record.model_copy(update={"event": told}).wire()
    return record.wire()
