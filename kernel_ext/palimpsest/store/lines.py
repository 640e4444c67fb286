"""Look at a line of the log without parsing it.

The fold of a long session needs the place of every record but the content of few: a part that
was written ten times counts once. A line in the form that we write ourselves is recognised by
its head, so that its JSON is read only when somebody asks for the part. Any other line, such as
one that a person edited, takes the slow road through ``json.loads``.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from palimpsest.transcript.events import Record, parse_record

HEAD = re.compile(rb'\{"v":\d+,"seq":(\d+),"ts":(\d+),"type":"([a-z.]+)"')
PART = re.compile(
    rb',"part":\{"id":"([^"\\]+)","session_id":"[^"\\]*","message_id":"([^"\\]+)","type":"([^"\\]+)"'
)
DELTA = re.compile(
    rb',"message_id":"([^"\\]+)","part_id":"([^"\\]+)","field":"([^"\\]+)","delta":"'
)
INFO = re.compile(rb',"info":\{"role":"(?:user|assistant)","id":"([^"\\]+)"')


@dataclass(frozen=True, slots=True)
class Head:
    """What the beginning of a line tells."""

    seq: int
    ts: int
    type: str
    end: int
    """Where the event's own fields begin."""


def head_of(line: bytes) -> Head | None:
    """Read the head of a line in our own form, or return None."""
    found = HEAD.match(line)
    if found is None or not line.endswith(b"}"):
        return None
    return Head(int(found[1]), int(found[2]), found[3].decode(), found.end())


def seq_of(line: bytes) -> int | None:
    """Return the sequence number of a line, whatever its form, or None when it has none."""
    found = HEAD.match(line)
    if found is not None:
        return int(found[1])
    data = load_line(line)
    seq = None if data is None else data.get("seq")
    return seq if isinstance(seq, int) else None


def load_line(line: bytes) -> dict[str, Any] | None:
    """Parse a line to an object; None when it is not one."""
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


class Unreadable(ValueError):
    """A line of the log that is no record, or a record that breaks its type's promise."""


def record_of(line: bytes) -> Record | None:
    """Parse a line to a record; None for a type that this version does not know.

    Raises Unreadable for anything broken, so that readers can skip and report it.
    """
    data = load_line(line)
    if data is None:
        raise Unreadable("The line is not a JSON object.")
    try:
        return parse_record(data)
    except KeyError as error:
        raise Unreadable(f"The record has no {error.args[0]!r}.") from error
    except ValidationError as error:
        if is_unknown(error):
            return None
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise Unreadable(f"The record is not valid at {where!r}: {first['msg']}.") from error


def is_unknown(error: ValidationError) -> bool:
    """Tell whether a value failed only because a newer version wrote a type we do not know."""
    return all(problem["type"] == "union_tag_invalid" for problem in error.errors())
