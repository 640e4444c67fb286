"""What a call that changes cells must know of its session: which cells the prompt names, and the number of its request.

Border: pure; messages and records in, values out.
"""

from collections.abc import Iterable

from palimpsest.session.prompts.prompt_syntax import notebook_mentions
from palimpsest.transcript.messages import Messages, UserMessage
from palimpsest.transcript.parts import TextPart
from palimpsest.transcript.session_record.events import Record, StepRequested

REQUEST_EVENTS = frozenset({"step.requested"})


def mentioned_cells(messages: Messages) -> frozenset[str]:
    """Return the numbers of the cells that the user names in the present prompt, and in prompts that joined its turn."""
    numbers: set[str] = set()
    for message in reversed(messages):
        info = message.info
        if not isinstance(info, UserMessage) or info.by_engine:
            continue
        texts = [
            part.text for part in message.parts if isinstance(part, TextPart) and not part.synthetic
        ]
        numbers.update(
            mention.target
            for text in texts
            for mention in notebook_mentions(text)
            if mention.kind in ("cell", "out", "error") and mention.target
        )
        if not info.joins:
            break
    return frozenset(numbers)


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
