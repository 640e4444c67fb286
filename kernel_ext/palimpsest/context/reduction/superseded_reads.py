"""Find outputs of file reads that are out of date: the file was read again, or changed, later.

Border: pure; it uses the names and inputs of calls alone, never the disk. Such an output
is cleared first, since the newer call shows the file's present content.
"""

import posixpath
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from typing import Any, Literal

from palimpsest.transcript.messages import Messages
from palimpsest.transcript.parts import ToolCompleted, ToolPart

READING_TOOLS = frozenset({"read"})
CHANGING_TOOLS = frozenset({"write", "edit", "multiedit"})
PATH_ARGUMENTS = ("path", "file_path", "filePath")
"""Names of a call's path argument, also of other agents whose sessions are imported."""
DEFAULT_LINE_COUNT = 2_000
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
class _LaterCall:
    """A later call on a file, and the lines that it read or changed."""

    first_line: int
    last_line: float
    newer_call: NewerCall


def newer_calls(messages: Messages, shown_part_ids: Iterable[str]) -> dict[str, NewerCall]:
    """Map outdated reads to the newest call that made them so.

    ``shown_part_ids`` are those of the calls whose outputs are shown: a cleared read makes no other read outdated.
    """
    calls = (
        FileCall(part.id, part.tool, part.state.input)
        for message in reversed(messages)
        for part in reversed(message.parts)
        if isinstance(part, ToolPart) and isinstance(part.state, ToolCompleted)
    )
    return superseded_calls(calls, frozenset(shown_part_ids))


def superseded_calls(
    newest_first: Iterable[FileCall], shown_part_ids: Set[str]
) -> dict[str, NewerCall]:
    """Map outdated reads to the newest call that made them so; calls of other tools are ignored."""
    newer_by_part: dict[str, NewerCall] = {}
    later_calls: dict[str, list[_LaterCall]] = {}
    for call in newest_first:
        path = _path(call.input)
        if path is None:
            continue
        if call.tool in CHANGING_TOOLS:
            newer_call = NewerCall(call.part_id, "changed")
            later_calls.setdefault(path, []).append(_LaterCall(1, float("inf"), newer_call))
        elif call.tool in READING_TOOLS:
            first_line, last_line = _requested_lines(call.input)
            for later_call in later_calls.get(path, ()):
                if later_call.first_line <= first_line and last_line <= later_call.last_line:
                    newer_by_part[call.part_id] = later_call.newer_call
                    break
            if call.part_id in shown_part_ids:
                newer_call = NewerCall(call.part_id, "read-again")
                later_calls.setdefault(path, []).append(
                    _LaterCall(first_line, last_line, newer_call)
                )
    return newer_by_part


def _path(inputs: Mapping[str, Any]) -> str | None:
    for name in PATH_ARGUMENTS:
        path = inputs.get(name)
        if isinstance(path, str) and path:
            return posixpath.normpath(path.replace("\\", "/"))
    return None


def _requested_lines(inputs: Mapping[str, Any]) -> tuple[int, float]:
    """Return the first and last line that a read requested."""
    first = _number(inputs.get("offset"), 1)
    return first, first + _number(inputs.get("limit"), DEFAULT_LINE_COUNT) - 1


def _number(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default
