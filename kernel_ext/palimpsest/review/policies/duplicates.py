"""Policies that remove what a later call made superfluous, and call no model.

Rules and numbers were read from the projects at the versions named in each ``source``. Which tools read and write
files is told by their names, and the file by the usual names of inputs; a call that is not known stays as it is.
"""

import json
from dataclasses import dataclass
from typing import Any, ClassVar

from palimpsest.review.policies.policy import Change, Decided, PolicyView, Probe
from palimpsest.review.policies.settings import ActsAt, Preset, window_of

READS = frozenset({"read", "Read", "read_file", "readFile", "view", "view_file", "cat"})
WRITES = frozenset({"write", "Write", "write_file", "write_to_file", "create_file", "create"})
PATHS = ("path", "file_path", "filePath", "absolute_path", "filename", "file")
LONGEST_INPUT = 2_000_000
"""Characters of a call's input above which it is not read."""
REACH = 400
"""How many items before its result a call is looked for."""
CLINE_NOTICE = (
    "[[NOTE] This file read has been removed to save space in the context window. "
    "Refer to the latest file read for the most up to date version of this file.]"
)
DCP_OUTPUT = "[Output removed to save context - information superseded or no longer needed]"
DCP_INPUT = "[input removed to save context]"
DCP_FAILED = "[input removed due to failed tool call]"
DCP_PROTECTED = ("task", "skill", "todowrite", "todoread", "compress", "batch", "plan_*")


@dataclass(frozen=True, kw_only=True)
class ClineDuplicateReads(Preset):
    """Cline's duplicate reads: over its limit, older reads of a file that was read again become a sentence.

    The limit is the window less 40,000 tokens, or 0.8 of it where that is more. What Cline does when this frees too
    little (dropping half of the messages) is not part of it.
    """

    preset: ClassVar[str] = "cline.duplicate_reads"
    source: ClassVar[str] = "Cline, core/context/context-management/ContextManager.ts"
    version: ClassVar[str] = "3.x"
    acts_at: ClassVar[ActsAt] = "threshold"
    changes_what: ClassVar[str] = "repeated reads"
    window: int = 200_000
    reserve: int = 40_000
    at: float = 0.8

    def start(self, facts: object) -> tuple[int, dict[str, int], tuple[int, ...]]:  # noqa: ARG002
        """Return how many results were looked at, the newest read of each file, and older ones: none."""
        return 0, {}, ()

    def decide(
        self, state: tuple[int, dict[str, int], tuple[int, ...]], view: PolicyView
    ) -> Decided:
        """Replace older reads where the request is too large."""
        seen, newest, older = state
        found, waiting = dict(newest), list(older)
        for index in view.outputs[seen:]:
            path = _path(view, index, READS)
            if path is None or view.item(index).is_error:
                continue
            if path in found:
                waiting.append(found[path])
            found[path] = index
        window = window_of(self.window, view)
        limit = max(window - self.reserve, self.at * window)
        probe = Probe("tokens of the request", view.total, limit)
        if not window or view.total <= limit or not waiting:
            left = (len(view.outputs), found, tuple(waiting))
            return Decided(left, probe=probe)
        changes = [Change(one, "cleared", CLINE_NOTICE) for one in waiting]
        return Decided((len(view.outputs), found, ()), changes, probe, fired=True)


@dataclass(frozen=True, kw_only=True)
class DcpDeduplicate(Preset):
    """DCP's deduplication: of calls with the same tool and input only the newest keeps its result."""

    preset: ClassVar[str] = "dcp.deduplicate"
    source: ClassVar[str] = "Opencode-DCP, lib/strategies/deduplication.ts"
    version: ClassVar[str] = "fbd75bc"
    changes_what: ClassVar[str] = "repeated results"
    protected: tuple[str, ...] = DCP_PROTECTED
    """Tools that are left alone; a star at the end stands for any ending."""

    def start(self, facts: object) -> tuple[int, dict[str, int]]:  # noqa: ARG002
        """Return how many results were looked at, and the newest of each call: none."""
        return 0, {}

    def decide(self, state: tuple[int, dict[str, int]], view: PolicyView) -> Decided:
        """Clear the older results of calls that were repeated."""
        seen, newest = state
        found, older = dict(newest), list[int]()
        for index in view.outputs[seen:]:
            call = _call(view, index)
            key = view.item(call).input_hash if call is not None else ""
            if not key or _is_named(view.item(index).tool, self.protected):
                continue
            if key in found:
                older.append(found[key])
            found[key] = index
        probe = Probe("repeated results", len(older), 0, "results")
        changes = [Change(one, "cleared", DCP_OUTPUT) for one in older]
        return Decided((len(view.outputs), found), changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class DcpSupersedeWrites(Preset):
    """DCP's superseded writes: the input of a call that wrote a file goes once the file was read again."""

    preset: ClassVar[str] = "dcp.supersede_writes"
    source: ClassVar[str] = "Opencode-DCP, lib/strategies/supersede-writes.ts"
    version: ClassVar[str] = "fbd75bc"
    changes_what: ClassVar[str] = "inputs of calls"
    protected: tuple[str, ...] = DCP_PROTECTED

    def start(self, facts: object) -> tuple[int, dict[str, list[int]]]:  # noqa: ARG002
        """Return how many results were looked at, and the writes of each file since it was read: none."""
        return 0, {}

    def decide(self, state: tuple[int, dict[str, list[int]]], view: PolicyView) -> Decided:
        """Clear the inputs of writes that were read since."""
        seen, writes = state
        found, gone = dict(writes), list[int]()
        for index in view.outputs[seen:]:
            item = view.item(index)
            if item.is_error or _is_named(item.tool, self.protected):
                continue
            call = _call(view, index)
            written = _path(view, index, WRITES)
            if written is not None and call is not None:
                found[written] = [*found.get(written, []), call]
            read = _path(view, index, READS)
            if read is not None:
                gone += found.pop(read, [])
        probe = Probe("writes that were read since", len(gone), 0, "calls")
        changes = [Change(one, "cleared", DCP_INPUT) for one in gone]
        return Decided((len(view.outputs), found), changes, probe, fired=bool(changes))


@dataclass(frozen=True, kw_only=True)
class DcpPurgeErrors(Preset):
    """DCP's purge of errors: the input of a call that failed goes after 4 turns; the error stays."""

    preset: ClassVar[str] = "dcp.purge_errors"
    source: ClassVar[str] = "Opencode-DCP, lib/strategies/purge-errors.ts"
    version: ClassVar[str] = "fbd75bc"
    changes_what: ClassVar[str] = "inputs of failed calls"
    turns: int = 4
    protected: tuple[str, ...] = DCP_PROTECTED

    def decide(self, state: int, view: PolicyView) -> Decided:
        """Clear the inputs of calls that failed long enough ago."""
        until, gone = state, list[int]()
        while (
            until < len(view.outputs)
            and view.item(view.outputs[until]).turn <= view.turn - self.turns
        ):
            item = view.item(view.outputs[until])
            call = _call(view, item.index) if item.is_error else None
            if call is not None and not _is_named(item.tool, self.protected):
                gone.append(call)
            until += 1
        probe = Probe("failed calls of older turns", len(gone), 0, "calls")
        changes = [Change(one, "cleared", DCP_FAILED) for one in gone]
        return Decided(until, changes, probe, fired=bool(changes))


def _is_named(tool: str, names: tuple[str, ...]) -> bool:
    return any(tool.startswith(name[:-1]) if name.endswith("*") else tool == name for name in names)


def _call(view: PolicyView, output: int) -> int | None:
    """Return the call of a result; None where it is not near."""
    group = view.item(output).group
    for index in range(output - 1, max(-1, output - REACH), -1):
        item = view.item(index)
        if item.kind == "call" and item.group == group:
            return index
    return None


def _path(view: PolicyView, output: int, tools: frozenset[str]) -> str | None:
    """Return the file that a call named, of a result of one of these tools; None where it is not known."""
    tool = view.item(output).tool
    call = _call(view, output) if tool in tools else None
    if call is None or view.item(call).chars > LONGEST_INPUT:
        return None
    given = _object(view.read(call).removeprefix(tool))
    values = (given.get(name) for name in PATHS)
    return next((value for value in values if isinstance(value, str) and value), None)


def _object(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
