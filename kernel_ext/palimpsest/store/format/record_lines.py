"""Read a line of the log no further than is needed: its number, and its head without its JSON.

The fold of a long session needs the place of every record but the content of few: a part that
was written ten times counts once. A line in the form that we write ourselves is recognised by
its head, so that its JSON is read only when somebody asks for the part. Any other line, such as
one that a person edited, is parsed by ``json.loads``.

A log is read in the order of its lines, and a record that was taken in before changes nothing. One
damaged digit must not make all that follows look old: a number that jumps ahead is believed, but
where the very next record falls back into what was jumped over, reading goes on from that one.
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
    """Something that takes in records in order."""

    def __init__(self, seq: int = 0) -> None:
        self.seq = seq
        """The number of the newest record that was taken in."""
        self._jumped = (0, 0)
        """The numbers between which the last jump left some out."""

    def is_new(self, seq: int) -> bool:
        """Take note of a record's number; False for one that was taken in before."""
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
"""The beginning of a line in our own form: group 1 is its number; which group matched last tells
the kind of record. Ids are plain ASCII in it: any other line is parsed before anything is believed."""

HIGHEST = (1 << 53) - 1
"""A larger number is none that we write, and a front end could not hold it."""

DEEPEST = 200
"""Values in values; pydantic writes no deeper ones than 255."""

_CHECK = re.compile(rb',"check":"([0-9a-f]{8})"\}$')
_HALVES = rb"\ud", rb"\uD"
"""How half a character is escaped; whole ones stand in a line as they are, as we write it."""

PART, DELTA, INFO, OTHER = 4, 6, 7, 8
"""``lastindex`` of a head: a part (groups 2 to 4: id, message, type), new words (5 and 6: message,
part), a message's info (7: id), anything else (8: its type)."""

REQUEST = "step.requested"
HEADER = "segment"
Json = dict[str, Any]

_TYPES = {PART: "message.part.updated", DELTA: "message.part.delta", INFO: "message.updated"}


def head_of(line: bytes) -> Head | None:
    """Read the head of a line in our own form, or return None."""
    found = HEAD.match(line)
    return found if found is not None and line[-1:] == b"}" else None


def seq_of(line: bytes) -> int | None:
    """Return the sequence number of a line, whatever its form, or None when it has none."""
    found = HEAD.match(line)
    if found is not None:
        return int(found[1])
    data = load_line(line)
    seq = None if data is None else data.get("seq")
    return seq if _is_number(seq) else None


def _is_number(value: Any) -> TypeGuard[int]:
    return type(value) is int and 0 <= value <= HIGHEST


def type_of(line: bytes) -> str:
    """Return the type of a line's record, whatever the line's form; empty when it has none."""
    found = HEAD.match(line)
    if found is not None:
        kind = found.lastindex or 0
        return _TYPES[kind] if kind in _TYPES else found[OTHER].decode("ascii")
    data = load_line(line)
    return "" if data is None else str(data.get("type", ""))


def load_line(line: bytes) -> dict[str, Any] | None:
    """Parse a line to an object; None when it is not one, or one that could not be written again."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or _is_too_deep(line, data):
        return None
    return with_joined_surrogates(data) if any(one in line for one in _HALVES) else data


def _is_too_deep(line: bytes, data: Any) -> bool:
    """Tell whether values are nested deeper than they can be written; looks only where they may be."""
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
    """Return an object's line with a checksum of it as the last field: for lines that others depend on."""
    return line[:-1] + b',"check":"%08x"}' % zlib.crc32(line[:-1])


def is_intact(line: bytes) -> bool:
    """Tell whether a line is as it was written; one without a checksum, of older versions, is believed."""
    found = _CHECK.search(line)
    return found is None or int(found[1], 16) == zlib.crc32(line[: found.start()])


class UnreadableLine(ValueError):
    """A line of the log that is no record, or a record that breaks its type's promise."""


def record_of(line: bytes, whole: Callable[[Json], Json] | None = None) -> Record | None:
    """Parse a line to a record; None for a type that this version does not know.

    ``whole`` gives the whole of what is written short (``FullRequests``). Raises Unreadable for
    anything broken, so that readers can skip and report it.
    """
    data = load_line(line)
    if data is None:
        raise UnreadableLine("The line is not a JSON object.")
    if data.get("type") == HEADER:
        return None  # a writer's that came too late, and somebody had said it for it
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
    """Parse a line to its event only, which is faster; raises and returns as ``record_of`` does.

    Fields that the record has and the event has not end up as extra fields of the event.
    """
    try:
        return EVENT_ADAPTER.validate_json(line)
    except ValidationError:
        record = record_of(line)
        return None if record is None else record.event


def is_unknown(error: ValidationError) -> bool:
    """Tell whether a value failed only because a newer version wrote a type we do not know."""
    return all(problem["type"] == "union_tag_invalid" for problem in error.errors())
