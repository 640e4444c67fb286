"""Read Harbor's Agent Trajectory Interchange Format (ATIF), versions 1.0 to 1.7.

A trajectory may go on in files beside it, and may have subagents, inside it or beside it. Steps that were
copied from before a cut are in the context again but were counted before: they say what a compaction kept,
or what stood in its place.
"""

import json
from collections.abc import Generator, Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

from palimpsest.review.importers.atif_files import (
    Trajectory,
    TrajectoryFiles,
    embedded,
    is_trajectory,
    named_files,
)
from palimpsest.review.importers.atif_steps import (
    StepReader,
    joined_text,
    outputs_of,
    parts_of,
    usage_of_metrics,
)
from palimpsest.review.importers.chat_messages import full_model_name
from palimpsest.review.importing.importer import Head, Report
from palimpsest.review.importing.json_fields import NOTHING, JsonValue, fingerprint
from palimpsest.review.importing.recorded import (
    CompactionRead,
    GapRead,
    MessageRead,
    Recorded,
    ReducedRead,
    RemovedRead,
    SessionBegin,
    TotalsRead,
    words_of,
)
from palimpsest.review.importing.sources import json_document
from palimpsest.transcript.errors import UserError
from palimpsest.transcript.strings.relative_paths import recorded_name
from palimpsest.transcript.timeline import NO_TOTALS, RecordedTotals

PRUNED = "Older messages were taken out of the context here; which ones is not recorded."
COPIED_FROM_ELSEWHERE = "These steps were copied from a trajectory that is not in the recording."
Child = tuple[Trajectory, str | None, str | None]
"""A trajectory, the session that it belongs to, and the call of that session which began it."""
KINDS = ("user", "agent", "system")


class AtifImporter:
    """Reads a ``trajectory.json``, what continues it, and its subagents."""

    name = "atif"
    title = "ATIF"
    tried_on = "files of the real writer"

    def recognises(self, head: Head) -> bool:
        """Return whether a file is a JSON object with the format's version near its beginning."""
        start = head.start.lstrip()
        return start.startswith(b"{") and b'"ATIF-v' in start and b'"schema_version"' in start

    def files_beside(self, path: Path) -> Iterator[str]:
        """Yield the names of the files in which a trajectory and its subagents go on."""
        try:
            value = json_document(path)
        except (OSError, UserError):
            return
        yield from named_files(value)

    def read(self, path: Path, report: Report) -> Iterator[Recorded]:
        """Yield the trajectory as a session, then each subagent's as one of its children."""
        value = json_document(path)
        if not is_trajectory(value):
            raise UserError(f"{str(path)!r} is no trajectory in ATIF.")
        files = TrajectoryFiles(path, report)
        taken: set[str] = set()
        waiting: list[Child] = [(Trajectory(value, path, path.name), None, None)]
        while waiting:
            trajectory, parent, call = waiting.pop(0)
            reader = _SessionReader(trajectory, files, report, taken)
            yield from reader.read(parent, call)
            waiting += reader.children()


class _SessionReader:
    """Reads one trajectory with its continuations."""

    def __init__(
        self, first: Trajectory, files: TrajectoryFiles, report: Report, taken: set[str]
    ) -> None:
        self._first = first
        self._files = files
        self._report = report
        self._steps = StepReader()
        self._delegations: list[tuple[JsonValue, str | None]] = []
        """The references to subagents' trajectories, each with the call that it began with."""
        self._embedded: dict[str, Trajectory] = {}
        self._context: list[tuple[tuple[str, ...], bytes]] = []
        """The steps in the context: the messages that each became, and what it is recognised by."""
        self._count = 0
        self._name = self._free_name(taken)

    def _free_name(self, taken: set[str]) -> str:
        value = self._first.value
        given = value.text("session_id") or value.text("trajectory_id")
        wanted = given or recorded_name(self._first.path.stem)
        if wanted in taken:
            wanted = value.text("trajectory_id") or wanted
        name, number = wanted, 1
        while name in taken:
            number += 1
            name = f"{wanted}/{number}"
        taken.add(name)
        return name

    def read(self, parent: str | None, call: str | None) -> Iterator[Recorded]:
        """Yield the session."""
        value = self._first.value
        agent = value.at("agent")
        steps = value.objects("steps")
        system = self._system(steps)
        yield SessionBegin(
            id=self._name,
            format=AtifImporter.name,
            format_version=value.text("schema_version"),
            title=value.text("extra", "title"),
            created=next(
                filter(None, (one.milliseconds("timestamp", whole=round) for one in steps)), None
            ),
            model=full_model_name(agent.get("model_name")),
            window=agent.whole("extra", "context_window"),
            system=system,
            tools=agent.tool_specs("tool_definitions"),
            parent=parent,
            parent_call=call,
        )
        totals = NO_TOTALS
        for number, one in enumerate(self._files.chain(self._first)):
            totals = _added(totals, totals_of(one.value)) if number else totals_of(one.value)
            self._embedded |= embedded(one, self._report)
            yield from self._document(one, is_first=number == 0, has_system=system is not None)
        if totals != NO_TOTALS:
            yield TotalsRead(totals)

    def children(self) -> list[Child]:
        """Return the subagents' trajectories, each with this session and the call that began it."""
        found: list[Child] = []
        for reference, call in self._delegations:
            name, path = reference.text("trajectory_id"), reference.text("trajectory_path")
            child = self._embedded.pop(name, None)
            if child is None and path:
                child = self._files.beside(path, self._first.place)
            elif child is None:
                self._report(self._first.place, f"The subagent {name!r:.80} is not in it.")
            if child is not None:
                found.append((child, self._name, call))
        return found + [(one, self._name, None) for one in self._embedded.values()]

    def _system(self, steps: list[JsonValue]) -> str | None:
        first = steps[0] if steps else NOTHING
        plain = first.get("source") == "system" and not first.at("extra", "context_management")
        return joined_text(first.get("message")) if plain else None

    def _document(self, one: Trajectory, *, is_first: bool, has_system: bool) -> Iterator[Recorded]:
        steps = self._checked(one)
        if has_system and steps and steps[0].get("source") == "system":
            steps = steps[1:]
        copied, steps = _split_copied(steps)
        if copied and is_first:
            yield GapRead(COPIED_FROM_ELSEWHERE)
            yield from self._shown_again(copied)
        elif copied:
            yield from self._continued(copied)
        while steps:
            step, steps = steps[0], steps[1:]
            steps = yield from self._step(step, steps)
            self._delegations += self._steps.subagents(step)

    def _checked(self, one: Trajectory) -> list[JsonValue]:
        found: list[JsonValue] = []
        for number, step in enumerate(map(JsonValue, one.value.listed("steps")), 1):
            if step.get("source") in KINDS:
                found.append(step)
            else:
                self._report(f"{one.place}, step {number}", "It is no step and was left out.")
        return found

    def _step(
        self, step: JsonValue, rest: list[JsonValue]
    ) -> Generator[Recorded, None, list[JsonValue]]:
        """Yield what a step records; returns the steps after it that are still to be read."""
        management = step.at("extra", "context_management")
        boundary = management.get("boundary") if step.get("source") == "system" else None
        if boundary == "replace":
            return (yield from self._compaction(step, rest))
        if boundary == "truncate":
            yield from self._pruned(management)
        elif step.get("is_copied_context") is True:
            yield from self._shown_again([step])
        else:
            name = self._next_name()
            said = list(self._steps.message(step, name))
            ids = tuple(one.id for one in said if isinstance(one, MessageRead))
            self._context.append((ids, _likeness(step)))
            yield from said
        return rest

    def _next_name(self) -> str:
        self._count += 1
        return f"step-{self._count}"

    def _shown_again(self, steps: list[JsonValue]) -> Iterator[Recorded]:
        """Yield copied steps as messages of the program: they are in the context, but no requests."""
        for step in steps:
            name = self._next_name()
            parts = (*parts_of(step.get("message")), *outputs_of(step))
            self._context.append(((name,), _likeness(step)))
            yield MessageRead(name, "user", parts, by_program=True)

    def _compaction(
        self, step: JsonValue, rest: list[JsonValue]
    ) -> Generator[Recorded, None, list[JsonValue]]:
        """Yield a compaction; its summary is its observation, or else the user's message after it."""
        summary = words_of(outputs_of(step), "")
        if not summary and rest and rest[0].get("source") == "user":
            summary, rest = joined_text(rest[0].get("message")), rest[1:]
        copied, rest = _split_copied(rest)
        kept = self._shared_end(copied)
        management, metrics = (step.at("extra", one) for one in ("context_management", "metrics"))
        name = self._next_name()
        tail = self._context[len(self._context) - kept :]
        yield CompactionRead(
            name,
            summary,
            keeps_from=tail[0][0][0] if tail else None,
            created=step.milliseconds("timestamp", whole=round),
            auto=management.get("auto") is not False,
            tokens_before=management.whole("tokens_before"),
            tokens_after=management.whole("tokens_after"),
            usage=usage_of_metrics(metrics),
            model=full_model_name(step.get("extra", "model_name")),
        )
        self._context = [((name,), b""), *tail]
        yield from self._shown_again(copied[: len(copied) - kept])
        return rest

    def _continued(self, copied: list[JsonValue]) -> Iterator[Recorded]:
        """Yield what changed between a trajectory and the one that continues it, by its copied steps."""
        likenesses = [_likeness(one) for one in copied]
        same = 0
        while same < min(len(copied), len(self._context)) and (
            self._context[same][1] == likenesses[same]
        ):
            same += 1
        kept = min(self._shared_end(copied[same:]), len(self._context) - same)
        end = len(self._context) - kept
        replaced = tuple(one for ids, _ in self._context[same:end] for one in ids)
        new = copied[same : len(copied) - kept]
        if new:
            name = self._next_name()
            texts = [joined_text(one.get("message")) for one in new]
            summary = "\n\n".join(one for one in texts if one)
            yield CompactionRead(name, summary, replaced=replaced)
            self._context[same:end] = [((name,), b"")]
        elif replaced:
            yield RemovedRead(replaced)
            del self._context[same:end]

    def _shared_end(self, copied: list[JsonValue]) -> int:
        """Return how many of the last copied steps are the last ones in the context."""
        pairs = zip(reversed(copied), reversed(self._context), strict=False)
        alike = (_likeness(step) == likeness for step, (_, likeness) in pairs)
        return sum(1 for _ in takewhile(bool, alike))

    def _pruned(self, management: JsonValue) -> Iterator[Recorded]:
        """Yield reductions of outputs as our export names them; for others that they are not named."""
        outputs = management.objects("outputs")
        for one in outputs:
            call = self._steps.names.newest(one.text("tool_call_id"))
            if call is not None:
                yield ReducedRead(
                    call,
                    one.text("shown"),
                    one.text("rule"),
                    restored=one.get("restored") is True,
                )
        if not outputs:
            yield GapRead(PRUNED)


def totals_of(value: JsonValue) -> RecordedTotals:
    """Return what ``final_metrics`` say of a trajectory's requests together."""
    told = value.at("final_metrics")
    return RecordedTotals(
        cost=told.cost("total_cost_usd"),
        # Sums over steps without metrics are 0.
        input=told.token_field("total_prompt_tokens") or None,
        cached=told.token_field("total_cached_tokens") or None,
        output=told.token_field("total_completion_tokens") or None,
    )


def _added(first: RecordedTotals, second: RecordedTotals) -> RecordedTotals:
    """Return the totals of two trajectories that go on from each other; what one of them lacks is not known."""
    pairs: Iterator[tuple[Any, Any]] = zip(first, second, strict=True)
    return RecordedTotals(*(None if None in pair else sum(pair) for pair in pairs))


def _split_copied(steps: list[JsonValue]) -> tuple[list[JsonValue], list[JsonValue]]:
    """Return the copied steps at the beginning, and the others."""
    copied = list(takewhile(lambda one: one.get("is_copied_context") is True, steps))
    return copied, steps[len(copied) :]


def _likeness(step: JsonValue) -> bytes:
    """Return the hash of what a step has in the context, by which a copy of it is recognised."""
    told = [step.get(name) for name in ("source", "message", "tool_calls", "observation")]
    return fingerprint(json.dumps(told))
