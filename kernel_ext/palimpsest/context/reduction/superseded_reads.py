"""Find outputs of file reads that are out of date: the file was read again, or changed, later.

Border: pure; it uses the names and inputs of calls alone, never the disk. Such an output
is the first to be cleared: the newer one shows what the file holds now.
"""

import posixpath
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import ToolCompleted, ToolPart

READS = frozenset({"read"})
CHANGES = frozenset({"write", "edit", "multiedit"})
PATH_NAMES = ("path", "file_path", "filePath")
"""Names of a call's path argument: ours, and those of other agents whose sessions are imported."""
DEFAULT_LINES = 2_000
"""Lines that a read shows without a ``limit`` argument."""

Reason = Literal["read-again", "changed"]


@dataclass(frozen=True, slots=True)
class NewerCall:
    """The call that made an earlier read out of date."""

    part_id: str
    reason: Reason


@dataclass(frozen=True, slots=True)
class FileCall:
    """A completed call that may have read or changed a file."""

    part_id: str
    tool: str
    input: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Seen:
    first: int
    last: float
    newer: NewerCall


def superseded(messages: Messages, shown: Iterable[str]) -> dict[str, NewerCall]:
    """Map reads that are out of date to the newest call that made them so.

    ``shown`` are the parts whose outputs are shown: a read that was cleared replaces nothing.
    """
    return superseded_calls(_calls_newest_first(messages), frozenset(shown))


def superseded_calls(newest_first: Iterable[FileCall], visible: Set[str]) -> dict[str, NewerCall]:
    """Map reads that are out of date to the newest call that made them so; other tools are passed over."""
    found: dict[str, NewerCall] = {}
    later: dict[str, list[_Seen]] = {}
    for call in newest_first:
        path = _path(call.input)
        if path is None:
            continue
        if call.tool in CHANGES:
            newer = NewerCall(call.part_id, "changed")
            later.setdefault(path, []).append(_Seen(1, float("inf"), newer))
        elif call.tool in READS:
            first, last = _lines(call.input)
            for seen in later.get(path, ()):
                if seen.first <= first and last <= seen.last:
                    found[call.part_id] = seen.newer
                    break
            if call.part_id in visible:
                newer = NewerCall(call.part_id, "read-again")
                later.setdefault(path, []).append(_Seen(first, last, newer))
    return found


def _calls_newest_first(messages: Messages) -> Iterable[FileCall]:
    for message in reversed(messages):
        for part in reversed(message.parts):
            if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted):
                yield FileCall(part.id, part.tool, part.state.input)


def _path(given: Mapping[str, Any]) -> str | None:
    for name in PATH_NAMES:
        path = given.get(name)
        if isinstance(path, str) and path:
            return posixpath.normpath(path.replace("\\", "/"))
    return None


def _lines(given: Mapping[str, Any]) -> tuple[int, float]:
    """Return the first and last line that a read requested."""
    first = _number(given.get("offset"), 1)
    return first, first + _number(given.get("limit"), DEFAULT_LINES) - 1


def _number(value: object, otherwise: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else otherwise
