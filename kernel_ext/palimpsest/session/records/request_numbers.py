"""Number the requests of a session as inspectors do: each answered step once, from 1.

Border: pure; records in, numbers out.
"""

from collections.abc import Iterable

from palimpsest.transcript.session_record.events import Record, StepRequested

REQUEST_EVENTS = frozenset({"step.requested"})
"""The types of the records by which requests are numbered."""


def numbered_requests(records: Iterable[Record]) -> list[str]:
    """Return the ids of the messages that answer the session's requests, oldest first; the first has number 1."""
    return list(
        dict.fromkeys(
            record.event.request.message_id
            for record in records
            if isinstance(record.event, StepRequested)
            and record.event.request.purpose == "step"
            and record.event.request.message_id is not None
        )
    )
