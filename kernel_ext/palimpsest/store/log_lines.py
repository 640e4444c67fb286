"""Redact the events of a log, and read its lines: the head first, the JSON only when it is needed.

Secrets are redacted and split surrogates joined in events and streamed deltas before they are journaled; the patterns
of secrets are in ``transcript/redaction/secret_patterns.py``. The state is built from the redacted events, and
requests from the state, so the log contains what was sent.

Loading a long session needs the number and type of every record but the content of few: a part that was written ten
times counts once. A line in the format that is written here is recognised by its head, so that its JSON is parsed only
when the value is read. Any other line, such as a line that was edited by hand, is parsed by ``json.loads``.

A log is read in the order of its lines, and a record that was applied before changes nothing. One
damaged digit must not make all later records look old: a number that jumps ahead is accepted, but
if the next record falls back into the skipped range, numbering continues from that record.
"""

import json
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeGuard

from pydantic import ValidationError

from palimpsest.transcript.parts import (
    Part,
    ReasoningPart,
    TextPart,
    ToolPart,
    ToolPending,
    ToolRunning,
)
from palimpsest.transcript.redaction.secret_patterns import SecretStream, scrub
from palimpsest.transcript.redaction.secret_removal import redacted_event
from palimpsest.transcript.session_record.events import (
    EVENT_ADAPTER,
    Event,
    PartDelta,
    PartUpdated,
    Record,
    parse_record,
)
from palimpsest.transcript.strings.surrogates import joined_surrogates, with_joined_surrogates

SecretValues = Callable[[], Iterable[str]]
"""A function that returns the values that are secret now."""

TEXT_FIELD = "text"
RAW_FIELD = "state.raw"
OUTPUT_FIELD = "state.metadata.output"
"""The fields of parts that are streamed: a text, the arguments of a tool call as JSON, and a tool's output."""


def no_secret_values() -> Iterable[str]:
    """Return no values; secrets are then found by their patterns only."""
    return ()


class Redaction:
    """Redacts the events and deltas of one journal.

    Of each string that is still streamed, it holds back the end while that may be the beginning of a secret.
    """

    def __init__(self, secret_values: SecretValues = no_secret_values) -> None:
        self._secret_values = secret_values
        self._streams: dict[str, tuple[str, SecretStream]] = {}
        """By part id: the field that is streamed, and the state of its redaction."""
        self._message_ids: dict[str, str] = {}
        """The message id of each part that received deltas."""

    def redacted_delta(self, message_id: str, part_id: str, field: str, text: str) -> str:
        """Return the text that may be written after a delta; the possible beginning of a secret is held back."""
        self._message_ids[part_id] = message_id
        streamed_field, stream = self._streams.get(part_id, ("", None))
        if stream is None or streamed_field != field:
            stream = SecretStream()
            self._streams[part_id] = field, stream
        return stream.redact_piece(text, self._secret_values())

    def unfinished_deltas(self) -> Iterator[PartDelta]:
        """Yield, after the last delta, deltas for surrogates whose second half never arrived."""
        for part_id, (field, stream) in self._streams.items():
            if stream.half_surrogate and part_id in self._message_ids:
                yield PartDelta(
                    message_id=self._message_ids[part_id],
                    part_id=part_id,
                    field=field,
                    delta=joined_surrogates(stream.half_surrogate),
                )

    def event(self, event: Event, part_before: Callable[[str, str], Part | None]) -> Event:
        """Return the redacted event; ``part_before`` returns a part's state by message id and part id."""
        values = tuple(self._secret_values())
        redacted = redacted_event(event, partial(scrub, values=values))
        if not isinstance(event, PartUpdated) or not isinstance(redacted, PartUpdated):
            return redacted
        field_and_text = _streamed_field(event.part)
        if field_and_text is None:
            self._streams.pop(event.part.id, None)
            self._message_ids.pop(event.part.id, None)
            return redacted
        field, text = field_and_text
        if self._streams.get(event.part.id, ("", None))[0] == field:
            earlier_part = part_before(event.part.message_id, event.part.id)
            # The part changed in another field: held-back text is written with the next delta.
            if earlier_part is not None and _streamed_field(redacted.part) == _streamed_field(
                earlier_part
            ):
                return redacted
        stream = SecretStream()
        self._streams[event.part.id] = field, stream
        text = stream.redact_piece(text, values)
        return PartUpdated(part=_with_streamed_text(redacted.part, text))


def _streamed_field(part: Part) -> tuple[str, str] | None:
    """Return the field and text of a part's string that is still streamed, or None."""
    if isinstance(part, TextPart | ReasoningPart):
        is_streamed = part.time is not None and part.time.end is None
        return (TEXT_FIELD, part.text) if is_streamed else None
    if isinstance(part, ToolPart) and isinstance(part.state, ToolPending):
        return RAW_FIELD, part.state.raw
    if isinstance(part, ToolPart) and isinstance(part.state, ToolRunning):
        output = part.state.metadata.get("output")
        return OUTPUT_FIELD, output if isinstance(output, str) else ""
    return None


def _with_streamed_text(part: Part, text: str) -> Part:
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


class RecordNumbering:
    """Tracks the sequence numbers of records that are read in order."""

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        """The sequence number of the newest record."""
        self._last_jump = (0, 0)
        """The numbers before and after the last jump."""

    def note_if_new(self, seq: int) -> bool:
        """Note a record's sequence number; False for a record that was noted before."""
        jump_start, jump_end = self._last_jump
        if seq > self.seq:
            if seq > self.seq + 1:
                self._last_jump = self.seq, seq
        elif self.seq == jump_end and jump_start < seq < jump_end:
            self._last_jump = jump_start, seq
        else:
            return False
        self.seq = seq
        return True


_NAME = rb"([!#-\[\]-~]+)"
HEAD = re.compile(
    rb'\{"v":\d+,"seq":(\d{1,15}),"ts":\d{1,15},"type":"(?:'
    rb'message\.part\.updated","part":\{"id":"' + _NAME + rb'","session_id":"[^"\\]*"'
    rb',"message_id":"' + _NAME + rb'","type":"([a-z-]+)"'
    rb'|message\.part\.delta","message_id":"' + _NAME + rb'","part_id":"' + _NAME + rb'","field":"'
    rb'|message\.updated","info":\{"role":"(?:user|assistant)","id":"' + _NAME + rb'"'
    rb'|([a-z.]+)")'
)
Head = re.Match[bytes]
"""The beginning of a line in the format written here: group 1 is its number, and the last group that matched shows
the kind of record. Ids in it are plain ASCII; a line with other ids is parsed as JSON."""

MAX_NUMBER = (1 << 53) - 1
"""The largest valid sequence number or time: JavaScript cannot represent larger integers exactly."""

MAX_DEPTH = 200
"""Maximum nesting depth of a line's JSON; pydantic cannot serialize more than 255 levels."""

_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"\}$')
_SURROGATE_ESCAPES = rb"\ud", rb"\uD"
"""The beginning of a surrogate's escape; whole characters are written unescaped."""

PART, DELTA, INFO, OTHER = 4, 6, 7, 8
"""``lastindex`` of a head: a part (groups 2 to 4: id, message, type), a delta (5 and 6: message,
part), a message's info (7: id), anything else (8: its type)."""

REQUEST_TYPE = "step.requested"
HEADER_TYPE = "segment"
Json = dict[str, Any]

_TYPES = {PART: "message.part.updated", DELTA: "message.part.delta", INFO: "message.updated"}


def head_of(line: bytes) -> Head | None:
    """Return the head of a line in the format written here, or None."""
    match = HEAD.match(line)
    return match if match is not None and line[-1:] == b"}" else None


def seq_of(line: bytes) -> int | None:
    """Return the sequence number of a line in any format, or None when it has none."""
    match = HEAD.match(line)
    if match is not None:
        return int(match[1])
    data = load_line(line)
    seq = None if data is None else data.get("seq")
    return seq if _is_number(seq) else None


def _is_number(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= MAX_NUMBER


def type_of(line: bytes) -> str:
    """Return the record type of a line in any format; empty when it has none."""
    match = HEAD.match(line)
    if match is not None:
        head_kind = match.lastindex or 0
        return _TYPES[head_kind] if head_kind in _TYPES else match[OTHER].decode("ascii")
    data = load_line(line)
    return "" if data is None else str(data.get("type", ""))


def load_line(line: bytes) -> dict[str, Any] | None:
    """Parse a line to a dict; None when it is not a JSON object or is nested too deep to be written again."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or _is_too_deep(line, data):
        return None
    has_surrogates = any(escape in line for escape in _SURROGATE_ESCAPES)
    return with_joined_surrogates(data) if has_surrogates else data


def _is_too_deep(line: bytes, data: Any) -> bool:
    """Return whether values are nested deeper than ``MAX_DEPTH``; walks them only if brackets allow it."""
    if line.count(b"[") + line.count(b"{") <= MAX_DEPTH:
        return False
    level = [data]
    for _ in range(MAX_DEPTH):
        inner = [list(value.values()) if isinstance(value, dict) else value for value in level]
        level = [item for values in inner for item in values if isinstance(item, dict | list)]
        if not level:
            return False
    return True


def checked_line(line: bytes) -> bytes:
    """Return an object's line with its CRC-32 as the last field, for lines that others depend on."""
    return line[:-1] + b',"check":"%08x"}' % zlib.crc32(line[:-1])


def is_intact(line: bytes) -> bool:
    """Return whether a line's checksum matches; also true without one, as in lines of older versions."""
    match = _CHECK.search(line)
    return match is None or int(match[1], 16) == zlib.crc32(line[: match.start()])


class UnreadableLine(ValueError):
    """A line of the log that is not a record, or a record that is invalid for its type."""


def readable_record(line: bytes, expand: Callable[[Json], Json]) -> Record | None:
    """Parse a line as ``record_of`` does; None also for a line that is no record."""
    try:
        return record_of(line, expand)
    except UnreadableLine:
        return None


def record_of(line: bytes, expand: Callable[[Json], Json] | None = None) -> Record | None:
    """Parse a line to a record; None for a type that this version does not know.

    ``expand`` restores shortened requests (``FullRequests.filled_record``). Raises UnreadableLine for anything
    broken, so that readers can skip and report it.
    """
    data = load_line(line)
    if data is None:
        raise UnreadableLine("The line is not a JSON object.")
    if data.get("type") == HEADER_TYPE:
        return None  # a second header: another process had already written one when this one was written
    if expand is not None and data.get("type") == REQUEST_TYPE:
        try:
            data = expand(data)
        except ValueError as error:
            raise UnreadableLine(str(error)) from error
    if not _is_number(data.get("seq", 0)) or not _is_number(data.get("ts", 0)):
        raise UnreadableLine("The number or the time of the record is not valid.")
    try:
        return parse_record(data)
    except KeyError as error:
        raise UnreadableLine(f"The record has no {error.args[0]!r}.") from error
    except ValidationError as error:
        if is_unknown(error):
            return None
        first_error = error.errors(include_url=False)[0]
        location = ".".join(str(step) for step in first_error["loc"])
        raise UnreadableLine(
            f"The record is not valid at {location!r}: {first_error['msg']}."
        ) from error


def event_in(line: bytes) -> Event | None:
    """Parse a line to its event only, which is faster; returns None and raises as ``record_of`` does.

    Fields of the record, such as its number, become extra fields of the event.
    """
    try:
        return EVENT_ADAPTER.validate_json(line)
    except ValidationError:
        record = record_of(line)
        return None if record is None else record.event


def is_unknown(error: ValidationError) -> bool:
    """Return whether validation failed only because of a type that this version does not know."""
    return all(problem["type"] == "union_tag_invalid" for problem in error.errors())
