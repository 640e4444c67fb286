"""Read a line of the log lazily: its sequence number and its head, without parsing its JSON.

Loading a long session needs the number and type of every record but the content of few: a part that
was written ten times counts once. A line in the format that we write is recognised by its head, so
that its JSON is parsed only when the value is read. Any other line, such as one that was edited by
hand, is parsed by ``json.loads``.

A log is read in the order of its lines, and a record that was applied before changes nothing. One
damaged digit must not make all later records look old: a number that jumps ahead is accepted, but
if the next record falls back into the skipped range, numbering continues from that record.
"""

import json
import re
import zlib
from collections.abc import Callable
from typing import Any, TypeGuard

from pydantic import ValidationError

from palimpsest.transcript.session_record.events import EVENT_ADAPTER, Event, Record, parse_record
from palimpsest.transcript.strings.surrogates import with_joined_surrogates


class RecordNumbering:
    """Tracks the sequence numbers of records that are read in order."""

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        """The sequence number of the newest record."""
        self._jumped = (0, 0)
        """The numbers before and after the last jump."""

    def is_new(self, seq: int) -> bool:
        """Note a record's sequence number; False for a record that was noted before."""
        low, high = self._jumped
        if seq > self.seq:
            if seq > self.seq + 1:
                self._jumped = self.seq, seq
        elif self.seq == high and low < seq < high:
            self._jumped = low, seq
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
"""The beginning of a line in our own format: group 1 is its number, and the last group that matched shows
the kind of record. Ids in it are plain ASCII; a line with others is parsed as JSON."""

HIGHEST = (1 << 53) - 1
"""The largest valid sequence number or time: JavaScript cannot represent larger integers exactly."""

DEEPEST = 200
"""Maximum nesting depth of a line's JSON; pydantic cannot serialize more than 255 levels."""

_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"\}$')
_HALVES = rb"\ud", rb"\uD"
"""How the escape of a surrogate begins; we write whole characters unescaped."""

PART, DELTA, INFO, OTHER = 4, 6, 7, 8
"""``lastindex`` of a head: a part (groups 2 to 4: id, message, type), a delta (5 and 6: message,
part), a message's info (7: id), anything else (8: its type)."""

REQUEST = "step.requested"
HEADER = "segment"
Json = dict[str, Any]

_TYPES = {PART: "message.part.updated", DELTA: "message.part.delta", INFO: "message.updated"}


def head_of(line: bytes) -> Head | None:
    """Return the head of a line in our own format, or None."""
    found = HEAD.match(line)
    return found if found is not None and line[-1:] == b"}" else None


def seq_of(line: bytes) -> int | None:
    """Return the sequence number of a line in any format, or None when it has none."""
    found = HEAD.match(line)
    if found is not None:
        return int(found[1])
    data = load_line(line)
    seq = None if data is None else data.get("seq")
    return seq if _is_number(seq) else None


def _is_number(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= HIGHEST


def type_of(line: bytes) -> str:
    """Return the record type of a line in any format; empty when it has none."""
    found = HEAD.match(line)
    if found is not None:
        kind = found.lastindex or 0
        return _TYPES[kind] if kind in _TYPES else found[OTHER].decode("ascii")
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
    return with_joined_surrogates(data) if any(one in line for one in _HALVES) else data


def _is_too_deep(line: bytes, data: Any) -> bool:
    """Return whether values are nested deeper than ``DEEPEST``; walks them only if brackets allow it."""
    if line.count(b"[") + line.count(b"{") <= DEEPEST:
        return False
    level = [data]
    for _ in range(DEEPEST):
        inner = [list(value.values()) if isinstance(value, dict) else value for value in level]
        level = [one for values in inner for one in values if isinstance(one, dict | list)]
        if not level:
            return False
    return True


def checked_line(line: bytes) -> bytes:
    """Return an object's line with its CRC-32 as the last field, for lines that others depend on."""
    return line[:-1] + b',"check":"%08x"}' % zlib.crc32(line[:-1])


def is_intact(line: bytes) -> bool:
    """Return whether a line's checksum matches; also true without one, as in lines of older versions."""
    found = _CHECK.search(line)
    return found is None or int(found[1], 16) == zlib.crc32(line[: found.start()])


class UnreadableLine(ValueError):
    """A line of the log that is not a record, or a record that is invalid for its type."""


def record_of(line: bytes, whole: Callable[[Json], Json] | None = None) -> Record | None:
    """Parse a line to a record; None for a type that this version does not know.

    ``whole`` expands shortened requests (``FullRequests.fill``). Raises UnreadableLine for anything
    broken, so that readers can skip and report it.
    """
    data = load_line(line)
    if data is None:
        raise UnreadableLine("The line is not a JSON object.")
    if data.get("type") == HEADER:
        return None  # a late header of a writer for which another process had written one already
    if whole is not None and data.get("type") == REQUEST:
        try:
            data = whole(data)
        except ValueError as error:
            raise UnreadableLine(str(error)) from error
    if not _is_number(data.get("seq", 0)) or not _is_number(data.get("ts", 0)):
        raise UnreadableLine("The number or the time of the record is none that can be.")
    try:
        return parse_record(data)
    except KeyError as error:
        raise UnreadableLine(f"The record has no {error.args[0]!r}.") from error
    except ValidationError as error:
        if is_unknown(error):
            return None
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise UnreadableLine(f"The record is not valid at {where!r}: {first['msg']}.") from error


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
