"""Redact secrets and join split surrogates in events and streamed deltas before they are journaled.

Border: knows events; the patterns of secrets are in ``transcript/redaction/secret_patterns.py``. The state
is built from the redacted events, and requests from the state, so the log contains what was sent.
"""

from collections.abc import Callable, Iterable, Iterator

from palimpsest.transcript.parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.redaction.structured_values import redacted_event
from palimpsest.transcript.redaction.text import SecretStream, scrub
from palimpsest.transcript.session_record.events import (
    Checkpoint,
    Event,
    PartDelta,
    PartUpdated,
    StepRequested,
)
from palimpsest.transcript.strings.surrogates import joined_surrogates, with_joined_surrogates

Known = Callable[[], Iterable[str]]
"""A function that returns the values that are secret now."""

TEXT = "text"
RAW = "state.raw"
OUTPUT = "state.metadata.output"


def nothing_known() -> Iterable[str]:
    """Return no values; secrets are then found by their patterns only."""
    return ()


class Redaction:
    """Redacts the events and deltas of one journal.

    Responsibilities: hold back, for each string that is still streamed, text that may become a secret.
    """

    def __init__(self, known: Known = nothing_known) -> None:
        self._known = known
        self._streams: dict[str, tuple[str, SecretStream]] = {}
        """By part id: the field that is streamed, and the state of its redaction."""
        self._messages: dict[str, str] = {}
        """The message id of each part that received deltas."""

    def piece(self, message_id: str, part_id: str, field: str, text: str) -> str:
        """Return the text that may be written now that a delta arrived; the rest is held back."""
        self._messages[part_id] = message_id
        name, stream = self._streams.get(part_id, ("", None))
        if stream is None or name != field:
            stream = SecretStream()
            self._streams[part_id] = field, stream
        return stream.feed(text, self._known())

    def ends(self) -> Iterator[PartDelta]:
        """Yield, when no more deltas come, those for surrogates whose second half never arrived."""
        for part_id, (field, stream) in self._streams.items():
            if stream.half and part_id in self._messages:
                yield PartDelta(
                    message_id=self._messages[part_id],
                    part_id=part_id,
                    field=field,
                    delta=joined_surrogates(stream.half),
                )

    def event(self, event: Event, before: Callable[[str, str], Part | None]) -> Event:
        """Return the redacted event; ``before`` returns a part's state by message id and part id."""
        values = tuple(self._known())
        found = redacted_event(_whole(event), lambda text: scrub(joined_surrogates(text), values))
        if not isinstance(event, PartUpdated) or not isinstance(found, PartUpdated):
            return found
        growing = _growing(event.part)
        if growing is None:
            self._streams.pop(event.part.id, None)
            self._messages.pop(event.part.id, None)
            return found
        field, text = growing
        if self._streams.get(event.part.id, ("", None))[0] == field:
            written = before(event.part.message_id, event.part.id)
            # The part changed in another field: held-back text is written with the next delta.
            if written is not None and _growing(found.part) == _growing(written):
                return found
        stream = SecretStream()
        self._streams[event.part.id] = field, stream
        return PartUpdated(part=_with(found.part, stream.feed(text, values)))


def _whole(event: Event) -> Event:
    """Return the event with surrogates joined; checkpoints and requests repeat text that has them joined."""
    return event if isinstance(event, Checkpoint | StepRequested) else with_joined_surrogates(event)


def _growing(part: Part) -> tuple[str, str] | None:
    """Return the field and text of a part's string that is still streamed, or None."""
    if isinstance(part, TextPart | ReasoningPart):
        open_ended = part.time is not None and part.time.end is None
        return (TEXT, part.text) if open_ended else None
    if isinstance(part, ToolPart) and isinstance(part.state, ToolPending):
        return RAW, part.state.raw
    if isinstance(part, ToolPart) and isinstance(part.state, ToolRunning):
        output = part.state.metadata.get("output")
        return OUTPUT, output if isinstance(output, str) else ""
    return None


def _with(part: Part, text: str) -> Part:
    """Return a part that is still streamed with ``text`` as its string."""
    if isinstance(part, TextPart | ReasoningPart):
        return part if part.text == text else part.model_copy(update={"text": text})
    if isinstance(part, ToolPart) and isinstance(part.state, ToolPending):
        if part.state.raw == text:
            return part
        return part.model_copy(update={"state": part.state.model_copy(update={"raw": text})})
    if isinstance(part, ToolPart) and isinstance(part.state, ToolRunning):
        if part.state.metadata.get("output", "") == text:
            return part
        metadata = {**part.state.metadata, "output": text}
        state = part.state.model_copy(update={"metadata": metadata})
        return part.model_copy(update={"state": state})
    return part
